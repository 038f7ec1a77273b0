//! Recipes of reductions: what is done with the results of folds, between passes over the elements and at the end. One
//! source for vectors, rows and columns on the CPU, for the device, and for the tests' models.
#![forbid(unsafe_code)]

use crate::element::Element;

/// The scalar steps of a reduction. What is known of a vector between its passes is one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// What a fold adds up: sums end with + (+0).
    Sum,
    /// What a fold gives: products and extremes.
    Plain,
    /// A sum divided by the number of elements.
    Mean,
    /// The mean; then the sum of squared distances from it, divided by the number of elements less the degrees of
    /// freedom.
    Variance,
    /// The root of the sum of squares. Where that has lost digits to overflow or underflow, the greatest absolute value,
    /// then the sum of squares scaled by a power of two. Until the end a negative number stands for such a vector: -1, then
    /// minus the greatest absolute value.
    Norm,
    /// The greatest element; then the sum of exponentials relative to it, whose logarithm is added to it.
    LogSumExp,
}

/// The numbers by which sums are divided.
#[derive(Clone, Copy, Debug)]
pub struct Counts<T> {
    /// The elements.
    pub n: Divisor<T>,
    /// The elements less the degrees of freedom.
    pub freedom: Divisor<T>,
}

impl<T: Element> Counts<T> {
    /// Of one vector of `n` elements, which are more than `ddof` unless there are none.
    #[inline(always)]
    pub fn of_one(n: usize, ddof: usize) -> Self {
        Self {
            n: Divisor::of_one(n),
            freedom: Divisor::of_one(n.wrapping_sub(ddof)),
        }
    }

    /// The same of many vectors.
    #[inline(always)]
    pub fn of_many(n: usize, ddof: usize) -> Self {
        Self {
            n: Divisor::of_many(n),
            freedom: Divisor::of_many(n.wrapping_sub(ddof)),
        }
    }
}

/// A number that many are divided by.
#[derive(Clone, Copy, Debug)]
pub struct Divisor<T> {
    by: T,
    /// 1 / by, where a product with it has the bits of the quotient, and is faster.
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

    /// Divides the finished sums of many vectors. The choice between product and quotient is made once, outside the
    /// loops.
    pub(crate) fn divide_each(self, sums: &mut [T]) {
        match self.inverse {
            Some(inverse) => {
                for sum in sums {
                    *sum = canonical(*sum * inverse);
                }
            }
            None => {
                for sum in sums {
                    *sum = canonical(*sum / self.by);
                }
            }
        }
    }
}

/// What a recipe needs of the backend that runs it.
pub trait Backend<T: Element>: Copy {
    /// Whether the results of folds are finished already: +0 added to sums, every NaN the canonical one.
    const FINISHED: bool = false;
    /// The correctly rounded square root.
    #[inline(always)]
    fn sqrt(self, x: T) -> T {
        x.sqrt()
    }
    /// The one NaN for all NaNs.
    #[inline(always)]
    fn canonical(self, value: T) -> T {
        canonical(value)
    }
}

/// The CPU.
#[derive(Clone, Copy, Debug)]
pub struct Cpu;

impl<T: Element> Backend<T> for Cpu {}

/// The CPU for many vectors at once, whose kernels finish their results themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuOfMany;

impl<T: Element> Backend<T> for CpuOfMany {
    const FINISHED: bool = true;
}

impl Recipe {
    /// How many passes there are.
    #[inline(always)]
    pub const fn passes(self) -> u32 {
        match self {
            Self::Sum | Self::Plain | Self::Mean => 1,
            Self::Variance | Self::LogSumExp => 2,
            Self::Norm => 3,
        }
    }

    /// How many of them nearly every vector takes: these are worth taking by many vectors together.
    #[inline(always)]
    pub const fn usual_passes(self) -> u32 {
        match self {
            Self::Norm => 1,
            _ => self.passes(),
        }
    }

    /// Whether what follows the second pass needs what was known before it.
    #[inline(always)]
    pub const fn keeps(self) -> bool {
        matches!(self, Self::LogSumExp)
    }

    /// Whether a fold's result is the reduction's but for the one NaN that stands for all.
    #[inline(always)]
    pub const fn is_fold(self) -> bool {
        matches!(self, Self::Sum | Self::Plain)
    }

    /// Whether a vector of which this is known takes a further pass.
    #[inline(always)]
    pub fn wants<T: Element>(self, known: T) -> bool {
        match self {
            Self::Sum | Self::Plain | Self::Mean => false,
            Self::Variance => true,
            Self::Norm => known < T::ZERO,
            Self::LogSumExp => known.is_finite(),
        }
    }

    /// The parameter of the next pass of a vector that takes one.
    #[inline(always)]
    pub fn param<T: Element>(self, known: T) -> T {
        match self {
            Self::Norm => norm_scale(T::ZERO - known).0,
            _ => known,
        }
    }

    /// Whether sums are divided.
    #[inline(always)]
    pub(crate) const fn divides(self) -> bool {
        matches!(self, Self::Mean | Self::Variance)
    }

    /// What the sum of pass number `pass` is divided by; `None` for recipes that do not divide.
    #[inline(always)]
    pub(crate) fn divisor<T: Element>(self, pass: u32, counts: Counts<T>) -> Option<Divisor<T>> {
        match (self, pass) {
            (Self::Mean, _) | (Self::Variance, 0) => Some(counts.n),
            (Self::Variance, _) => Some(counts.freedom),
            _ => None,
        }
    }

    /// What is known after pass number `pass`, whose fold gave `folded`: in the end, the result.
    #[inline(always)]
    pub fn after<T: Element, B: Backend<T>>(
        self,
        pass: u32,
        known: T,
        folded: T,
        counts: Counts<T>,
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
        if let Some(divisor) = self.divisor(pass, counts) {
            let quotient = divisor.divide(finish_sum(folded));
            return if pass + 1 < self.passes() {
                quotient
            } else {
                canonical(quotient)
            };
        }
        match (self, pass) {
            (Self::Plain, _) | (Self::LogSumExp, 0) => finish(folded),
            (Self::Sum | Self::Mean | Self::Variance, _) => finish_sum(folded),
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

/// The one NaN for all NaNs.
#[inline(always)]
pub fn canonical<T: Element>(value: T) -> T {
    if value.is_nan() {
        T::CANONICAL_NAN
    } else {
        value
    }
}

/// The last step of sums: no -0 and one NaN.
#[inline(always)]
pub fn finish_sum<T: Element>(value: T) -> T {
    canonical(value + T::ZERO)
}

/// The power of two by which the norm scales, and its exponent, for a greatest absolute value that is neither 0 nor
/// infinite nor a NaN.
#[inline(always)]
fn norm_scale<T: Element>(greatest: T) -> (T, i32) {
    let (least, most) = T::SCALE_EXPONENTS;
    let e = greatest.exponent().clamp(least, most);
    (T::pow2(-e), e)
}

/// IEEE 754-2019 minimum: NaN wins, -0 < +0.
#[inline(always)]
pub fn minimum<T: Element>(a: T, b: T) -> T {
    if a < b || a.is_nan() || (a == b && a.is_negative()) {
        a
    } else {
        b
    }
}

/// IEEE 754-2019 maximum: NaN wins, -0 < +0.
#[inline(always)]
pub fn maximum<T: Element>(a: T, b: T) -> T {
    if a > b || a.is_nan() || (a == b && !a.is_negative()) {
        a
    } else {
        b
    }
}
