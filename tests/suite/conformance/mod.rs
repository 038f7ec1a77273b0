//! Every operation gives the bits of the plain model: for f32 and f64, at every level, on one thread and on several,
//! at any alignment and stride.

use diptych_tests::threads as backend;

mod elementwise;
mod fused;
mod gemm;
mod gemm_batched;
pub mod gemm_case;
mod gemm_packed;
mod gemm_skinny;
mod half;
mod mixed;
mod outer;
mod reduce;
mod reduce_rows;
mod row_map;
