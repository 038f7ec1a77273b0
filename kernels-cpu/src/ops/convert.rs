//! Conversions between a type in memory and its type of arithmetic: from 16 bits, exact, and back, rounded to nearest even.

use crate::element::Storage;
use crate::simd::{Access, Simd};

/// Bytes from the elements of a long array to those that are prefetched: a chunk, during whose fold memory would be idle.
pub const CHUNK_AHEAD: isize = 4 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Copies `n` elements from one type in memory to another, through registers. Unless `ahead` is 0, elements so many bytes
/// behind those that are read are prefetched.
///
/// # Safety
/// The arrays must be valid for `n` elements.
#[inline(always)]
unsafe fn through_registers<S: Simd + Access<A> + Access<B>, A: Storage, B: Storage>(
    s: S,
    n: usize,
    from: *const A,
    to: *mut B,
    ahead: isize,
) {
    const UNROLL: usize = 4;
    let mut i = 0;
    while i + UNROLL * S::N <= n {
        if ahead != 0 {
            let next = from.add(i).wrapping_byte_offset(ahead);
            for line in (0..UNROLL * S::N * size_of::<A>()).step_by(LINE) {
                s.prefetch_far(next.wrapping_byte_add(line));
            }
        }
        for at in [i, i + S::N, i + 2 * S::N, i + 3 * S::N] {
            s.store(to.add(at), s.load(from.add(at)));
        }
        i += UNROLL * S::N;
    }
    while i < n {
        let len = (n - i).min(S::N);
        s.store_partial(to.add(i), len, s.load_partial(from.add(i), len));
        i += len;
    }
}

/// Widens `n` elements. Unless `ahead` is 0, as many elements so many bytes behind them are prefetched.
///
/// # Safety
/// The arrays must be valid for `n` elements.
#[inline(always)]
pub unsafe fn widen<S: Simd + Access<M>, M: Storage>(
    s: S,
    n: usize,
    from: *const M,
    to: *mut S::T,
    ahead: isize,
) {
    through_registers::<S, M, S::T>(s, n, from, to, ahead)
}

/// Rounds `n` results to the type in memory.
///
/// # Safety
/// The arrays must be valid for `n` elements.
#[inline(always)]
pub unsafe fn round<S: Simd + Access<M>, M: Storage>(
    s: S,
    n: usize,
    from: *const S::T,
    to: *mut M,
) {
    through_registers::<S, S::T, M>(s, n, from, to, 0)
}
