//! Tile and block sizes: the numbers to tune. None of them but [`KSEG`] changes a bit of a result.
#![forbid(unsafe_code)]

use super::Gemm;
use crate::element::Element;
use crate::simd::Simd;

/// Elements of k per segment. Part of the ABI: it fixes the order of summation.
pub const KSEG: usize = 256;

/// Bytes of one row of a panel of B: `KSEG` such rows, 768 KiB, fill three quarters of a 1 MiB
/// second-level cache, and are a whole number of every level's tiles.
pub const NC: usize = 3072;

/// The most rows of a tile on any level.
pub const MAX_MR: usize = 8;

/// The most registers of a tile on any level.
pub const MAX_REGISTERS: usize = 24;

/// A cache line.
pub const LINE: usize = 64;

/// Rows and registers of a tile. Of 32 registers 24 accumulate, 3 hold B and 1 an element of A; of
/// 16 registers 12, 2 and 1, with one to spare (LLVM spills when there is none). `table.rs` lists
/// the functions of these sizes.
pub const fn tile<S: Simd>() -> (usize, usize) {
    match S::R {
        4 => (8, 3),
        8 => (6, 2),
        _ => (4, 2),
    }
}

/// Whether A is copied to contiguous slivers: where a sliver is read for several tiles and its
/// elements along k are not neighbours.
pub fn pack_a<S: Simd>(p: &Gemm<S::T>) -> bool {
    p.a_cs != 1 && p.n > 2 * tile::<S>().1 * S::N
}

/// Whether B is copied to contiguous slivers: where its rows are not contiguous, or where it is
/// too large for the first-level cache and is read for many tiles.
pub fn pack_b<S: Simd>(p: &Gemm<S::T>) -> bool {
    const FIRST_LEVEL: usize = 24 << 10;
    p.b_cs != 1
        || (p.m > 4 * tile::<S>().0 && p.k.saturating_mul(p.n) > FIRST_LEVEL / size_of::<S::T>())
}

/// Bytes of scratch for a product of this shape on one thread, on any level; `None` on overflow.
pub fn scratch_bytes<T: Element>(n: usize, k: usize) -> Option<usize> {
    if n == 0 || k == 0 {
        return Some(0);
    }
    /// Columns are padded to a register: at most a cache line.
    const PADDING: usize = LINE;
    let row = n.checked_mul(size_of::<T>())?.checked_add(PADDING - 1)? / PADDING * PADDING;
    Some(KSEG * (row.min(NC) + MAX_MR * size_of::<T>()) + LINE)
}
