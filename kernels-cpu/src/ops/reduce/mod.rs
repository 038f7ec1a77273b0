//! Reductions in the canonical order.
//!
//! The order determines the result bits and is part of the ABI. With L lanes, 256 bytes of elements (64 f32,
//! 32 f64), and chunks of 32 L elements:
//!
//! 1. Within a chunk, element i goes to lane i mod L; each lane takes its elements in ascending
//!    order, starting from the fold's start value.
//! 2. The lanes are halved: lane l is combined with lane l + w, for w = L/2, L/4, ..., 1.
//! 3. The chunks' results are combined by a pairwise tree: a tree over c values combines the tree
//!    over the first p, the largest power of two below c, with the tree over the rest.
//! 4. The last step, left to the caller: +0 is added to sums, and every NaN becomes the canonical one.
//!
//! Because of step 4, lanes without an element may be filled with +0 or left out of a sum: that changes only the sign
//! of a zero. Step 3 may be split at aligned runs of 2^j chunks.

mod chunk;
mod columns;
mod dots;
mod extreme;
pub mod fold;
mod halving;
mod lanes;
mod leaf;
mod lsq;
mod mse;
mod rows;
mod source;
mod steps;
mod streams;
mod transpose;
mod tree;
mod walk;

pub use super::order::{LSQ_ROWS, chunk_len};
pub use columns::{PADDING, WorkArea, can_widen_into_lanes, columns, widen_into_lanes, work_bytes};
pub use dots::dot_rows;
pub use extreme::{argmax, argmax_columns, argmin, argmin_columns, first_in_rows};
pub use fold::*;
pub use lanes::fold_into_lanes;
pub use lsq::lsq_block;
pub use mse::mse_grad;
pub use rows::rows;
pub use steps::{add_logarithms, divide_each};
pub use transpose::{stream, transpose};
pub use walk::vector;
