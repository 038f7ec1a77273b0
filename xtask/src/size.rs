//! How large the libraries are, and programs that call few operations: what a user links and downloads.
use crate::command::{cargo, run};
use crate::freestanding::bare;
use crate::library::Library;
use crate::paths;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Bytes of code of the shared C library.
const LIBRARY: u64 = 3_500_000;
/// Bytes of a Rust program that calls four operations (`tests/size`), release with cargo's defaults. The goal is
/// 850,000.
const PROGRAM: u64 = 1_060_000;
/// Bytes of code and constants of a Cortex-M program that calls `dpt_sum_f32`.
const CORTEX_M: u64 = 16 << 10;

/// Measures all, and fails where one is too large.
pub fn check(library: &Library) -> Result<()> {
    hold("code of the C library", text(&library.shared)?, LIBRARY)?;
    hold(
        "a Rust program that calls four operations",
        program()?,
        PROGRAM,
    )?;
    if let Some(size) = bare::size_of_sum()? {
        hold("a Cortex-M program that calls dpt_sum_f32", size, CORTEX_M)?;
    }
    Ok(())
}

fn hold(what: &str, size: u64, most: u64) -> Result<()> {
    println!("{what}: {size} bytes, at most {most}");
    ensure!(size <= most, "{what}: {size} bytes are more than {most}");
    Ok(())
}

/// The bytes of a file's code, by the system's `size`.
fn text(file: &Path) -> Result<u64> {
    let printed = run(Command::new("size").arg("-A").arg(file))?;
    let mut lines = printed.lines();
    let text = lines.find_map(|line| line.strip_prefix(".text")?.split_whitespace().next());
    let text = text.with_context(|| format!("no .text in {}", file.display()))?;
    Ok(text.parse()?)
}

/// Builds the program as a user would, in a package of its own.
fn program() -> Result<u64> {
    let folder = paths::target().join("diptych-size");
    fs::create_dir_all(folder.join("src"))?;
    let manifest = format!(
        "[package]\nname = \"size\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies.diptych]\npath = {:?}\n\
         features = [\"pool\"]\n\n[workspace]\n",
        paths::root().join("kernels-cpu")
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::copy(
        paths::root().join("tests/size/main.rs"),
        folder.join("src/main.rs"),
    )?;
    // The versions of the workspace; cargo takes out what the program does not need.
    fs::copy(paths::root().join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut command = cargo();
    command
        .current_dir(&folder)
        .args(["build", "--quiet", "--release"]);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    run(&mut command)?;
    let program = folder.join("target/release/size");
    run(&mut Command::new(&program))?;
    Ok(fs::metadata(&program)?.len())
}
