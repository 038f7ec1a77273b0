//! Operations over tensors in the memory of a device: those of `diptych::tensor`, with a device in place of the `Exec`.
//!
//! Axes are dropped, turned, reordered and merged as on the CPU, until a kernel fits; what none fits is one launch for
//! each index of the outermost axes. Kernels of elementwise operations take arrays whose elements lie together, so an
//! array whose innermost elements are apart, or are one for all, is refused; so are axes of a reduction that do not merge to
//! one. Nothing is copied.

mod elementwise;
mod reduce;

pub use diptych::tensor::Tensor;
pub use elementwise::*;
pub use reduce::*;
