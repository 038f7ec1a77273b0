//! The device panel: the operations of the crate `diptych` on GPU memory, with the same checks, the same
//! meaning and the same bits.
//!
//! [`raw`] checks arguments and decides how each operation becomes launches. It does so for any
//! [`Device`](diptych_device::launch::Device): a stream of a GPU, or an emulator.

pub mod advice;
pub mod driver;
mod ops;

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
