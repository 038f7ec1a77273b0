//! `libdiptych_blas.so`: building it, and testing it as its callers see it.
mod netlib;
mod python;

use crate::command::{cargo_path, cmd, run, sh};
use crate::library::{Library, lock, rust_flags};
use crate::{ctests, paths};
use anyhow::{Result, ensure};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What to run.
#[derive(clap::Args, Debug, Default)]
pub struct Options {
    /// Only build the library, and print its path.
    #[arg(long)]
    pub build: bool,
    /// All of NumPy's tests that use products, and SciPy's: some minutes.
    #[arg(long, conflicts_with = "build")]
    pub full: bool,
}

/// The name of the library.
pub const NAME: &str = "libdiptych_blas.so";
/// The routines for each type; `iamax` has the letter of the type in its second place.
const ROUTINES: [&str; 12] = [
    "gemm", "syrk", "gemv", "ger", "dot", "nrm2", "asum", "axpy", "scal", "copy", "swap", "iamax",
];

/// Builds the library into target/diptych-lib.
pub fn build() -> Result<PathBuf> {
    eprintln!("building {NAME} (a minute or two the first time)");
    let _lock = lock("diptych-blas")?;
    // With the same features and flags as the C library, whose kernels are then not compiled again.
    let (cargo, target) = (cargo_path(), paths::target().join("diptych-build/std"));
    // The library is never unloaded, because threads of its pool may be running its code.
    let link = format!("link-arg=-Wl,-soname,{NAME},-z,nodelete,-z,relro,-z,now");
    let mut build = cmd!(
        "{cargo} rustc --quiet --profile dist --package diptych-blas --lib --crate-type cdylib --target-dir {target} --
         -C {link}"
    );
    run(build.env("RUSTFLAGS", rust_flags()))?;
    let dir = paths::target().join("diptych-lib");
    fs::create_dir_all(&dir)?;
    // Moved into place: a program may be running with the old one.
    let (work, library) = (tempfile::tempdir_in(&dir)?, dir.join(NAME));
    let copy = work.path().join(NAME);
    fs::copy(target.join("dist").join(NAME), &copy)?;
    sh!("strip --strip-debug {copy}")?;
    fs::rename(copy, &library)?;
    Ok(library)
}

/// Runs a command of the tool.
pub fn command(library: impl FnOnce() -> Result<Library>, options: &Options) -> Result<()> {
    let blas = build()?;
    if options.build {
        println!("{}", blas.display());
        return Ok(());
    }
    check(&library()?, &blas, options.full)
}

/// Checks the names; runs the C program, Netlib's testers, and Python programs.
pub fn check(library: &Library, blas: &Path, full: bool) -> Result<()> {
    names(blas)?;
    program(library, blas)?;
    netlib::testers(blas)?;
    python::programs(library, blas, full)
}

/// The name of a routine in Fortran, without what stands before and after it.
fn fortran(routine: &str, letter: char) -> String {
    match routine.strip_prefix('i') {
        Some(rest) => format!("i{letter}{rest}"),
        None => format!("{letter}{routine}"),
    }
}

/// The names of all routines in Fortran and in CBLAS, without what stands before and after them.
fn routines() -> impl Iterator<Item = String> {
    let letters = ['s', 'd'].iter();
    letters.flat_map(|&letter| ROUTINES.map(|routine| fortran(routine, letter)))
}

/// Fails unless the library exports each routine under its eight names, and nothing else.
fn names(blas: &Path) -> Result<()> {
    let mut wanted = BTreeSet::new();
    for name in routines() {
        for before in ["", "scipy_"] {
            for (fortran, cblas) in [("_", ""), ("_64_", "64_")] {
                wanted.insert(format!("{before}{name}{fortran}"));
                wanted.insert(format!("{before}cblas_{name}{cblas}"));
            }
        }
    }
    let listed = sh!("nm --dynamic --defined-only --format=just-symbols {blas}")?;
    let found: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let wrong: Vec<_> = wanted.symmetric_difference(&found).collect();
    ensure!(
        wrong.is_empty(),
        "{NAME} lacks names or has others: {wrong:?}"
    );
    println!("{NAME}: {} names", found.len());
    Ok(())
}

/// The environments that must not change a bit: each level with one thread and with two.
fn environments(levels: &[String]) -> Vec<(&str, &'static str)> {
    let levels = levels.iter().map(String::as_str);
    levels
        .flat_map(|level| [(level, "1"), (level, "2")])
        .collect()
}

fn in_environment(mut command: Command, (level, threads): (&str, &str)) -> Command {
    command.env("DIPTYCH_CPU_LEVEL", level);
    command.env("DIPTYCH_THREADS", threads);
    command
}

/// Builds tests/c/blas and runs it in every environment; without a `cblas_xerbla` in the process in one of them.
fn program(library: &Library, blas: &Path) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let levels = ctests::levels(library, dir.path())?;
    let source = paths::c_tests().join("blas/blas.c");
    let rpath = format!("-Wl,-rpath,{}", library.dir.display());
    for flags in [&["-DCBLAS_XERBLA"][..], &[]] {
        let program = dir.path().join(format!("blas{}", flags.len()));
        let mut build = ctests::c99(&source, &program);
        build.args(["-D_POSIX_C_SOURCE=200809L", "-rdynamic", "-pthread", &rpath]);
        build.args(flags).arg(blas).arg(&library.shared).arg("-lm");
        run(&mut build)?;
        let mut environments = environments(&levels);
        if flags.is_empty() {
            environments.drain(..environments.len() - 1);
        }
        environments.into_par_iter().try_for_each(|environment| {
            run(&mut in_environment(
                cmd!("timeout 600 {program}"),
                environment,
            ))
            .map(drop)
        })?;
    }
    println!("C program: levels {}, 1 and 2 threads", levels.join(", "));
    Ok(())
}
