//! The device panel: the operations of the crate `diptych` on GPU memory, with the same checks, the same
//! meaning and the same bits.
//!
//! [`Context`], [`Stream`] and [`DeviceBuffer`] are where a program begins; the functions of this crate have
//! the names and the meaning of those of `diptych`.
//!
//! [`raw`] checks arguments and decides how each operation becomes launches. It does so for any
//! [`Device`](diptych_device::launch::Device): a stream of a GPU, or an emulator.

pub mod advice;
mod api;
pub mod driver;
mod ops;

pub use api::*;
pub use driver::{Error, Result};

/// The operations on pointers: the arguments of `diptych::raw`, with a device in place of the `Exec`.
///
/// Nothing here looks at memory: addresses are checked as numbers, and handed to kernels.
pub mod raw {
    pub use crate::ops::elementwise::*;
    pub use crate::ops::fused::*;
    pub use crate::ops::gemm::*;
    pub use crate::ops::outer::*;
    pub use crate::ops::reduce::*;
    pub use crate::ops::workspace::*;
}
