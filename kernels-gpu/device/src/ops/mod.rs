//! The kernels, by family. Each is the body of one entry, generic over the element type; its documentation
//! says what a grid must look like.

pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod gemv;
pub mod outer;
pub mod reduce;
