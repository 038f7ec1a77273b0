//! The Python package: its wheel, its tests in a fresh environment, and the array API's test suite there.
use crate::command::{cmd, exists, program, sh, show, works};
use crate::library::{Library, SONAME, VERSION};
use crate::{blas, gpu, install, paths, skip};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::env;
use std::path::{Path, PathBuf};

/// What to run.
#[derive(clap::Args, Debug, Default)]
pub struct Options {
    /// Only put the C library where the package takes it from.
    #[arg(long)]
    stage: bool,
    /// The folder of the array API's test suite, array-api-tests with its submodule; else $DIPTYCH_ARRAY_API_TESTS.
    #[arg(long, value_name = "FOLDER", conflicts_with = "stage")]
    array_api: Option<PathBuf>,
}

/// The packages that the tests need, beside what they skip without.
const PACKAGES: [&str; 4] = [
    "maturin>=1.9,<2",
    "pytest>=8",
    "hypothesis>=6",
    "numpy>=1.24",
];
/// What the array API's test suite needs beside them.
const ARRAY_API: [&str; 2] = ["ndindex>=1.8", "pytest-json-report"];
/// The types that it can do without.
const SKIPPED_TYPES: &str = "int8,int16,uint8,uint16,uint32,uint64,complex64";

/// Runs a command of the tool.
pub fn command(library: &Library, options: &Options) -> Result<()> {
    if options.stage {
        return stage(library);
    }
    check(library, options)
}

/// Builds the wheel with the C library in it, installs it in a fresh environment, and runs its tests there.
fn check(library: &Library, options: &Options) -> Result<()> {
    let python = program("PYTHON", "python3");
    if !exists(&python.to_string_lossy()) {
        return skip::skip("the Python package", "there is no python3");
    }
    stage(library)?;
    let folder = paths::target().join("python");
    let venv = folder.join("venv");
    paths::make_empty(&folder)?;
    if !works(&mut cmd!("{python} -m venv {venv}")) {
        return skip::skip("the Python package", "python3 cannot make an environment");
    }
    let (python, maturin) = (venv.join("bin/python"), venv.join("bin/maturin"));
    let install = "pip install --quiet --disable-pip-version-check";
    let install: &[&str] = &install.split(' ').collect::<Vec<_>>();
    if !works(&mut cmd!("{python} -m {install...} {PACKAGES...}")) {
        let reason = "maturin, pytest, hypothesis and NumPy could not be installed";
        return skip::skip("the Python package", reason);
    }
    let wheels = folder.join("wheels");
    show(cmd!("{maturin} build --manifest-path python/Cargo.toml --interpreter {python} --out {wheels}").env("PATH", path_with(&venv)?))?;
    let wheel = only_file(&wheels)?;
    sh!("{python} -m {install...} {wheel}")?;
    add_pytorch(&python, install)?;
    // For arrays on a device.
    let stage = folder.join("stand-in");
    fs::create_dir_all(&stage)?;
    gpu::stand_in(&stage)?;
    gpu::launches(&stage)?;
    show(
        cmd!("{python} -m pytest python/tests -p no:cacheprovider").env("DIPTYCH_STAND_IN", &stage),
    )?;
    array_api(&python, install, options)
}

/// Installs PyTorch if `DIPTYCH_PYTORCH` asks for it: more than 5 GB, mostly of CUDA. Tests that need it are skipped
/// without it.
fn add_pytorch(python: &Path, install: &[&str]) -> Result<()> {
    const WHAT: &str = "the Python tests with PyTorch";
    if env::var_os("DIPTYCH_PYTORCH").is_none() {
        return skip::skip(WHAT, "DIPTYCH_PYTORCH is not set");
    }
    // CI has no more time for it.
    if !works(&mut cmd!("timeout 300 {python} -m {install...} torch")) {
        return skip::skip(WHAT, "it could not be installed in five minutes");
    }
    Ok(())
}

/// Runs the array API's test suite on NumPy with Diptych's functions. The suite is in no package index, so this is
/// skipped where nobody names its folder.
fn array_api(python: &Path, install: &[&str], options: &Options) -> Result<()> {
    let variable = || std::env::var_os("DIPTYCH_ARRAY_API_TESTS").map(PathBuf::from);
    let Some(folder) = options.array_api.clone().or_else(variable) else {
        let reason = "its folder is named by neither --array-api nor DIPTYCH_ARRAY_API_TESTS";
        return skip::skip("the array API's test suite", reason);
    };
    sh!("{python} -m {install...} {ARRAY_API...}")?;
    let ours = paths::root().join("python/tests/array_api");
    let skips = ours.join("skips.txt");
    let options = "-p namespace -p no:cacheprovider -W ignore --derandomize --disable-deadline --max-examples 1000";
    let options = options.split(' ');
    let tests = "array_api_tests";
    let mut suite = cmd!("{python} -m pytest -q {tests} {options...} --skips-file {skips}");
    suite
        .current_dir(folder)
        .env("PYTHONPATH", ours)
        .env("ARRAY_API_TESTS_MODULE", "namespace")
        .env("ARRAY_API_TESTS_SKIP_DTYPES", SKIPPED_TYPES);
    show(&mut suite)
}

/// Puts the shared libraries, the header and the CMake configuration where the wheel takes them from. A wheel holds no
/// links, so the library has one name, that of run time; a linker script stands in for the other.
pub fn stage(library: &Library) -> Result<()> {
    let package = paths::root().join("python/src/diptych");
    let installed = paths::target().join("python-files");
    paths::make_empty(&installed)?;
    install::install(library, None, &install::Options::new(&installed))?;
    let (lib, include) = (package.join("lib"), package.join("include"));
    paths::make_empty(&lib)?;
    paths::make_empty(&include)?;
    fs::copy(
        installed.join("include/diptych.h"),
        include.join("diptych.h"),
    )?;
    fs::copy(&library.shared, lib.join(SONAME))?;
    fs::copy(blas::build()?, lib.join(blas::NAME))?;
    fs::write(lib.join("libdiptych.so"), format!("INPUT({SONAME})\n"))?;
    let cmake = lib.join("cmake/diptych");
    fs::create_dir_all(&cmake)?;
    for file in ["diptych-config.cmake", "diptych-config-version.cmake"] {
        let text = fs::read_to_string(installed.join("lib/cmake/diptych").join(file))?;
        fs::write(cmake.join(file), without_static(&text))?;
    }
    Ok(())
}

/// Leaves the static library out of a CMake configuration, and gives the shared one its only name.
fn without_static(text: &str) -> String {
    let begin = text.find("  add_library(diptych::diptych_static");
    let end = text.find("endif()\n");
    let text = match (begin, end) {
        (Some(begin), Some(end)) if begin < end => format!("{}{}", &text[..begin], &text[end..]),
        _ => text.to_owned(),
    };
    text.replace(&format!("libdiptych.so.{VERSION}"), SONAME)
        .replace(", diptych::diptych_static the static one", "")
}

/// Returns the search path with the environment's programs first.
fn path_with(venv: &Path) -> Result<std::ffi::OsString> {
    let before = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(venv.join("bin")).chain(std::env::split_paths(&before));
    Ok(std::env::join_paths(all)?)
}

/// Returns the file in a folder of one.
fn only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    ensure!(
        files.len() == 1,
        "{} has {} files",
        folder.display(),
        files.len()
    );
    let file = files.pop().context("one file")?;
    Ok(file.path())
}
