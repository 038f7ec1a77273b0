//! `tests/suite/conformance` on the GPU backend.

#[path = "../conformance/elementwise.rs"]
mod elementwise;
#[path = "../conformance/fused.rs"]
mod fused;
#[path = "../conformance/gemm.rs"]
mod gemm;
#[path = "../conformance/gemm_batched.rs"]
mod gemm_batched;
#[path = "../conformance/gemm_case.rs"]
pub mod gemm_case;
#[path = "../conformance/outer.rs"]
mod outer;
#[path = "../conformance/reduce.rs"]
mod reduce;
#[path = "../conformance/reduce_rows.rs"]
mod reduce_rows;
#[path = "../conformance/row_map.rs"]
mod row_map;

// The files above take these from the module that has them.
use crate::backend;
