//! The suites that can share a process: one program, because each program instantiates the generic interface again.
//! `cargo test -p diptych-tests --test suite -- accuracy::` runs one of them.
//!
//! Programs of their own are `device` and `load` (each has an allocator), `allocation` (counts the allocations of the
//! process) and `hostile` (forces the CPU level of the process).

mod accuracy;
mod batches;
mod conformance;
mod contract;
mod coverage;
mod errors;
mod fingerprint;
mod huge;
mod machines;
mod partial;
mod properties;
mod readme;
mod tensors;
mod threads;
