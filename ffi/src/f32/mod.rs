//! The functions on f32, one file per family. The files for f64 are generated from these.
mod elementwise;
mod fused;
mod gemm;
mod outer;
mod reduce;
mod reduce_rows;

pub use elementwise::*;
pub use fused::*;
pub use gemm::*;
pub use outer::*;
pub use reduce::*;
pub use reduce_rows::*;
