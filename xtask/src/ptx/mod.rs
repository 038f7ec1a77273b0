//! From the kernels' Rust to the PTX that is committed: compiled, finished, described in a manifest, and assembled
//! for each architecture.
//!
//! The host side embeds the committed files, so nobody needs the compiler or the assembler to build or use
//! the library. Whoever changes a kernel needs the compiler that the manifest names, and runs
//! `cargo xtask ptx`; CI rebuilds and compares bytes.
mod assemble;
#[path = "../../../kernels-gpu/committed.rs"]
mod committed;
mod compile;
pub mod cubins;
mod finish;
mod manifest;
mod simulate;
mod sources;

pub use committed::cubins as unpack;
pub use manifest::{Entry, Manifest, entries};
pub use simulate::{run as simulate, shared_memory};
pub use sources::{hash, sources};

use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use compile::Compiler;
use fs_err as fs;
use std::path::PathBuf;

/// The targets of the compiler: the oldest that the library runs on, whose code all later devices run. Kernels that
/// need a later one would get a target of their own.
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
    let pinned = committed.as_ref().map(|manifest| manifest.compiler.clone());
    match Compiler::find(pinned.as_deref()) {
        Some(compiler) if !check || pinned.as_ref() == Some(&compiler.version) => {
            rebuild(&compiler, committed, check)?;
        }
        _ => {
            let reason = format!(
                "it takes {} with the sources of core: on Debian the packages rustc-web, cargo-web and rust-web-src; \
                 or name one in DIPTYCH_PTX_RUSTC",
                pinned.unwrap_or_default()
            );
            skip("rebuilding the PTX", &reason)?;
        }
    }
    assemble::run(check)?;
    cubins::run(check)
}

/// Compiles each target and finishes its PTX; writes it with the manifest or, with `check`, compares them.
fn rebuild(compiler: &Compiler, committed: Option<Manifest>, check: bool) -> Result<()> {
    const AGAIN: &str = "is not what the sources give; run `cargo xtask ptx`";
    fs::create_dir_all(directory())?;
    let mut all = Vec::new();
    for target in TARGETS {
        let (file, text) = (file(target), finish::finish(&compiler.compile(target)?));
        let text = text.with_context(|| format!("the PTX for {target}"))?;
        if check {
            let is_fresh = fs::read_to_string(&file)? == text;
            ensure!(is_fresh, "{} {AGAIN}", file.display());
        } else {
            fs::write(file, &text)?;
        }
        all.push((target, text));
    }
    let manifest = Manifest::new(&compiler.version, &all)?;
    let (count, targets) = (manifest.entries.len(), TARGETS.join(", "));
    if check {
        ensure!(committed == Some(manifest), "the manifest {AGAIN}");
        println!("the PTX for {targets} is fresh");
    } else {
        manifest.write()?;
        println!("{count} entries for {targets}");
    }
    Ok(())
}
