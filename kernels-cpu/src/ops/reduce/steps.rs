//! Steps of recipes for many vectors: the compiler makes loops over registers of the level from their scalar code.

use crate::recipe::{CpuOfMany, Divisor, Divisors, Recipe};
use crate::simd::Simd;

/// Replaces `n` sums by their quotients, and returns how many of these are infinity or a NaN.
///
/// # Safety
/// `sums` must be valid for `n` elements, fewer than 2^32.
#[inline(always)]
pub unsafe fn divide_each<S: Simd>(
    _s: S,
    n: usize,
    divisor: Divisor<S::T>,
    sums: *mut S::T,
) -> u32 {
    // SAFETY: the caller vouches for the elements.
    divisor.divide_each(unsafe { core::slice::from_raw_parts_mut(sums, n) })
}

/// Replaces the `n` sums of the second pass of `logsumexp` by the results.
///
/// # Safety
/// `known`, the values after the first pass, and `sums` must be valid for `n` elements.
#[inline(always)]
pub unsafe fn add_logarithms<S: Simd>(_s: S, n: usize, known: *const S::T, sums: *mut S::T) {
    const RECIPE: Recipe = Recipe::LogSumExp;
    for j in 0..n {
        // SAFETY: the caller vouches for element j.
        unsafe {
            let (known, sum) = (*known.add(j), [*sums.add(j)].into());
            let result = RECIPE.after_pass(1, known, sum, Divisors::of_many(1, 0), CpuOfMany);
            let needed = RECIPE.needs_pass(1, known);
            sums.add(j).write(if needed { result } else { known });
        }
    }
}
