//! Recipes of reductions: the scalar steps between the passes over the elements, and after the last. Vectors, rows and
//! columns on the CPU and the GPU kernels all use this source.
//!
//! A pass is a fold of all elements. After each pass, a recipe turns the result of the fold ([`Folded`]) into the *known
//! value*, one number. It decides whether a further pass is needed and gives the parameter of that pass; in the end it is the
//! result.
#![forbid(unsafe_code)]

mod scaled;

use crate::element::Element;
pub use scaled::scaled;
use scaled::{ScaledMean, Scaling};

/// The scalar steps of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// A sum, which ends with + (+0).
    Sum,
    /// The result of a fold as it is: products and extremes.
    Plain,
    /// A sum divided by the number of elements.
    Mean,
    /// First the mean; then the sums of the distances from it and of their squares. The squares are corrected for the
    /// rounding error of the mean (`squares_about_mean`), and divided by the number of elements minus `ddof`. If that is not
    /// finite, the same two passes follow over elements scaled by a power of two. In this case the known value has a minus
    /// sign until the end: it stands for a `Scaling` after the second pass, for a `ScaledMean` after the third.
    Variance,
    /// The square root of the variance. The further passes follow also if the variance may have lost digits to underflow.
    StandardDeviation,
    /// The square root of the sum of squares. If that sum has lost digits to overflow or underflow, two more passes
    /// follow: the largest absolute value, then the sum of the squares scaled by a power of two. In this case the known
    /// value is negative until the end: -1 after the first pass, minus the largest absolute value after the second.
    Norm,
    /// First the largest element; then the sum of exp(x - largest), whose logarithm is added to the largest.
    LogSumExp,
}

/// The result of a fold: one number; or two, of a fold that has two accumulators (else the second is 0).
#[derive(Clone, Copy, Debug)]
pub struct Folded<T>(pub T, pub T);

impl<T: Element> From<[T; 1]> for Folded<T> {
    #[inline(always)]
    fn from([value]: [T; 1]) -> Self {
        Self(value, T::ZERO)
    }
}

impl<T> From<[T; 2]> for Folded<T> {
    #[inline(always)]
    fn from([first, second]: [T; 2]) -> Self {
        Self(first, second)
    }
}

/// The numbers by which sums are divided.
#[derive(Clone, Copy, Debug)]
pub struct Divisors<T> {
    /// The number of elements.
    pub n: Divisor<T>,
    /// The number of elements minus `ddof`.
    pub freedom: Divisor<T>,
}

impl<T: Element> Divisors<T> {
    /// For one vector of `n` elements. `n` must be greater than `ddof` or 0.
    #[inline(always)]
    pub fn of_one(n: usize, ddof: usize) -> Self {
        Self {
            n: Divisor::of_one(n),
            freedom: Divisor::of_one(n.wrapping_sub(ddof)),
        }
    }

    /// For many vectors of `n` elements each. `n` must be greater than `ddof` or 0.
    #[inline(always)]
    pub fn of_many(n: usize, ddof: usize) -> Self {
        Self {
            n: Divisor::of_many(n),
            freedom: Divisor::of_many(n.wrapping_sub(ddof)),
        }
    }
}

/// A number that sums are divided by.
#[derive(Clone, Copy, Debug)]
pub struct Divisor<T> {
    by: T,
    /// 1 / by, if multiplication by it gives the same bits as the division; it is faster.
    inverse: Option<T>,
}

impl<T: Element> Divisor<T> {
    #[inline(always)]
    fn of_one(by: usize) -> Self {
        Self {
            by: T::from_count(by),
            inverse: None,
        }
    }

    #[inline(always)]
    fn of_many(by: usize) -> Self {
        let one = Self::of_one(by);
        // The inverse of a power of two is exact.
        let inverse = by.is_power_of_two().then(|| T::ONE / one.by);
        Self { inverse, ..one }
    }

    #[inline(always)]
    fn divide(self, value: T) -> T {
        match self.inverse {
            Some(inverse) => value * inverse,
            None => value / self.by,
        }
    }

    /// Divides the sums of many vectors, fewer than 2^32. Returns how many quotients are infinity or a NaN, which may have any
    /// bits. The choice between multiplication and division is outside the loops. A count vectorises well, a `bool` does not.
    #[inline(always)]
    pub(crate) fn divide_each(self, sums: &mut [T]) -> u32 {
        // Not a comparison with infinity: for NaNs, valgrind 3.19 gets its instruction (EQ_UQ) wrong.
        let is_not_finite = |quotient: T| (quotient * T::ZERO != T::ZERO) as u32;
        let mut count: u32 = 0;
        match self.inverse {
            Some(inverse) => {
                for sum in sums {
                    *sum = *sum * inverse;
                    count = count.wrapping_add(is_not_finite(*sum));
                }
            }
            None => {
                for sum in sums {
                    *sum = *sum / self.by;
                    count = count.wrapping_add(is_not_finite(*sum));
                }
            }
        }
        count
    }
}

