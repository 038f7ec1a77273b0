//! The kernels, by family. Each is the body of an entry, generic over the element type; its documentation says how
//! the grid must be laid out.

pub mod convert;
pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod gemv;
pub mod outer;
pub mod reduce;
