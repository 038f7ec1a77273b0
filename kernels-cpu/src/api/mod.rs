//! The operations as callers see them. Each family has a pointer form (`raw`), which checks every argument and which
//! the C interface calls, and a safe form on slices and views.

pub mod convert;
pub mod elementwise;
pub(crate) mod fast_path;
pub mod fused;
pub mod gemm;
pub mod mixed;
pub mod outer;
pub mod packed;
pub mod reduce;
pub mod row_map;
pub(crate) mod widen;
