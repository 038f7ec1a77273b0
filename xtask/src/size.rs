//! The sizes of the library and of programs that call few operations: what a user links and downloads.
use crate::asm;
use crate::command::{cargo_path, cmd, run, sh};
use crate::compile_time;
use crate::freestanding::bare;
use crate::library::Library;
use anyhow::{Result, ensure};
use fs_err as fs;
use std::path::Path;

/// Bytes of code of the shared C library. Operations on 16-bit floats and integers may add 700,000 to the 4,430,000 of those on
/// `float` and `double`.
const LIBRARY: u64 = 5_040_000;
/// Bytes of a Rust program that calls four operations (`tests/size`), release with cargo's defaults. The goal is
/// 850,000.
const PROGRAM: u64 = 1_190_000;
/// Bytes of code and constants of a Cortex-M program that calls `dpt_sum_f32`.
const CORTEX_M: u64 = 16 << 10;

/// Measures all, and fails where one is too large.
pub fn check(library: &Library) -> Result<()> {
    let code = sections(&library.shared, &[".text"])?;
    hold("code of the C library", code, LIBRARY)?;
    compile_time::check()?;
    let what = "a Rust program that calls four operations";
    hold(what, program()?, PROGRAM)?;
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

/// Bytes of the named sections of a file.
pub fn sections(file: &Path, names: &[&str]) -> Result<u64> {
    let mut bytes = 0;
    for line in sh!("size -A {file}")?.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(size)) = (words.next(), words.next())
            && names.contains(&name)
        {
            bytes += size.parse::<u64>()?;
        }
    }
    ensure!(bytes > 0, "no {names:?} in {}", file.display());
    Ok(bytes)
}

/// Builds the program as a user would, in a package of its own; returns the bytes of its file. Then checks the calls of its
/// kernels.
fn program() -> Result<u64> {
    let folder = compile_time::package()?;
    let (cargo, program) = (cargo_path(), folder.join("target/release/size"));
    run(cmd!("{cargo} build --quiet --release").current_dir(&folder))?;
    sh!("{program}")?;
    let bytes = fs::metadata(&program)?.len();
    // With a listing, the number of units must be said, here cargo's default; else there is one.
    let mut listing = cmd!(
        "{cargo} rustc --quiet --release -- -C symbol-mangling-version=v0 -C codegen-units=16 --emit=asm"
    );
    run(listing.current_dir(&folder))?;
    asm::check_program(&folder.join("target/release/deps"))?;
    Ok(bytes)
}
