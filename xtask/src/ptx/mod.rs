//! From the kernels' Rust to the PTX that is committed: compiled, finished, described in a manifest, and assembled
//! for each architecture.
//!
//! The host side embeds the committed files, so nobody needs the compiler or the assembler to build or use
//! the library. Whoever changes a kernel needs the compiler that the manifest names, and runs
//! `cargo xtask ptx`; CI rebuilds and compares bytes.
mod assemble;
mod compile;
mod finish;
mod manifest;
mod simulate;
mod sources;

pub use manifest::{Entry, Manifest, entries};
pub use simulate::{run as simulate, shared_memory};
pub use sources::{hash, sources};

use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use compile::Compiler;
use std::fs;
use std::path::PathBuf;

/// What is compiled for: the least that the library runs on, whose code all later devices run. A target of its
/// own is for kernels that need more.
pub const TARGETS: [&str; 1] = ["sm_75"];

/// Where the PTX is committed.
pub fn directory() -> PathBuf {
    paths::root().join("kernels-gpu/ptx")
}

/// The committed PTX of a target.
pub fn file(target: &str) -> PathBuf {
    directory().join(format!("{target}.ptx"))
}

/// Compiles, and writes or, with `check`, compares.
pub fn run(check: bool) -> Result<()> {
    let committed = Manifest::read().ok();
    match Compiler::find(committed.as_ref().map(|m| m.compiler.as_str()))? {
        Some(compiler) if !check => write(&compiler)?,
        Some(compiler)
            if committed
                .as_ref()
                .is_some_and(|m| m.compiler == compiler.version) =>
        {
            compare(&compiler, committed)?;
        }
        _ => {
            let pinned = committed.map_or_else(String::new, |m| m.compiler);
            skip(
                "rebuilding the PTX",
                &format!(
                    "it takes {pinned} with the sources of core: on Debian the packages rustc-web, \
                     cargo-web and rust-web-src; or name one in DIPTYCH_PTX_RUSTC"
                ),
            )?;
        }
    }
    assemble::run(check)
}

/// The finished PTX of each target.
fn build(compiler: &Compiler) -> Result<Vec<(&'static str, String)>> {
    let one = |target| finish::finish(&compiler.compile(target)?);
    TARGETS
        .map(|target| {
            let text = one(target).with_context(|| format!("the PTX for {target}"))?;
            Ok((target, text))
        })
        .into_iter()
        .collect()
}

fn write(compiler: &Compiler) -> Result<()> {
    fs::create_dir_all(directory())?;
    let all = build(compiler)?;
    for (target, text) in &all {
        fs::write(file(target), text)?;
    }
    let manifest = Manifest::new(&compiler.version, &all)?;
    manifest.write()?;
    println!(
        "{} entries for {}",
        manifest.entries.len(),
        TARGETS.join(", ")
    );
    Ok(())
}

fn compare(compiler: &Compiler, committed: Option<Manifest>) -> Result<()> {
    const AGAIN: &str = "is not what the sources give; run `cargo xtask ptx`";
    let all = build(compiler)?;
    for (target, text) in &all {
        let file = file(target);
        ensure!(
            &fs::read_to_string(&file)? == text,
            "{} {AGAIN}",
            file.display()
        );
    }
    let manifest = Manifest::new(&compiler.version, &all)?;
    ensure!(committed == Some(manifest), "the manifest {AGAIN}");
    println!("the PTX for {} is fresh", TARGETS.join(", "));
    Ok(())
}
