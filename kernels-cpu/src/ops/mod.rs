//! The kernels: what runs on one thread, on one level, over memory that has been checked. Generic
//! over [`Simd`](crate::simd::Simd); `table.rs` compiles each for every level.

pub mod elementwise;
pub mod gemm;
pub mod outer;
pub mod reduce;
