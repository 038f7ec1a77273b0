//! The library without std: without libc on Linux, and on machines without an operating system.
pub mod bare;
pub mod linux;

use anyhow::Result;

/// Everything below.
pub fn run_all() -> Result<()> {
    linux::check()?;
    bare::run_all()
}
