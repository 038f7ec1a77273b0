//! The numbers that fix orders of summation: part of the ABI, and the same on the CPU and on the GPU.
#![forbid(unsafe_code)]

use crate::element::Element;

/// Elements of k per segment of a product.
pub const KSEG: usize = 256;

/// Elements of k per segment of a product of 16-bit numbers, and per block of a segment.
pub const HALF_SEGMENT: usize = 1024;
/// As above.
pub const HALF_BLOCK: usize = 32;

/// Rows of one block of the least-squares gradient.
pub const LSQ_ROWS: usize = 32;

/// Elements of a chunk of a reduction.
pub const fn chunk_len<T: Element>() -> usize {
    32 * T::LANES
}
