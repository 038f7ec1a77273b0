//! The committed PTX, executed without a GPU: kernels-gpu/ptxsim is an interpreter behind a stand-in for the driver, to
//! which the C library hands its PTX and its launches. Every call is made on the CPU too, and bits are compared.
use super::{Entry, Manifest};
use crate::command::{cmd, exists, program, run as run_command, show};
use crate::library::Library;
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run of `compare.py`: the number of multiprocessors, on which plans and cuts depend; the order of threads and
/// blocks; whether NaNs have any bits that PTX permits, not those of the GPUs so far; whether products run on any
/// tiles, not on those that the library chooses; and the options that select the cases.
type Pass = (u32, &'static str, bool, bool, &'static str);

/// Six minutes of one core. The fixed cases are in two parts, for two cores.
const QUICK: [Pass; 3] = [
    (4, "random", true, true, "--fixed --seed 1 --part 0/2"),
    (4, "random", true, true, "--fixed --seed 1 --part 1/2"),
    (132, "random", false, false, "--seed 2 --seconds 45"),
];

/// Half an hour of one core.
const FULL: [Pass; 11] = [
    (4, "random", true, true, "--fixed --seed 1"),
    (2, "random", false, true, "--fixed --seed 2"),
    (40, "random", false, false, "--fixed --seed 3"),
    (132, "random", false, false, "--fixed --seed 4"),
    (1, "random", true, true, "--fixed --seed 5"),
    (1, "random", false, true, "--seed 11 --seconds 120"),
    (3, "random", false, true, "--seed 6 --seconds 120"),
    (2, "lockstep", false, true, "--seed 7 --seconds 90"),
    (6, "reverse", false, false, "--seed 8 --seconds 90"),
    (132, "inorder", true, false, "--seed 9 --seconds 90"),
    (40, "random", true, true, "--large --seed 10"),
];

/// Builds the simulator, runs its own test, and executes the PTX: some cases, or with `full` all.
pub fn run(library: &Library, full: bool) -> Result<()> {
    if !exists("python3") || !exists(&program("CXX", "c++").to_string_lossy()) {
        return skip("executing the PTX", "it takes python3 and a C++ compiler");
    }
    let simulator = build()?;
    let coverage = simulator.join("coverage");
    paths::make_empty(&coverage)?;
    let tiles = tiles(&Manifest::read()?);
    ensure!(!tiles.is_empty(), "no kernels of whole products");
    let (library, passes) = (&library.shared, if full { &FULL[..] } else { &QUICK });
    let runs = passes.par_iter().map(|pass| {
        let result = run_command(&mut compare(library, &simulator, &tiles, pass));
        match &result {
            Ok(text) => print!("{text}"),
            Err(error) => println!("{error}"),
        }
        result.is_ok()
    });
    let all_passed = runs.collect::<Vec<_>>().into_iter().all(|passed| passed);
    show(&mut cmd!(
        "python3 kernels-gpu/ptxsim/coverage.py {coverage} kernels-gpu/ptx/MANIFEST.toml"
    ))?;
    ensure!(all_passed, "the PTX does not do what the CPU does");
    Ok(())
}

/// The command of a pass.
fn compare(library: &Path, simulator: &Path, tiles: &str, pass: &Pass) -> Command {
    let &(multiprocessors, schedule, any_nan, any_tiles, cases) = pass;
    let cases = cases.split(' ');
    let mut compare = cmd!(
        "python3 kernels-gpu/ptxsim/compare.py --library {library} --header include/diptych.h {cases...}"
    );
    compare.env("PYTHONDONTWRITEBYTECODE", "1");
    compare.env("LD_LIBRARY_PATH", simulator);
    compare.env("PTXSIM_COVERAGE", simulator.join("coverage"));
    compare.env("PTXSIM_VERBOSE", "0");
    compare.env("PTXSIM_SMS", multiprocessors.to_string());
    compare.env("PTXSIM_SCHEDULE", schedule);
    compare.env("PTXSIM_NAN", u8::from(any_nan).to_string());
    compare.envs(any_tiles.then_some(("PTXSIM_TILES", tiles)));
    compare
}

/// Builds the simulator as a libcuda.so.1 and runs its own test; returns the folder.
fn build() -> Result<PathBuf> {
    let (folder, cxx) = (paths::target().join("ptxsim"), program("CXX", "c++"));
    fs::create_dir_all(&folder)?;
    let strict = ["-std=c++17", "-Wall", "-Wextra", "-Werror"];
    // Results must be those of one rounding: no contraction, and fma as one instruction where there is one.
    #[cfg(target_arch = "x86_64")]
    let fma = std::is_x86_feature_detected!("fma").then_some("-mfma");
    #[cfg(not(target_arch = "x86_64"))]
    let fma = None::<&str>;
    show(&mut cmd!(
        "{cxx} {strict...} -O2 -ffp-contract=off -fno-strict-aliasing {fma...} -fPIC -shared
         -o {folder}/libcuda.so.1 kernels-gpu/ptxsim/driver.cpp"
    ))?;
    show(&mut cmd!(
        "{cxx} {strict...} -O1 -o {folder}/micro kernels-gpu/ptxsim/micro.cpp {folder}/libcuda.so.1"
    ))?;
    let mut micro = cmd!("{folder}/micro");
    show(micro.env("LD_LIBRARY_PATH", &folder)).context("the simulator's own test")?;
    Ok(folder)
}

/// The kernels of whole products, for `PTXSIM_TILES`: entry, rows, columns, threads, bytes of shared memory.
fn tiles(manifest: &Manifest) -> String {
    let line = |(name, entry): (&String, &Entry)| {
        let size = name.strip_prefix("gemm_")?.split('_').next()?;
        let (rows, columns) = size.split_once('x')?;
        let (rows, columns) = (rows.parse().ok()?, columns.parse().ok()?);
        let element = if name.ends_with("f64") { 8 } else { 4 };
        let (threads, shared) = (entry.threads, shared_memory((rows, columns), element));
        Some(format!("{name} {rows} {columns} {threads} {shared}\n"))
    };
    manifest.entries.iter().filter_map(line).collect()
}

/// Bytes of shared memory of a block that computes a tile of `rows` by `columns`: two slices of each matrix, of 8
/// steps of k or 16, with 16 bytes between their rows.
pub fn shared_memory((rows, columns): (u32, u32), element: u32) -> u32 {
    let steps = if rows == 16 { 16 } else { 8 };
    2 * steps * (rows * element + columns * element + 2 * 16)
}
