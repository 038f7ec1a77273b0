//! The library without std beside musl: it asks for so little of a libc that any will do.
use crate::command::exists;
use crate::library::{self, Library, Tools};
use crate::skip::skip;
use crate::{ctests, paths};
use anyhow::Result;
use ctests::Linkage;

const COMPILER: &str = "musl-gcc";

/// Builds the C programs that need no std with musl, statically and with a shared library, and runs them.
pub fn run_all() -> Result<()> {
    if !exists(COMPILER) {
        return skip("C programs with musl", "musl-tools is not installed");
    }
    let library = build()?;
    for linkage in [Linkage::Static, Linkage::Shared] {
        ctests::without_std(&library, linkage, COMPILER)?;
    }
    Ok(())
}

fn build() -> Result<Library> {
    let rust = library::cargo_build(&[])?;
    let tools = Tools {
        cc: COMPILER.into(),
        ..Tools::prefixed("")
    };
    library::make(&rust, &paths::target().join("diptych-lib/musl"), &tools)
}