/// The backend that runs a recipe.
pub trait Backend<T: Element>: Copy {
    /// Whether the folds of the backend return finished results: with +0 added to sums, and every NaN canonical.
    const FINISHED: bool = false;
    /// Returns the correctly rounded square root.
    #[inline(always)]
    fn sqrt(self, x: T) -> T {
        x.sqrt()
    }
    /// Replaces a NaN by the canonical NaN.
    #[inline(always)]
    fn canonical(self, value: T) -> T {
        canonical(value)
    }
}

/// The CPU, for one vector.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl<T: Element> Backend<T> for Cpu {}

/// The CPU, for many vectors at once: these kernels finish their results themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuOfMany;

impl<T: Element> Backend<T> for CpuOfMany {
    const FINISHED: bool = true;
}

impl Recipe {
    /// Returns the largest number of passes.
    #[inline(always)]
    pub const fn passes(self) -> u32 {
        match self {
            Self::Sum | Self::Plain | Self::Mean => 1,
            Self::LogSumExp => 2,
            Self::Norm => 3,
            Self::Variance | Self::StandardDeviation => 4,
        }
    }

    /// Returns the number of passes that nearly every vector needs. These are done for many vectors together.
    #[inline(always)]
    pub const fn usual_passes(self) -> u32 {
        match self {
            Self::Norm => 1,
            Self::Variance | Self::StandardDeviation => 2,
            _ => self.passes(),
        }
    }

    /// Returns the largest number of accumulators of a fold.
    #[inline(always)]
    pub(crate) const fn accumulators(self) -> usize {
        match self {
            Self::Variance | Self::StandardDeviation => 2,
            _ => 1,
        }
    }

    /// Returns whether the step after the second pass needs the known value from before it.
    #[inline(always)]
    pub const fn keeps_known(self) -> bool {
        matches!(self, Self::LogSumExp)
    }

    /// Returns whether the result of the fold is the result of the reduction, apart from the last step ([`finish_sum`]
    /// or [`canonical`]).
    #[inline(always)]
    pub const fn is_single_fold(self) -> bool {
        matches!(self, Self::Sum | Self::Plain)
    }

    /// Returns whether a vector with this known value needs pass number `pass`, which is not the first.
    #[inline(always)]
    pub fn needs_pass<T: Element>(self, pass: u32, known: T) -> bool {
        match self {
            Self::Sum | Self::Plain | Self::Mean => false,
            Self::Variance | Self::StandardDeviation => pass == 1 || known.is_negative(),
            Self::Norm => known < T::ZERO,
            Self::LogSumExp => known.is_finite(),
        }
    }

    /// Returns the parameter of pass number `pass`, for a vector that needs it. That of a pass over scaled elements is for
    /// [`scaled`].
    #[inline(always)]
    pub fn pass_param<T: Element>(self, pass: u32, known: T) -> T {
        match (self, pass) {
            (Self::Norm, _) => norm_scale(T::ZERO - known).0,
            (Self::Variance | Self::StandardDeviation, 2) => Scaling::of(known).factor(),
            _ => known,
        }
    }

    /// Returns the number of the fold of pass number `pass`, and whether its elements are scaled.
    #[inline(always)]
    pub(crate) const fn fold_of(self, pass: u32) -> (usize, bool) {
        match self {
            Self::Variance | Self::StandardDeviation if pass >= 2 => (pass as usize - 2, true),
            Self::Norm => (pass as usize, pass == 2),
            _ => (pass as usize, false),
        }
    }

    /// Returns whether sums are divided.
    #[inline(always)]
    pub(crate) const fn divides(self) -> bool {
        matches!(self, Self::Mean | Self::Variance | Self::StandardDeviation)
    }

    /// Returns the number that the sum of pass number `pass` is divided by; `None` for recipes that do not divide.
    #[inline(always)]
    pub(crate) fn divisor<T: Element>(
        self,
        pass: u32,
        divisors: Divisors<T>,
    ) -> Option<Divisor<T>> {
        match (self, pass) {
            (Self::Mean, _) | (Self::Variance | Self::StandardDeviation, 0 | 2) => Some(divisors.n),
            (Self::Variance | Self::StandardDeviation, _) => Some(divisors.freedom),
            _ => None,
        }
    }

