//! The kernels, by family. Each is the body of one entry, generic over the element type; its documentation
//! says what a grid must look like.

pub mod elementwise;
