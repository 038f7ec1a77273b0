//! Operations over tensors: random shapes, strides and types against calls on single elements, vectors and matrices.

mod convert;
mod elementwise;
mod gradients;
mod halves;
mod integer_outer;
mod integers;
mod integers_refused;
mod mixed;
mod mixed_refused;
mod products;
mod products_refused;
mod reduce;
mod reduce_refused;
mod row_map;
