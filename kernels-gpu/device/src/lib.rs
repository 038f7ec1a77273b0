//! The GPU kernels: Rust, compiled by rustc to PTX for `nvptx64-nvidia-cuda`, and to the host, where an
//! emulator runs the very same source under `cargo test`.
//!
//! Kernels are written against [`gpu`], a small device module that keeps the vocabulary of `cuda_std`
//! (`thread`, `warp`, `shared`, `atomic`) and has two twins with one API: `gpu/ptx.rs` and `gpu/host.rs`.
//! What an operation means for one element comes from the crate `diptych`: its `scalar` and fold sources
//! are compiled here for [`single::Single`], a "register" of one lane.
//!
//! [`table`] lists every kernel with its parameters. For PTX each row becomes two entries (f32, f64); on
//! the host each becomes a typed function in [`launch`] through which a [`launch::Device`], a real GPU or
//! the emulator, runs it.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_ptx,
        abi_unadjusted,
        asm_experimental_arch,
        core_float_math,
        link_llvm_intrinsics,
        stdarch_nvptx
    )
)]

#[macro_use]
pub mod table;

#[cfg(target_arch = "nvptx64")]
mod entries;
mod finish;
pub mod gpu;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
pub mod ops;
pub mod real;
pub mod single;
mod unroll;
