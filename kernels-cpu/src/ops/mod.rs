//! The kernels: what runs on one thread, on one level, over memory that has been checked. Generic
//! over [`Simd`](crate::simd::Simd); `table.rs` compiles each for every level.

pub mod elementwise;
pub mod gemm;
pub mod outer;
pub mod reduce;

use crate::simd::Simd;

/// The first `len` elements at `p`, all of a register at most, +0 in the lanes from there on.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, len: usize) -> S::V {
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
unsafe fn store<S: Simd>(s: S, p: *mut S::T, len: usize, v: S::V) {
    // SAFETY: as the caller's.
    unsafe {
        if len >= S::N {
            s.store(p, v)
        } else {
            s.store_partial(p, len, v)
        }
    }
}
