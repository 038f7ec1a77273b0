//! Operations over tensors in the memory of a device: those of `diptych::tensor`, with a device in place of the `Exec`.
//!
//! Axes are dropped, turned, reordered and merged as on the CPU. A kernel of an elementwise operation has three loops and
//! takes any strides; more loops are one launch for each index of the others. Products and reductions are likewise one
//! launch or two for each index of the axes that no kernel has. Rows of a reduction whose elements are not evenly spaced,
//! and operands of `mse_grad` and `lsq_grad` that are not contiguous, are copied to scratch memory; nothing else is copied.
//!
//! The types are `f32` and `f64`; `matmul` and `convert` take all types that they take on the CPU.

mod axes;
mod convert;
mod elementwise;
mod gather;
mod gradients;
mod parts;
mod products;
mod reduce;
mod row_map;

pub use convert::convert;
pub use diptych::tensor::{Epilogue, Tensor};
pub use elementwise::*;
pub use gradients::*;
pub use products::*;
pub use reduce::*;
pub use row_map::*;

use diptych::backend::tensor::ElementType;
use diptych::{Dtype, Error};

/// Returns the type of the elements of an operation that has kernels for `f32` and `f64` only. Its checks refuse others.
fn element(of: Dtype) -> Result<ElementType, Error> {
    ElementType::of(of).ok_or(Error::UnsupportedType { arg: "x" })
}