    /// Returns the known value after pass number `pass`, from the one before it (`known`) and the result of its fold
    /// (`folded`). After the last pass it is the result.
    #[inline(always)]
    pub fn after_pass<T: Element, B: Backend<T>>(
        self,
        pass: u32,
        known: T,
        folded: Folded<T>,
        divisors: Divisors<T>,
        backend: B,
    ) -> T {
        let canonical = |value: T| backend.canonical(value);
        let finish = |value: T| if B::FINISHED { value } else { canonical(value) };
        let finish_sum = |value: T| {
            if B::FINISHED {
                value
            } else {
                canonical(value + T::ZERO)
            }
        };
        let Folded(folded, second) = folded;
        if let Some(divisor) = self.divisor(pass, divisors) {
            // The sign of a zero, and the bits of a NaN, in a sum of deviations or in their mean make no difference.
            return match (self, pass) {
                (Self::Variance | Self::StandardDeviation, 0) => divisor.divide(folded),
                (Self::Variance | Self::StandardDeviation, 2) => {
                    let mean = divisor.divide(folded);
                    // Else some element is infinite or a NaN.
                    if mean.is_finite() {
                        ScaledMean::known(mean, Scaling::of(known))
                    } else {
                        canonical(T::CANONICAL_NAN)
                    }
                }
                (Self::Variance | Self::StandardDeviation, _) => {
                    let squares = squares_about_mean(folded, second, divisors.n);
                    let variance = divisor.divide(squares);
                    self.after_variance(pass, known, variance, backend)
                }
                _ => canonical(divisor.divide(finish_sum(folded))),
            };
        }
        match (self, pass) {
            (Self::Plain, _) | (Self::LogSumExp, 0) => finish(folded),
            (Self::Sum | Self::Mean | Self::Variance | Self::StandardDeviation, _) => {
                finish_sum(folded)
            }
            (Self::LogSumExp, _) => canonical(known + finish_sum(folded).ln()),
            (Self::Norm, 0) => {
                let sumsq = finish_sum(folded);
                if sumsq >= T::SUMSQ_TINY && sumsq.is_finite() {
                    backend.sqrt(sumsq)
                } else {
                    T::ZERO - T::ONE
                }
            }
            (Self::Norm, 1) => {
                if folded == T::ZERO || !folded.is_finite() {
                    canonical(folded)
                } else {
                    T::ZERO - folded
                }
            }
            (Self::Norm, _) => {
                let (_, e) = norm_scale(T::ZERO - known);
                canonical(backend.sqrt(finish_sum(folded)) * T::pow2(e))
            }
        }
    }
}

/// The sum of the squared distances of n numbers from their mean, for one of many vectors; from the squared distances
/// from a number near the mean and the sum of these distances.
#[inline(always)]
fn squares_about_mean<T: Element>(squares: T, sum: T, n: Divisor<T>) -> T {
    let v = squares - sum * n.divide(sum);
    if squares == T::INFINITY {
        squares
    } else if v < T::ZERO {
        T::ZERO
    } else {
        v
    }
}

/// Replaces a NaN by the canonical NaN.
#[inline(always)]
pub fn canonical<T: Element>(value: T) -> T {
    if value.is_nan() {
        T::CANONICAL_NAN
    } else {
        value
    }
}

/// The last step of sums: adds +0, so that no sum is -0, and replaces a NaN by the canonical NaN.
#[inline(always)]
pub fn finish_sum<T: Element>(value: T) -> T {
    canonical(value + T::ZERO)
}

/// Returns the power of two by which `nrm2` scales elements, 2^-e, and e. The largest absolute value must not be 0,
/// infinite or a NaN.
#[inline(always)]
fn norm_scale<T: Element>(greatest: T) -> (T, i32) {
    let (least, most) = T::SCALE_EXPONENTS;
    let e = greatest.exponent().clamp(least, most);
    (T::pow2(-e), e)
}

/// The minimum of IEEE 754-2019: a NaN operand gives a NaN, -0 < +0.
#[inline(always)]
pub fn minimum<T: Element>(a: T, b: T) -> T {
    if a < b || a.is_nan() || (a == b && a.is_negative()) {
        a
    } else {
        b
    }
}

/// The maximum of IEEE 754-2019: a NaN operand gives a NaN, -0 < +0.
#[inline(always)]
pub fn maximum<T: Element>(a: T, b: T) -> T {
    if a > b || a.is_nan() || (a == b && !a.is_negative()) {
        a
    } else {
        b
    }
}
