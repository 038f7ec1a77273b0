//! Chunks of a vector in memory, two runs of them at once: the hardware reads ahead of each by itself, and
//! so has more lines under way than for one.

use super::chunk::whole;
use super::leaf::{halve_lanes, has_nan, two_leaves};
use super::{Fold, chunk_len};
use crate::element::{Element, Storage};
use crate::simd::{Access, Simd};

/// Chunks of a run.
const RUN: usize = 64;
/// Chunks that are folded by one call.
pub const RUNS: usize = 2 * RUN;

/// Bytes of a vector from which on two runs are faster than one.
const LEAST: usize = 12 << 20;

/// Whether two chunks at once pay: not where so many registers hold the lanes of one that the code for two
/// would be long.
#[inline(always)]
pub fn fit<S: Simd, F: Fold<S>>() -> bool {
    S::MANY_LOOPS && !F::IS_LONG
}

/// Whether the chunks of `n` elements at stride `inc` are taken so. Two vectors are two streams already.
#[inline(always)]
pub fn pay<S: Simd, F: Fold<S>, M>(n: usize, inc: isize) -> bool {
    fit::<S, F>() && !F::PAIR && inc == 1 && n >= LEAST / size_of::<M>()
}

/// The results of `RUNS` whole chunks, in their order.
///
/// # Safety
/// `x` must be valid for their elements.
#[inline(always)]
pub unsafe fn runs<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    x: *const M,
    param: S::T,
) -> [S::T; RUNS] {
    let len = chunk_len::<S::T>();
    let mut results = [S::T::ZERO; RUNS];
    for c in 0..RUN {
        let (low, high) = (x.wrapping_add(c * len), x.wrapping_add((RUN + c) * len));
        // SAFETY: both chunks lie in the caller's.
        let pair = unsafe { two::<S, F, M>(s, [low, high], param) };
        results[c] = s.first(pair[0]);
        results[RUN + c] = s.first(pair[1]);
    }
    results
}

/// The results of two whole chunks.
///
/// # Safety
/// Both must be valid.
#[inline(always)]
unsafe fn two<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    x: [*const M; 2],
    param: S::T,
) -> [S::V; 2] {
    let (len, params) = (chunk_len::<S::T>(), [param; 2]);
    // SAFETY: as the caller's.
    unsafe {
        if <F::Nonzero as Fold<S>>::NAN_APART {
            let [a, b] = two_leaves::<S, F::Nonzero, M>(s, len, x, x[0], params);
            let nan_acc = has_nan(s, s.add(a.nan_acc, b.nan_acc));
            let a = halve_lanes::<S, F::Nonzero>(s, a.value, len);
            let b = halve_lanes::<S, F::Nonzero>(s, b.value, len);
            let zero = <F::Nonzero as Fold<S>>::ZERO_APART
                && (s.first(a) == S::T::ZERO || s.first(b) == S::T::ZERO);
            if !(nan_acc || zero) {
                return [a, b];
            }
            return x.map(|x| s.splat(whole::<S, F, M>(s, len, x)));
        }
        let [a, b] = two_leaves::<S, F, M>(s, len, x, x[0], params);
        let a = halve_lanes::<S, F>(s, a.value, len);
        [a, halve_lanes::<S, F>(s, b.value, len)]
    }
}
