//! Variances of scaled elements: where those of the elements themselves overflow, or lose digits to underflow.

use super::{Backend, Recipe};
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
        let is_small = known.abs() < T::pow2(-T::MOMENT_EXPONENT / 4);
        if is_small && variance < T::SUMSQ_TINY {
            return Scaling::Up.known();
        }
        backend.sqrt(variance)
    }

    /// Returns what stands for this variance of one of many vectors, whose mean is not at hand, if it may have to be
    /// computed from scaled elements. It has a minus sign.
    #[inline(always)]
    pub(crate) fn doubtful<T: Element>(self, variance: T) -> Option<T> {
        if !variance.is_finite() {
            Some(T::NEG_INFINITY)
        } else if self == Self::StandardDeviation && variance < T::SUMSQ_TINY {
            Some((T::ZERO - T::ONE) * variance)
        } else {
            None
        }
    }

    /// Returns the result for a vector of `n` elements with this [doubtful](Recipe::doubtful) variance if it is easily seen
    /// that scaling makes no difference, as in most vectors of equal elements.
    #[inline(always)]
    pub(crate) fn undoubted<T: Element>(
        self,
        doubtful: T,
        n: usize,
        element: impl Fn(usize) -> T,
    ) -> Option<T> {
        if self != Self::StandardDeviation || doubtful == T::NEG_INFINITY {
            return None;
        }
        let is_large = |x: T| x.abs() >= T::pow2(2 - T::MOMENT_EXPONENT / 4);
        if is_large(element(0)) {
            // The mean is so near to any element that it is not small either.
            Some(doubtful.abs().sqrt())
        } else if (0..n).all(|i| element(i) == T::ZERO) {
            Some(T::ZERO)
        } else {
            None
        }
    }
}

/// How elements are scaled, by 2 to the power of [`Element::MOMENT_EXPONENT`].
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
            Self::Down => T::pow2(-T::MOMENT_EXPONENT),
            Self::Up => T::pow2(T::MOMENT_EXPONENT),
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
        mean.with_marks(true, sign | (scaling as u32) << 1)
    }

    #[inline(always)]
    fn read(known: T) -> Self {
        let marks = known.marks();
        Self {
            mean: known.with_marks(marks & 1 != 0, 0),
            scaling: if marks & 2 == 0 {
                Scaling::Down
            } else {
                Scaling::Up
            },
        }
    }
}

/// Returns the factor of the elements of a pass over scaled ones, and the parameter of its fold, from
/// [`Recipe::pass_param`]. Of the folds, only that of the distances from a mean has a parameter.
#[inline(always)]
pub fn scaled<T: Element>(param: T, about_mean: bool) -> (T, T) {
    if about_mean {
        let ScaledMean { mean, scaling } = ScaledMean::read(param);
        (scaling.factor(), mean)
    } else {
        (param, T::ZERO)
    }
}
