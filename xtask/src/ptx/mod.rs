//! From the kernels' Rust to the PTX that is committed: compiled, finished, described in a manifest, assembled
//! for each architecture, and disassembled for a model of each kernel.
//!
//! The host side embeds the committed files, so nobody needs the compiler or the assembler to build or use
//! the library. Whoever changes a kernel needs the compiler that the manifest names, and runs
//! `cargo xtask ptx`; CI rebuilds and compares bytes.
mod assemble;
mod compile;
mod finish;
mod flow;
mod hot;
mod manifest;
mod model;
mod occupancy;
mod sass;
mod sources;
mod targets;
mod work;

pub use manifest::{Entry, Manifest, entries};
pub use sources::{hash, sources};
pub use work::{Launch, RUN, WORK, Work, shared_at_launch};

use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use compile::Compiler;
use std::fs;
use std::path::PathBuf;

/// What is compiled for: the least that the library runs on, and Hopper with all it has.
pub const TARGETS: [&str; 2] = ["sm_75", "sm_90a"];

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
            compare(&compiler)?;
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

/// The finished PTX of a target.
fn build(compiler: &Compiler, target: &str) -> Result<String> {
    finish::finish(&compiler.compile(target)?).with_context(|| format!("the PTX for {target}"))
}

fn write(compiler: &Compiler) -> Result<()> {
    fs::create_dir_all(directory())?;
    let mut all = Vec::new();
    for target in TARGETS {
        let text = build(compiler, target)?;
        fs::write(file(target), &text)?;
        all.push((target, text));
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

fn compare(compiler: &Compiler) -> Result<()> {
    for target in TARGETS {
        let committed = fs::read_to_string(file(target))?;
        ensure!(
            build(compiler, target)? == committed,
            "{} is not what its sources give; run `cargo xtask ptx`",
            file(target).display()
        );
    }
    println!("the PTX for {} is fresh", TARGETS.join(", "));
    Ok(())
}
