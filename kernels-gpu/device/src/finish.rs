//! The last steps of a reduction, the same as on the CPU.

use crate::real::Real;
use diptych::backend::recipe;

/// Replaces any NaN by the canonical one. This must be the last step: GPU arithmetic on NaNs returns other NaN bits.
#[inline(always)]
pub fn canonical<T: Real>(value: T) -> T {
    recipe::canonical(value).constant()
}

/// Finishes a sum: turns -0 into +0, and any NaN into the canonical one.
#[inline(always)]
pub fn finish_sum<T: Real>(value: T) -> T {
    canonical(value + T::ZERO)
}
