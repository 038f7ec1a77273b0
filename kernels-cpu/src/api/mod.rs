//! The operations as callers see them: per family the pointer form (`raw`), which checks every
//! argument and is what the C ABI calls, and the safe form on slices and views.

pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod outer;
mod plain;
pub mod reduce;
