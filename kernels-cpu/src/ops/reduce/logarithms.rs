//! The last step of `logsumexp` for many vectors.

use crate::recipe::{Counts, CpuOfMany, Recipe};
use crate::simd::Simd;

/// Replaces the `n` sums of the second pass by the results: the compiler makes a loop over registers of the level from
/// the scalar recipe, whose logarithm has no branches.
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
            let result = RECIPE.after_pass(1, known, sum, Counts::of_many(1, 0), CpuOfMany);
            let needed = RECIPE.needs_pass(known);
            sums.add(j).write(if needed { result } else { known });
        }
    }
}
