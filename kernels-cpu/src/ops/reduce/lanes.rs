//! Lanes in memory: a chunk that is folded in pieces.

use super::Fold;
use super::fold::start;
use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;

/// Folds `n` elements into lanes `from % LANES` and following, in turn. `lanes` holds the lanes of each accumulator, one
/// accumulator after the other.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements, and `lanes` for the lanes of each accumulator.
#[inline(always)]
pub unsafe fn fold_into_lanes<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::T,
    lanes: *mut S::T,
    from: usize,
) {
    let lane_count = <S::T as Element>::LANES;
    let param = s.splat(param);
    let (mut i, mut lane) = (0, from % lane_count);
    while i < n {
        let len = S::N.min(n - i).min(lane_count - lane);
        let mut acc = start::<S, F>(s);
        // SAFETY: the caller vouches for these elements and lanes.
        unsafe {
            for (a, acc) in acc.as_mut().iter_mut().enumerate() {
                *acc = load(s, lanes.add(a * lane_count + lane), len);
            }
            let second = if F::PAIR {
                load(s, y.add(i), len)
            } else {
                param
            };
            let next = F::step(s, acc, load(s, x.add(i), len), second);
            for (a, next) in next.as_ref().iter().enumerate() {
                store(s, lanes.add(a * lane_count + lane), len, *next);
            }
        }
        i += len;
        lane = (lane + len) % lane_count;
    }
}
