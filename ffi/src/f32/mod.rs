//! The functions on f32 that do not come from the table of operations, one file per family. Those for f64 are generated
//! from these.
mod dot;
mod fused;
mod gemm;
mod outer;

pub use dot::*;
pub use fused::*;
pub use gemm::*;
pub use outer::*;
