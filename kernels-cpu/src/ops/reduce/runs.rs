//! Chunks of a vector in memory, two runs of them at once: the hardware reads ahead of each by itself, and
//! so has more lines under way than for one.

use super::leaf::{halve_lanes, has_nan, two_leaves};
use super::{Fold, chunk, chunk_len};
use crate::element::Element;
use crate::simd::Simd;

/// Chunks of a run.
const RUN: usize = 64;
/// Chunks that are folded by one call.
pub const RUNS: usize = 2 * RUN;

/// Whether a fold of `n` elements at stride `inc` takes its chunks so: the lanes of both runs must fit into the
/// registers.
#[inline(always)]
pub fn pays<S: Simd, F: Fold<S>>(n: usize, inc: isize) -> bool {
    /// Bytes from which on it pays.
    const LEAST: usize = 12 << 20;
    S::R <= 8 && !F::PAIR && !F::IS_LONG && inc == 1 && n >= LEAST / size_of::<S::T>()
}

/// The results of `RUNS` whole chunks, in their order.
///
/// # Safety
/// `x` must be valid for their elements.
#[inline(always)]
pub unsafe fn runs<S: Simd, F: Fold<S>>(s: S, x: *const S::T, param: S::V) -> [S::T; RUNS] {
    let len = chunk_len::<S::T>();
    let mut results = [S::T::ZERO; RUNS];
    for c in 0..RUN {
        let (low, high) = (x.wrapping_add(c * len), x.wrapping_add((RUN + c) * len));
        // SAFETY: both chunks lie in the caller's.
        let pair = unsafe { two::<S, F>(s, [low, high], param) };
        results[c] = s.first(pair[0]);
        results[RUN + c] = s.first(pair[1]);
    }
    results
}

/// [`chunk`] of two whole ones.
///
/// # Safety
/// Both must be valid.
#[inline(always)]
unsafe fn two<S: Simd, F: Fold<S>>(s: S, x: [*const S::T; 2], param: S::V) -> [S::V; 2] {
    let len = chunk_len::<S::T>();
    // SAFETY: as the caller's.
    unsafe {
        if <F::Nonzero as Fold<S>>::NAN_APART {
            let [a, b] = two_leaves::<S, F::Nonzero>(s, x, param);
            let suspect = has_nan(s, s.add(a.suspect, b.suspect));
            let a = halve_lanes::<S, F::Nonzero>(s, a.value, len);
            let b = halve_lanes::<S, F::Nonzero>(s, b.value, len);
            let is_zero = s.first(a) == S::T::ZERO || s.first(b) == S::T::ZERO;
            if !suspect && !(<F::Nonzero as Fold<S>>::ZERO_APART && is_zero) {
                return [a, b];
            }
            let again = chunk::<S, F>(s, len, x[0], x[0], param);
            return [again, chunk::<S, F>(s, len, x[1], x[1], param)];
        }
        let [a, b] = two_leaves::<S, F>(s, x, param);
        let a = halve_lanes::<S, F>(s, a.value, len);
        [a, halve_lanes::<S, F>(s, b.value, len)]
    }
}
