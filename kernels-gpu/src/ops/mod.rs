//! From arguments to launches, by family.

pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod gemv;
pub mod outer;
pub mod reduce;
pub mod workspace;
