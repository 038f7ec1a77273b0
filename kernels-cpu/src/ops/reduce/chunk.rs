//! Steps 1 and 2 of the canonical order: one chunk.

use super::Fold;
use super::leaf::{halve_lanes, has_nan, leaf};
use crate::element::Element;
use crate::ops::load;
use crate::simd::Simd;

/// Lane 0 holds the result of one chunk (steps 1 and 2).
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements.
#[inline(always)]
pub unsafe fn chunk<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if <F::Nonzero as Fold<S>>::NAN_APART {
            let quick = leaf::<S, F::Nonzero>(s, n, x, y, param);
            let v = halve_lanes::<S, F::Nonzero>(s, quick.value, n);
            let is_zero = <F::Nonzero as Fold<S>>::ZERO_APART && s.first(v) == S::T::ZERO;
            if !has_nan(s, quick.suspect) && !is_zero {
                return v;
            }
        }
        halve_lanes::<S, F>(s, leaf::<S, F>(s, n, x, y, param).value, n)
    }
}

/// [`chunk`] of at most N contiguous elements.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
pub unsafe fn one_register<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    let (v, second) = unsafe {
        let second = if F::PAIR { load(s, y, n) } else { param };
        (load(s, x, n), second)
    };
    let start = s.splat(F::START);
    let next = F::step(s, start, v, second);
    let lanes = if F::ZERO_IS_NEUTRAL {
        next
    } else {
        s.select(s.first_lanes(n), next, start)
    };
    halve_lanes::<S, F>(s, lanes, n)
}
