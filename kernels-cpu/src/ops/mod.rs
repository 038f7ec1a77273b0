//! The kernels: they run on one thread, on one level, over memory that has been checked. Each is generic over
//! [`Simd`]; `dispatch.rs` makes it a function for every level.

// Whole bodies are unsafe, for the reason in their `# Safety` section. A block stands where there is another reason.
#![allow(unsafe_op_in_unsafe_fn)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod convert;
pub mod elementwise;
pub mod gemm;
pub mod integers;
pub mod mixed;
pub mod order;
pub mod outer;
pub mod reduce;
pub mod row_map;
pub mod transpose;

use crate::element::Storage;
use crate::simd::{Access, Simd};

/// Prefetches the first lines of the pages some distance ahead of `p`; called before each `bytes` bytes of a longer
/// contiguous read. Hardware prefetchers stop at the end of a page, and the first read of the next page also
/// waits for the TLB; this starts both early. Memory in large pages does not need it.
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

/// Whether the code of a level should be small rather than fast: of the portable one on x86-64, which only CPUs without AVX2
/// run.
const fn prefers_small_code<S: Simd>() -> bool {
    cfg!(target_arch = "x86_64") && !S::HAS_SHAPE_LOOPS
}

/// Loads the first min(`len`, N) elements at `p`; the other lanes are +0.
///
/// # Safety
/// `p` must be valid for reading these elements.
#[inline(always)]
unsafe fn load<S: Simd + Access<M>, M: Storage>(s: S, p: *const M, len: usize) -> S::V {
    if len >= S::N {
        s.load(p)
    } else {
        s.load_partial(p, len)
    }
}

/// Stores the first min(`len`, N) lanes at `p`.
///
/// # Safety
/// `p` must be valid for writing these elements.
#[inline(always)]
unsafe fn store<S: Simd + Access<M>, M: Storage>(s: S, p: *mut M, len: usize, v: S::V) {
    if len >= S::N {
        s.store(p, v)
    } else {
        s.store_partial(p, len, v)
    }
}
