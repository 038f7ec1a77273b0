//! Targets other than this machine's, by Debian's compilers and QEMU.
pub mod aarch64;
pub mod debian;
pub mod musl;

use anyhow::Result;

/// Everything below; the longest tests too when `full`.
pub fn run_all(full: bool) -> Result<()> {
    musl::run_all()?;
    aarch64::run_all(full)
}
