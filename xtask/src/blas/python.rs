//! NumPy on Diptych: the network of `examples/python`, a program with forks, threads and SciPy, and NumPy's own tests.
use super::{environments, in_environment};
use crate::command::{cmd, program, run, show, works};
use crate::library::Library;
use crate::skip::skip;
use crate::{ctests, paths};
use anyhow::{Result, ensure};
use fs_err as fs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGES: [&str; 4] = ["numpy>=2.2", "scipy", "pytest", "hypothesis"];

/// Python with the packages, and the library to preload.
struct Python<'a> {
    python: OsString,
    packages: PathBuf,
    blas: &'a Path,
}

impl Python<'_> {
    /// A command of Python whose NumPy has Diptych's products. Not `-m diptych.preload`: the package needs no build here.
    fn preloaded(&self) -> Command {
        let (python, preload) = (
            &self.python,
            paths::root().join("python/src/diptych/preload.py"),
        );
        let mut command = cmd!("timeout 900 {python} {preload}");
        command
            .env("PYTHONPATH", &self.packages)
            .env("DIPTYCH_BLAS_LIBRARY", self.blas)
            .env("OPENBLAS_NUM_THREADS", "1");
        command
    }
}

/// Runs the programs.
pub fn programs(library: &Library, blas: &Path, full: bool) -> Result<()> {
    let python = program("DIPTYCH_PYTHON", "python3");
    let packages = paths::target().join("numpy");
    if let Some(reason) = missing(&python, &packages) {
        return skip("NumPy on Diptych", reason);
    }
    let python = Python {
        python,
        packages,
        blas,
    };
    let dir = tempfile::tempdir()?;
    let levels = ctests::levels(library, dir.path())?;
    for dtype in ["float32", "float64"] {
        let script = paths::root().join("examples/python/network.py");
        let arguments = ["--only", "numpy", "--steps", "5", "--dtype", dtype];
        same(&python, &levels, "weights", &script, &arguments)?;
    }
    // Portable code rounds each product in software, which takes too long here.
    let fast = levels
        .iter()
        .filter(|level| *level != "portable")
        .cloned()
        .collect::<Vec<_>>();
    let script = paths::root().join("tests/python/beside.py");
    same(&python, &fast, "products", &script, &[])?;
    numpys_own(&python, full)
}

/// Installs the packages where that has not been done; returns why that cannot be, if so.
fn missing(python: &OsString, packages: &Path) -> Option<&'static str> {
    let done = packages.join("done");
    if done.exists() {
        return None;
    }
    if !works(&mut cmd!("{python} -m pip --version")) {
        return Some("there is no Python with pip");
    }
    let install =
        cmd!("{python} -m pip install --quiet --upgrade --target {packages} {PACKAGES...}");
    let mut install = install;
    let installed = works(&mut install) && fs::write(done, "").is_ok();
    (!installed).then_some("NumPy, SciPy, pytest and hypothesis could not be installed")
}

/// Runs a script in every environment; fails unless the line that begins with `word` is always the same.
fn same(
    python: &Python<'_>,
    levels: &[String],
    word: &str,
    script: &Path,
    arguments: &[&str],
) -> Result<()> {
    let mut first = None;
    for environment in environments(levels) {
        let mut command = in_environment(python.preloaded(), environment);
        let text = run(command.arg(script).args(arguments))?;
        let line = text.lines().find(|line| line.starts_with(word));
        let line = line.unwrap_or_default().to_owned();
        let expected = first.get_or_insert_with(|| line.clone());
        ensure!(
            !line.is_empty() && line == *expected,
            "{environment:?}: {line:?} instead of {expected:?}"
        );
    }
    let name = script
        .file_name()
        .map_or_else(Default::default, |n| n.to_string_lossy());
    let line = first.unwrap_or_default();
    println!(
        "{name} {}: {line}, levels {}, 1 and 2 threads",
        arguments.join(" "),
        levels.join(", ")
    );
    Ok(())
}

/// Runs NumPy's own tests of linear algebra and einsum; with `full` also those of arrays, and SciPy's.
fn numpys_own(python: &Python<'_>, full: bool) -> Result<()> {
    let mut suites = vec!["numpy/linalg/tests", "numpy/_core/tests/test_einsum.py"];
    if full {
        suites.extend([
            "numpy/_core/tests/test_multiarray.py",
            "numpy/_core/tests/test_numeric.py",
            "scipy/linalg/tests",
        ]);
    }
    let mut command = in_environment(python.preloaded(), ("", "2"));
    command
        .args([
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
        ])
        .args(suites.iter().map(|suite| python.packages.join(suite)))
        .current_dir(&python.packages);
    show(&mut command)
}
