//! argmin and argmax: the index of the first NaN, else of the first extreme by value.

use super::{Fold, Max, Min, chunk};
use super::{Source, chunk_len};
use crate::element::Element;
use crate::simd::Simd;

/// argmin of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmin<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    // SAFETY: as the caller's.
    unsafe { search::<S, Min>(s, n, Source { p: x, inc: incx }, |a, b| a < b) }
}

/// argmax of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmax<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    // SAFETY: as the caller's.
    unsafe { search::<S, Max>(s, n, Source { p: x, inc: incx }, |a, b| a > b) }
}

/// Finds the first chunk with the extreme of all (or with a NaN), then the place in it: all
/// elements are folded, one chunk is read again. `better` is called once a chunk.
#[inline(always)]
unsafe fn search<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: Source<S::T>,
    better: impl Fn(S::T, S::T) -> bool,
) -> usize {
    let len = chunk_len::<S::T>();
    let zero = s.splat(S::T::ZERO);
    let (mut best, mut best_from) = (F::START, 0);
    let mut from = 0;
    while from < n {
        let count = len.min(n - from);
        let part = x.skip(from);
        // SAFETY: the chunk lies in 0..n.
        let extreme = s.first(unsafe {
            if x.inc == 1 {
                chunk::<S, F, false>(s, count, part, part, zero)
            } else {
                chunk::<S, F, true>(s, count, part, part, zero)
            }
        });
        if extreme.is_nan() || better(extreme, best) {
            (best, best_from) = (extreme, from);
        }
        if extreme.is_nan() {
            break;
        }
        from += count;
    }
    let count = len.min(n - best_from);
    // SAFETY: the chunk lies in 0..n.
    best_from + unsafe { first(s, count, x.skip(best_from), best) }
}

/// The first element equal to `value`, or the first NaN where it is one; 0 where there is none.
#[inline(always)]
unsafe fn first<S: Simd>(s: S, n: usize, x: Source<S::T>, value: S::T) -> usize {
    let wanted = s.splat(value);
    let mut i = 0;
    while i < n {
        let len = (n - i).min(S::N);
        // SAFETY: elements i..i+len lie in 0..n.
        let v = unsafe {
            if x.inc == 1 {
                x.get::<S, false>(s, i, len)
            } else {
                x.get::<S, true>(s, i, len)
            }
        };
        let hits = if value.is_nan() {
            s.unordered(v, v)
        } else {
            s.eq(v, wanted)
        };
        let hits = s.bits(hits) & s.bits(s.first_lanes(len));
        if hits != 0 {
            return i + hits.trailing_zeros() as usize;
        }
        i += len;
    }
    0
}
