//! The reductions: one to three passes, and what becomes of their results.

use super::pass::{First, Of, Pass};
use super::value::{Found, Value};
use crate::finish::{canonical, finish_sum};
use crate::gpu::{Vector, Word};
use crate::real::Real;
use diptych::panel::finish::{nrm2_is_safe, nrm2_scale};
use diptych::panel::folds;

/// A reduction of a row. Between passes, what is known of the row is one `Out`.
pub trait Operation<T: Real>: Copy {
    /// What passes fold.
    type Value: Value;
    /// What is written.
    type Out: Word + Default;
    /// How many of the three passes there are.
    const PASSES: u32 = 1;
    /// Whether there is never a second row.
    const ONE_ROW: bool = false;
    /// The first pass.
    type First: Pass<T, Value = Self::Value>;
    /// The second.
    type Second: Pass<T, Value = Self::Value>;
    /// The third.
    type Third: Pass<T, Value = Self::Value>;

    /// Whether a pass after the first is needed for a row.
    #[inline(always)]
    fn wants(self, _pass: u32, _known: Self::Out) -> bool {
        true
    }
    /// The parameter of a pass after the first.
    #[inline(always)]
    fn param(self, _pass: u32, _known: Self::Out) -> T {
        T::ZERO
    }
    /// What is known after a pass of a row, whose result goes to `out`: after the last, the result.
    ///
    /// # Safety
    /// The operation may read `out`, and what it carries for the row.
    unsafe fn done(
        self,
        pass: u32,
        known: Self::Out,
        value: Self::Value,
        row: u64,
        out: *mut Self::Out,
    ) -> Self::Out;
}

/// A reduction that is made from the number of elements, and of degrees of freedom.
pub trait Counted {
    /// Of rows of `n` elements.
    fn new(n: u64, ddof: u64) -> Self;
}

macro_rules! operation {
    ($(#[$doc:meta])* $Name:ident, $Value:ty => $Out:ty,
     $passes:literal ($First:ty, $Second:ty, $Third:ty),
     |$s:ident, $pass:ident, $known:ident, $v:ident| $done:expr
     $(, one row $one_row:literal)?
     $(, wants |$wp:ident, $wk:ident| $wants:expr, param |$pp:ident, $pk:ident| $param:expr)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[allow(dead_code)]
        pub struct $Name {
            n: u64,
            ddof: u64,
        }

        impl Counted for $Name {
            #[inline(always)]
            fn new(n: u64, ddof: u64) -> Self {
                Self { n, ddof }
            }
        }

        impl<T: Real> Operation<T> for $Name {
            type Value = $Value;
            type Out = $Out;
            const PASSES: u32 = $passes;
            $(const ONE_ROW: bool = $one_row;)?
            type First = $First;
            type Second = $Second;
            type Third = $Third;

            $(
                #[inline(always)]
                fn wants(self, $wp: u32, $wk: $Out) -> bool {
                    $wants
                }
                #[inline(always)]
                fn param(self, $pp: u32, $pk: $Out) -> T {
                    $param
                }
            )?
            #[inline(always)]
            unsafe fn done(self, $pass: u32, $known: $Out, $v: $Value, _row: u64, _out: *mut $Out) -> $Out {
                let $s = self;
                $done
            }
        }
    };
    ($(#[$doc:meta])* $Name:ident = $fold:ident, |$v:ident| $done:expr $(, one row $one_row:literal)?) => {
        operation!(
            $(#[$doc])* $Name, T => T, 1 (Of<folds::$fold>, Of<folds::$fold>, Of<folds::$fold>),
            |_s, _pass, _known, $v| $done $(, one row $one_row)?
        );
    };
}

operation!(
    /// The sum.
    Sum = Sum, |v| finish_sum(v)
);
operation!(
    /// The sum of absolute values.
    Asum = AbsSum, |v| finish_sum(v)
);
operation!(
    /// The sum of squares.
    Sumsq = SumSq, |v| finish_sum(v)
);
operation!(
    /// The product.
    Prod = Product, |v| canonical(v)
);
operation!(
    /// The least element.
    Min = Min, |v| canonical(v)
);
operation!(
    /// The greatest element.
    Max = Max, |v| canonical(v)
);
operation!(
    /// The dot product with a second row.
    Dot = Dot, |v| finish_sum(v), one row true
);
operation!(
    /// The mean.
    Mean, T => T, 1 (Of<folds::Sum>, Of<folds::Sum>, Of<folds::Sum>),
    |s, _pass, _known, v| canonical(finish_sum(v) / T::from_count(s.n as usize))
);
operation!(
    /// The variance: the mean, then the squared distances from it.
    Var, T => T, 2 (Of<folds::Sum>, Of<folds::DeviationSq>, Of<folds::Sum>),
    |s, pass, _known, v| {
        if pass == 0 {
            finish_sum(v) / T::from_count(s.n as usize)
        } else {
            canonical(finish_sum(v) / T::from_count((s.n - s.ddof) as usize))
        }
    },
    wants |_pass, _known| true,
    param |_pass, mean| mean
);
operation!(
    /// log of the sum of exponentials: the greatest element, then the sum relative to it.
    Logsumexp, T => T, 2 (Of<folds::Max>, Of<folds::ExpSum>, Of<folds::Max>),
    |_s, pass, greatest, v| {
        if pass == 0 {
            canonical(v)
        } else {
            canonical(greatest + finish_sum(v).ln())
        }
    },
    wants |_pass, greatest| greatest.is_finite(),
    param |_pass, greatest| greatest
);
operation!(
    /// The Euclidean norm. Where the plain sum of squares is not safe, a negative number stands for the row
    /// until the end: -1, then minus the greatest absolute value.
    Nrm2, T => T, 3 (Of<folds::SumSq>, Of<folds::MaxAbs>, Of<folds::ScaledSumSq>),
    |_s, pass, known, v| match pass {
        0 => {
            let sumsq = finish_sum(v);
            if nrm2_is_safe(sumsq) {
                Vector::sqrt(sumsq)
            } else {
                T::ZERO - T::ONE
            }
        }
        1 => {
            if v == T::ZERO || !v.is_finite() {
                canonical(v)
            } else {
                T::ZERO - v
            }
        }
        _ => {
            let (_, e) = nrm2_scale(T::ZERO - known);
            canonical(Vector::sqrt(finish_sum(v)) * T::pow2(e))
        }
    },
    wants |_pass, known| known < T::ZERO,
    param |_pass, known| nrm2_scale(T::ZERO - known).0
);
operation!(
    /// Where the least element is.
    Argmin, Found<T> => i64, 1 (First<false>, First<false>, First<false>),
    |_s, _pass, _known, found| found.place
);
operation!(
    /// Where the greatest element is.
    Argmax, Found<T> => i64, 1 (First<true>, First<true>, First<true>),
    |_s, _pass, _known, found| found.place
);
