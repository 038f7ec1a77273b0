//! The GPU backend: the operations of the crate `diptych` on GPU memory, with the same checks, the same
//! semantics and bit-identical results.
//!
//! Start with [`Context`], [`Stream`] and [`DeviceBuffer`]. The operations have the same names as in `diptych`.
//!
//! [`raw`] checks the arguments of an operation and turns it into kernel launches on any
//! [`Device`](diptych_device::launch::Device): a stream of a GPU, or an emulator.

pub mod advice;
mod api;
pub mod driver;
mod fingerprint;
mod ops;
pub mod tensor;

pub use api::*;
pub use driver::{Error, Result};
pub use fingerprint::{fingerprint, fingerprint_of_operation};

/// The operations on pointers: as in `diptych::raw`, with a device in place of the `Exec`.
///
/// Nothing here dereferences a pointer on the host: addresses are checked as numbers and passed on to kernels.
pub mod raw {
    pub use crate::ops::elementwise::*;
    pub use crate::ops::fused::*;
    pub use crate::ops::gemm::*;
    pub use crate::ops::outer::*;
    pub use crate::ops::reduce::*;
    pub use crate::ops::row_map::*;
    pub use crate::ops::workspace::*;
}

/// The Rust code of README.md, which `cargo test` compiles: it needs a GPU to run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
