//! Targets other than this machine's, with Debian's compilers and QEMU.
pub mod aarch64;
pub mod debian;
pub mod musl;
