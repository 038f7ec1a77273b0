//! The last steps of reductions, as on the CPU.

use crate::real::Real;
use diptych::backend::recipe;

/// The one NaN for all NaNs. It has to come last: on a GPU the sum of two of them is another.
#[inline(always)]
pub fn canonical<T: Real>(value: T) -> T {
    recipe::canonical(value).constant()
}

/// The last step of sums: no -0 and one NaN.
#[inline(always)]
pub fn finish_sum<T: Real>(value: T) -> T {
    canonical(value + T::ZERO)
}
