//! The kernels: what runs on one thread, on one level, over memory that has been checked. Generic
//! over [`Simd`](crate::simd::Simd); `dispatch.rs` compiles each for every level.

pub mod elementwise;
pub mod gemm;
pub mod order;
pub mod outer;
pub mod reduce;

use crate::element::Storage;
use crate::simd::{Access, Simd};

/// Bytes of an operand from which on it is taken to come from memory.
const FAR: usize = 8 << 20;

/// Before a walk through `bytes` of memory at `p` that goes on behind them: asks for the first lines of pages
/// some way ahead. The hardware's prefetchers stop where a page ends, and what is first read of the next one
/// waits for its address to be translated too; so both begin before the walk comes to it. Large pages do without.
#[inline(always)]
fn prefetch_pages<S: Simd, M>(s: S, p: *const M, bytes: usize) {
    const PAGE: usize = 4 << 10;
    const PREFETCH_DISTANCE: usize = 16 << 10;
    const LINE: usize = 64;
    const LINES: usize = 8;
    if !S::PREFETCH_NEXT_PAGE {
        return;
    }
    for page in (0..bytes).step_by(PAGE) {
        for line in 0..LINES {
            s.prefetch_far(p.wrapping_byte_add(PREFETCH_DISTANCE + page + line * LINE));
        }
    }
}

/// The first `len` elements at `p`, all of a register at most, +0 in the lanes from there on.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load<S: Simd + Access<M>, M: Storage>(s: S, p: *const M, len: usize) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if len >= S::N {
            s.load(p)
        } else {
            s.load_partial(p, len)
        }
    }
}

/// The first `len` lanes to `p`, all of them at most.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn store<S: Simd + Access<M>, M: Storage>(s: S, p: *mut M, len: usize, v: S::V) {
    // SAFETY: as the caller's.
    unsafe {
        if len >= S::N {
            s.store(p, v)
        } else {
            s.store_partial(p, len, v)
        }
    }
}
