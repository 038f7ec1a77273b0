//! The library without std beside musl: it needs so little of a libc that any will do.
use crate::command::exists;
use crate::ctests::{self, Linkage};
use crate::library::{self, Tools};
use crate::paths;
use crate::skip::skip;
use anyhow::Result;

const COMPILER: &str = "musl-gcc";
/// The C programs that call nothing that a library without std lacks.
const PROGRAMS: [&str; 3] = ["values", "strides", "stack"];

/// Builds the C programs with musl, statically and with a shared library, and runs them.
pub fn run_all() -> Result<()> {
    if !exists(COMPILER) {
        return skip("C programs with musl", "musl-tools is not installed");
    }
    let (cc, prefix) = (COMPILER.into(), "");
    let rust = library::cargo_build("freestanding", &[])?;
    let dir = paths::target().join("diptych-lib/musl");
    let library = library::make(&rust, &dir, &Tools { cc, prefix })?;
    for (linkage, flags) in [(Linkage::Static, &["-static"][..]), (Linkage::Shared, &[])] {
        ctests::foreign(&library, linkage, &PROGRAMS, (COMPILER, flags), &[], None)?;
    }
    Ok(())
}
