//! The kernels, by family. Each is the body of an entry, generic over the element type; its documentation says how
//! the grid must be laid out.

// Whole bodies are unsafe, for the reason in their `# Safety` section. A block stands where there is another reason.
#![allow(unsafe_op_in_unsafe_fn)]

pub mod convert;
pub mod elementwise;
pub mod fused;
pub mod gemm;
pub mod gemv;
pub mod integers;
pub mod mixed;
pub mod outer;
pub mod reduce;
