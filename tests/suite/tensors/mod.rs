//! Operations over tensors: random shapes, strides and types against calls on single elements, vectors and matrices.

mod convert;
mod elementwise;
mod gradients;
mod halves;
mod integer_outer;
mod integers;
mod integers_refused;
mod mixed;
mod mixed_edges;
mod mixed_refused;
mod products;
mod products_refused;
mod reduce;
mod reduce_refused;
mod row_map;

// What the device suite includes too takes its backend from the module above it.
use diptych_tests::mixed as backend;
