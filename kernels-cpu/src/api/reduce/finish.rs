//! The last steps of reductions: from what was folded to the result.
#![forbid(unsafe_code)]

use crate::element::Element;

/// The one NaN for all NaNs.
pub fn canonical<T: Element>(value: T) -> T {
    if value.is_nan() {
        T::CANONICAL_NAN
    } else {
        value
    }
}

/// The last step of sums: no -0 and one NaN.
pub fn finish_sum<T: Element>(value: T) -> T {
    canonical(value + T::ZERO)
}

/// The power of two by which `nrm2` scales, and its exponent, for a greatest absolute value that
/// is neither 0 nor infinite nor a NaN.
pub fn nrm2_scale<T: Element>(greatest: T) -> (T, i32) {
    let (least, most) = T::SCALE_EXPONENTS;
    let e = greatest.exponent().clamp(least, most);
    (T::pow2(-e), e)
}

/// Whether a sum of squares is neither lost to overflow nor to underflow.
pub fn nrm2_is_safe<T: Element>(sumsq: T) -> bool {
    sumsq >= T::SUMSQ_TINY && sumsq.is_finite()
}
