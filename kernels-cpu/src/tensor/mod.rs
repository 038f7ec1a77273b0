//! Operations over tensors: arrays of any rank and any strides, broadcast as in NumPy, described as in DLPack.
//!
//! A call checks its tensors, drops, turns, reorders and merges their axes, and runs the kernels of the other modules on
//! what is left. Tensors that do not fit a kernel are copied block by block to buffers on the stack or, in reductions over
//! several axes, in scratch memory of at most 4 MiB for each thread, which they can do without; nothing else is copied.
//!
//! Bits: an element of an elementwise result has the bits that the operation gives for it alone; a reduction over axes
//! has the bits of the reduction of the same elements in row-major order.
//!
//! Functions that reach a kernel and are not generic are `#[inline]`: the crate that calls them compiles the kernels, and
//! this one does not. The step for general arguments is also `#[cold]`, so that it stays a function of its own.

mod block_walk;
pub(crate) mod blocks;
mod buffers;
pub(crate) mod cast;
pub(crate) mod checked;
mod contiguous;
pub(crate) mod convert;
pub(crate) mod dot;
pub(crate) mod element_type;
mod elementwise;
pub(crate) mod gradients;
mod header;
mod integer_columns;
pub(crate) mod integer_folds;
pub(crate) mod integer_outer;
pub(crate) mod integers;
pub(crate) mod kind;
pub(crate) mod list;
pub(crate) mod loops;
pub(crate) mod matmul;
pub(crate) mod mixed;
pub(crate) mod mse_grad;
pub(crate) mod operand;
mod packed;
pub(crate) mod product;
pub(crate) mod reduce;
pub(crate) mod row_map;
mod steps;
pub(crate) mod strided;
pub(crate) mod vectors;

pub use convert::convert;
pub use dot::dot;
pub use elementwise::*;
pub use gradients::{lsq_grad, mse_grad};
pub use matmul::{Epilogue, matmul};
pub use operand::Tensor;
pub use packed::{matmul_pack, matmul_packed, matmul_packed_size, packed_shape};
pub use reduce::*;
pub use row_map::*;
pub use vectors::{ger, outer};
