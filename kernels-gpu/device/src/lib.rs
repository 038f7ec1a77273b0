//! The GPU kernels, in Rust. rustc compiles them to PTX for `nvptx64-nvidia-cuda`, and to host code, where an
//! emulator runs the same source under `cargo test`.
//!
//! Kernels are written against [`gpu`], a small device API with the module names of `cuda_std` (`thread`, `warp`,
//! `shared`, `atomic`). It has two implementations: `gpu/ptx.rs` for the device and `gpu/host.rs` for the emulator.
//! What an operation does to one element is defined in the crate `diptych`: its `scalar` and fold functions are
//! compiled here for [`single::Single`], a register of one lane.
//!
//! [`table`] lists every kernel with its parameters. In PTX each row becomes one entry for each element type; on the
//! host each row becomes a typed function in [`launch`], which runs the kernel on a [`launch::Device`]: a GPU or the
//! emulator.

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
pub mod memory;
pub mod ops;
pub mod real;
pub mod single;
mod unroll;
