//! The library without std: without libc on Linux, and on machines without an operating system.
pub mod bare;
pub mod linux;
