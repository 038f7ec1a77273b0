//! Chunks of a vector in memory, folded as two streams at once: the hardware prefetches each separately, so that more
//! cache lines are in flight than for a single stream.

use super::chunk::whole;
use super::fold::Accumulators;
use super::halving::halve_each;
use super::leaf::{has_nan, two_leaves};
use super::tree::MAX_ACCS;
use super::{Fold, chunk_len};
use crate::array::from_fn;
use crate::detect::usable_llc;
use crate::element::Element;
use crate::simd::Simd;

/// Chunks of a stream.
const HALF: usize = 64;
/// Chunks that are folded by one call.
pub const CHUNKS: usize = 2 * HALF;

/// Whether two chunks can be folded at once: not where registers are so small that the lanes of one chunk take many of
/// them, which would make the code for two long, or, with two accumulators, would spill.
#[inline(always)]
pub const fn folds_two_chunks<S: Simd, F: Fold<S>>() -> bool {
    S::HAS_SHAPE_LOOPS && !F::IS_LONG && S::R * F::Acc::COUNT <= 8
}

/// Whether [`two_streams`] pays for a vector of `n` elements at stride `inc`: from three eighths of the LLC on. A fold of
/// two vectors has two streams already.
#[inline(always)]
pub fn pays<S: Simd, F: Fold<S>>(n: usize, inc: isize) -> bool {
    let is_long = || n >= usable_llc() / 8 * 3 / size_of::<S::T>();
    folds_two_chunks::<S, F>() && !F::PAIR && inc == 1 && is_long()
}

/// Returns the results of [`CHUNKS`] whole chunks, in order, for each accumulator.
///
/// # Safety
/// `x` must be valid for the elements of these chunks.
#[inline(always)]
pub unsafe fn two_streams<S: Simd, F: Fold<S>>(
    s: S,
    x: *const S::T,
    param: S::T,
) -> [[S::T; CHUNKS]; MAX_ACCS] {
    let len = chunk_len::<S::T>();
    let mut results = [[S::T::ZERO; CHUNKS]; MAX_ACCS];
    for c in 0..HALF {
        let (low, high) = (x.wrapping_add(c * len), x.wrapping_add((HALF + c) * len));
        // SAFETY: both chunks lie in the caller's.
        let pair = unsafe { two_chunks::<S, F>(s, [low, high], param) };
        for (half, acc) in pair.iter().enumerate() {
            for (results, &v) in results.iter_mut().zip(acc.as_ref()) {
                results[half * HALF + c] = s.first(v);
            }
        }
    }
    results
}

/// Returns the results of two whole chunks, each in lane 0 of each accumulator.
///
/// # Safety
/// Both pointers must be valid for a whole chunk.
#[inline(always)]
unsafe fn two_chunks<S: Simd, F: Fold<S>>(s: S, x: [*const S::T; 2], param: S::T) -> [F::Acc; 2] {
    let (len, params) = (chunk_len::<S::T>(), [param; 2]);
    if <F::NonzeroResult as Fold<S>>::CHECKS_NAN {
        let [a, b] = two_leaves::<S, F::NonzeroResult>(s, len, x, x[0], params);
        let any_nan = has_nan(s, s.add(a.nan_acc, b.nan_acc));
        let a = halve_each::<S, F::NonzeroResult>(s, a.acc, len);
        let b = halve_each::<S, F::NonzeroResult>(s, b.acc, len);
        let is_zero = |acc: &F::Acc| s.first(acc.as_ref()[0]) == S::T::ZERO;
        let has_zero = <F::NonzeroResult as Fold<S>>::CHECKS_ZERO && (is_zero(&a) || is_zero(&b));
        if !(any_nan || has_zero) {
            return [a, b];
        }
        return from_fn(|c| F::Acc::splat(s.splat(whole::<S, F>(s, len, x[c]))));
    }
    let [a, b] = two_leaves::<S, F>(s, len, x, x[0], params);
    let a = halve_each::<S, F>(s, a.acc, len);
    [a, halve_each::<S, F>(s, b.acc, len)]
}
