//! From arguments to launches, by family.

pub mod elementwise;
pub mod workspace;
pub mod fused;
pub mod gemv;
pub mod outer;
pub mod reduce;
