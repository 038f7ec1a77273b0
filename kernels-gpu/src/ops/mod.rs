//! Checks the arguments of each operation and turns it into launches: one module per family of operations.

pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod gemv;
pub mod mixed;
pub mod outer;
pub mod reduce;
#[cfg(test)]
mod resources;
pub mod row_map;
pub mod workspace;
