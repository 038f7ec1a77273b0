//! Targets other than this machine's, by Debian's compilers and QEMU.
pub mod aarch64;
pub mod debian;
pub mod musl;
