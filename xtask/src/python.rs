//! The Python package: installed as its README says, its tests in a fresh environment, the array API's test suite there,
//! and its source distribution.
use crate::command::{cargo_path, cmd, exists, program, sh, show, works};
use crate::{gpu, paths, skip};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::env;
use std::path::{Path, PathBuf};

/// What to run.
#[derive(clap::Args, Debug, Default)]
pub struct Options {
    /// The folder of the array API's test suite, array-api-tests with its submodule; else $DIPTYCH_ARRAY_API_TESTS.
    #[arg(long, value_name = "FOLDER")]
    array_api: Option<PathBuf>,
}

/// What makes the source distribution; `pip` finds its own for the rest.
const MATURIN: &str = "maturin>=1.9,<2";
/// The packages that the tests need, beside what they skip without.
const PACKAGES: [&str; 3] = ["pytest>=8", "hypothesis>=6", "numpy>=1.24"];
/// What the array API's test suite needs beside them.
const ARRAY_API: [&str; 2] = ["ndindex>=1.8", "pytest-json-report"];
/// The types that it can do without.
const SKIPPED_TYPES: &str = "int8,int16,uint8,uint16,uint32,uint64,complex64";
/// A program that needs all that an installation has: functions, the header, the C functions, the names of BLAS.
const EVERYTHING: &str = "\
import array, ctypes, os, subprocess, sys, diptych
x = array.array('d', [1, 2, 3])
assert diptych.dot(x, x) == 14
assert os.path.getsize(os.path.join(diptych.get_include(), 'diptych.h')) > 10000
assert ctypes.CDLL(diptych.library_path()).dpt_version() > 0
code = 'import ctypes; ctypes.CDLL(None).scipy_cblas_sgemm64_'
subprocess.run([sys.executable, '-m', 'diptych.preload', '-c', code], check=True)
";

/// Installs the package as its README says, and runs its tests; then checks its source distribution.
pub fn command(options: &Options) -> Result<()> {
    let python = program("PYTHON", "python3");
    if !exists(&python.to_string_lossy()) {
        return skip::skip("the Python package", "there is no python3");
    }
    // Not "python", where cargo puts what it builds with this profile.
    let folder = paths::target().join("python-package");
    let (venv, tools) = (folder.join("venv"), folder.join("tools"));
    paths::make_empty(&folder)?;
    for environment in [&venv, &tools] {
        if !works(&mut cmd!("{python} -m venv {environment}")) {
            return skip::skip("the Python package", "python3 cannot make an environment");
        }
    }
    let (python, tools) = (venv.join("bin/python"), tools.join("bin/python"));
    let install = "pip install --quiet --disable-pip-version-check";
    let install: &[&str] = &install.split(' ').collect::<Vec<_>>();
    if !works(&mut cmd!("{tools} -m {install...} {MATURIN}")) {
        return skip::skip("the Python package", "maturin could not be installed");
    }
    sh!("{python} -m {install...} ./python")?;
    everything(&python, &folder)?;
    tests(&python, install, &folder)?;
    array_api(&python, install, options)?;
    source_distribution(&tools, &folder)
}

/// Runs the program that needs all that an installation has, outside the repository.
fn everything(python: &Path, folder: &Path) -> Result<()> {
    show(cmd!("{python} -c {EVERYTHING}").current_dir(folder))
}

/// Runs the package's tests.
fn tests(python: &Path, install: &[&str], folder: &Path) -> Result<()> {
    sh!("{python} -m {install...} {PACKAGES...}")?;
    add_pytorch(python, install)?;
    // For arrays on a device.
    let stage = folder.join("stand-in");
    fs::create_dir_all(&stage)?;
    gpu::stand_in(&stage)?;
    gpu::launches(&stage)?;
    show(
        cmd!("{python} -m pytest python/tests -p no:cacheprovider").env("DIPTYCH_STAND_IN", &stage),
    )
}

/// Checks that the source distribution, which has nothing but its own files, compiles. To build it would take as long
/// as the installation, of the same sources.
fn source_distribution(tools: &Path, folder: &Path) -> Result<()> {
    let (out, unpacked) = (folder.join("source"), folder.join("from-source"));
    sh!("{tools} -m maturin sdist --manifest-path python/Cargo.toml --out {out}")?;
    let source = only_file(&out)?;
    fs::create_dir_all(&unpacked)?;
    sh!("tar -xzf {source} -C {unpacked} --strip-components 1")?;
    let (cargo, target) = (cargo_path(), folder.join("check"));
    let mut check =
        cmd!("{cargo} check --quiet --offline --package diptych-python --target-dir {target}");
    show(check.current_dir(&unpacked))
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
