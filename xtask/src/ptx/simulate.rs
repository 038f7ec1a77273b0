//! The committed PTX, executed without a GPU: kernels-gpu/ptxsim is an interpreter behind a stand-in for the driver, to
//! which the C library hands its PTX and its launches. Every call is made on the CPU too, and bits are compared.
use super::{Manifest, directory};
use crate::command::{cxx, exists, show};
use crate::library::Library;
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A run of `compare.py`.
struct Pass {
    /// Multiprocessors: the plans and the cuts depend on them.
    multiprocessors: u32,
    /// The order of threads and blocks.
    schedule: &'static str,
    /// Whether NaNs have any bits that PTX permits, and not those of the GPUs so far.
    any_nan: bool,
    /// Whether products run on any tiles, and not on those that the library chooses.
    any_tiles: bool,
    /// Which cases.
    cases: &'static str,
}

const fn pass(
    multiprocessors: u32,
    schedule: &'static str,
    any_nan: bool,
    any_tiles: bool,
    cases: &'static str,
) -> Pass {
    Pass {
        multiprocessors,
        schedule,
        any_nan,
        any_tiles,
        cases,
    }
}

/// At most three minutes of one core.
const QUICK: [Pass; 2] = [
    pass(4, "random", true, true, "--fixed --seed 1"),
    pass(132, "random", false, false, "--seed 2 --seconds 45"),
];

/// Half an hour of one core.
const FULL: [Pass; 11] = [
    pass(4, "random", true, true, "--fixed --seed 1"),
    pass(2, "random", false, true, "--fixed --seed 2"),
    pass(40, "random", false, false, "--fixed --seed 3"),
    pass(132, "random", false, false, "--fixed --seed 4"),
    pass(1, "random", true, true, "--fixed --seed 5"),
    pass(1, "random", false, true, "--seed 11 --seconds 120"),
    pass(3, "random", false, true, "--seed 6 --seconds 120"),
    pass(2, "lockstep", false, true, "--seed 7 --seconds 90"),
    pass(6, "reverse", false, false, "--seed 8 --seconds 90"),
    pass(132, "inorder", true, false, "--seed 9 --seconds 90"),
    pass(40, "random", true, true, "--large --seed 10"),
];

/// Where the simulator's sources are.
fn sources() -> PathBuf {
    paths::root().join("kernels-gpu/ptxsim")
}

/// Builds the simulator, runs its own test, and executes the PTX: some cases, or with `full` all.
pub fn run(library: &Library, full: bool) -> Result<()> {
    if !exists("python3") || !exists(&cxx().get_program().to_string_lossy()) {
        return skip("executing the PTX", "it takes python3 and a C++ compiler");
    }
    let simulator = build()?;
    let coverage = simulator.join("coverage");
    if coverage.exists() {
        fs::remove_dir_all(&coverage)?;
    }
    fs::create_dir_all(&coverage)?;
    let tiles = tiles(&Manifest::read()?)?;
    let passes: &[Pass] = if full { &FULL } else { &QUICK };
    let mut failed = 0;
    for pass in passes {
        let mut python = Command::new("python3");
        python
            .arg(sources().join("compare.py"))
            .arg("--library")
            .arg(&library.shared)
            .arg("--header")
            .arg(paths::header())
            .args(pass.cases.split(' '))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LD_LIBRARY_PATH", &simulator)
            .env("PTXSIM_COVERAGE", &coverage)
            .env("PTXSIM_VERBOSE", "0")
            .env("PTXSIM_SMS", pass.multiprocessors.to_string())
            .env("PTXSIM_SCHEDULE", pass.schedule)
            .env("PTXSIM_NAN", u8::from(pass.any_nan).to_string());
        if pass.any_tiles {
            python.env("PTXSIM_TILES", &tiles);
        }
        failed += usize::from(show(&mut python).is_err());
    }
    let mut python = Command::new("python3");
    python.arg(sources().join("coverage.py")).arg(&coverage);
    show(python.arg(directory().join("MANIFEST.toml")))?;
    if failed > 0 {
        bail!("the PTX does not do what the CPU does");
    }
    Ok(())
}

/// The folder of the simulator, as a libcuda.so.1 that its own test has passed.
fn build() -> Result<PathBuf> {
    let folder = paths::target().join("ptxsim");
    fs::create_dir_all(&folder)?;
    let simulator = folder.join("libcuda.so.1");
    let mut compiler = compiler();
    // Results must be those of one rounding: no contraction, and fma as one instruction where there is one.
    compiler.args(["-O2", "-ffp-contract=off", "-fno-strict-aliasing"]);
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("fma") {
        compiler.arg("-mfma");
    }
    compiler.args(["-fPIC", "-shared", "-o"]).arg(&simulator);
    show(compiler.arg(sources().join("driver.cpp")))?;
    let micro = folder.join("micro");
    let mut compiler = self::compiler();
    compiler.args(["-O1", "-o"]).arg(&micro);
    show(compiler.arg(sources().join("micro.cpp")).arg(&simulator))?;
    show(Command::new(&micro).env("LD_LIBRARY_PATH", &folder))
        .context("the simulator's own test")?;
    Ok(folder)
}

fn compiler() -> Command {
    let mut cxx = cxx();
    cxx.args(["-std=c++17", "-Wall", "-Wextra", "-Werror"]);
    cxx
}

/// The kernels of whole products, for `PTXSIM_TILES`: entry, rows, columns, threads, bytes of shared memory.
fn tiles(manifest: &Manifest) -> Result<String> {
    let mut text = String::new();
    for (name, entry) in &manifest.entries {
        let size = name
            .strip_prefix("gemm_")
            .and_then(|rest| rest.split('_').next()?.split_once('x'));
        let Some((Ok(rows), Ok(columns))) =
            size.map(|(rows, columns)| (rows.parse::<u32>(), columns.parse::<u32>()))
        else {
            continue;
        };
        let element = if name.ends_with("f64") { 8 } else { 4 };
        let shared = shared_memory((rows, columns), element);
        writeln!(text, "{name} {rows} {columns} {} {shared}", entry.threads)?;
    }
    Ok(text)
}

/// Bytes of shared memory of a block that computes a tile of so many rows and columns: two slices of each matrix, of 8
/// steps of k or 16, with 16 bytes between their rows.
pub fn shared_memory((rows, columns): (u32, u32), element: u32) -> u32 {
    let steps = if rows == 16 { 16 } else { 8 };
    2 * steps * (rows * element + columns * element + 2 * 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_products_have_tiles() {
        let text = tiles(&Manifest::read().unwrap()).unwrap();
        assert!(
            text.contains("gemm_128x64_f32 128 64 128 12800\n"),
            "{text}"
        );
        assert!(!text.contains("split") && !text.contains("scale"), "{text}");
    }
}
