//! Variances of scaled elements, where the variance of the elements overflows or loses digits to underflow.

use super::{Backend, Recipe, canonical};
use crate::element::Element;

impl Recipe {
    /// [`Recipe::after_pass`] of a variance: of the elements after the second pass, when `known` is their mean; of scaled
    /// elements after the last.
    #[inline(always)]
    pub(super) fn after_variance<T: Element, B: Backend<T>>(
        self,
        pass: u32,
        known: T,
        variance: T,
        backend: B,
    ) -> T {
        let is_root = self == Self::StandardDeviation;
        if pass == 3 {
            let back: T = ScaledMean::read(known).scaling.opposite().factor();
            return if is_root {
                backend.sqrt(variance) * back
            } else {
                variance * back * back
            };
        }
        if !variance.is_finite() {
            return Scaling::Down.known();
        }
        if !is_root {
            return variance;
        }
        // Around a greater mean, elements that differ do so by numbers whose squares are normal.
        let is_small = known.abs() < T::pow2(-T::VARIANCE_EXPONENT / 4);
        if is_small && variance < T::SUMSQ_TINY {
            return Scaling::Up.known();
        }
        backend.sqrt(variance)
    }

    /// Returns the known value after pass number `pass` of one of many vectors, from the quotient of its sum. The mean is not
    /// at hand: a variance that may have to be computed from scaled elements gets a minus sign, or is minus infinity.
    #[inline(always)]
    pub(crate) fn known_of_many<T: Element>(self, pass: u32, quotient: T) -> T {
        match (self, pass) {
            (Self::Variance | Self::StandardDeviation, 0) => quotient,
            (Self::Variance | Self::StandardDeviation, _) if !quotient.is_finite() => {
                T::NEG_INFINITY
            }
            (Self::StandardDeviation, _) if quotient < T::SUMSQ_TINY => {
                (T::ZERO - T::ONE) * quotient
            }
            (Self::StandardDeviation, _) => quotient.sqrt(),
            (Self::Variance, _) => quotient,
            _ => canonical(quotient),
        }
    }

    /// Returns the result of one of many vectors, of `n` elements, from such a known value, if it is easily seen that scaling
    /// makes no difference. In most vectors of equal elements it is.
    #[inline(always)]
    pub(crate) fn result_of_many<T: Element>(
        self,
        known: T,
        n: usize,
        element: impl Fn(usize) -> T,
    ) -> Option<T> {
        if self != Self::StandardDeviation || known == T::NEG_INFINITY {
            return None;
        }
        let is_large = |x: T| x.abs() >= T::pow2(2 - T::VARIANCE_EXPONENT / 4);
        if is_large(element(0)) {
            // The mean is so near to any element that it is not small either.
            Some(known.abs().sqrt())
        } else if (0..n).all(|i| element(i) == T::ZERO) {
            Some(T::ZERO)
        } else {
            None
        }
    }
}

/// How elements are scaled, by 2 to the power of [`Element::VARIANCE_EXPONENT`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scaling {
    Down,
    Up,
}

impl Scaling {
    /// The known value that stands for it.
    #[inline(always)]
    fn known<T: Element>(self) -> T {
        match self {
            Self::Down => T::ZERO - T::ONE,
            Self::Up => T::ZERO - (T::ONE + T::ONE),
        }
    }

    #[inline(always)]
    pub fn of<T: Element>(known: T) -> Self {
        if known == Self::Down.known() {
            Self::Down
        } else {
            Self::Up
        }
    }

    #[inline(always)]
    fn opposite(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    #[inline(always)]
    pub fn factor<T: Element>(self) -> T {
        match self {
            Self::Down => T::pow2(-T::VARIANCE_EXPONENT),
            Self::Up => T::pow2(T::VARIANCE_EXPONENT),
        }
    }
}

/// A number near the mean of scaled elements, and how these were scaled. The known value that stands for both is negative: it
/// has the magnitude of the mean, except that the last two bits of its fraction are the sign of the mean and the scaling. A
/// number near the mean serves as well as the mean.
pub(super) struct ScaledMean<T> {
    mean: T,
    scaling: Scaling,
}

impl<T: Element> ScaledMean<T> {
    #[inline(always)]
    pub fn known(mean: T, scaling: Scaling) -> T {
        let sign = mean.is_negative() as u32;
        mean.with_low_bits(true, sign | (scaling as u32) << 1)
    }

    #[inline(always)]
    fn read(known: T) -> Self {
        let bits = known.low_bits();
        Self {
            mean: known.with_low_bits(bits & 1 != 0, 0),
            scaling: if bits & 2 == 0 {
                Scaling::Down
            } else {
                Scaling::Up
            },
        }
    }
}

/// Returns the factor of the elements of a pass over scaled ones, and the parameter of its fold, from
/// [`Recipe::pass_param`]. Only the fold of the distances from a mean has a parameter.
#[inline(always)]
pub fn scaled<T: Element>(param: T, about_mean: bool) -> (T, T) {
    if about_mean {
        let ScaledMean { mean, scaling } = ScaledMean::read(param);
        (scaling.factor(), mean)
    } else {
        (param, T::ZERO)
    }
}
