//! What is folded: how a lane takes an element, and how two lanes become one.
#![forbid(unsafe_code)]

use crate::element::Element;
use crate::scalar;
use crate::simd::Simd;

/// A fold.
pub trait Fold<S: Simd> {
    /// Whether `y` is a second vector; else it is the fold's parameter.
    const PAIR: bool = false;
    /// What a lane starts from.
    const START: S::T;
    /// A lane takes an element.
    fn step(s: S, acc: S::V, x: S::V, y: S::V) -> S::V;
    /// Two lanes, or two chunks, become one.
    fn combine(s: S, a: S::V, b: S::V) -> S::V;
}

/// One fold: its name, what it is, start, step and combination.
macro_rules! fold {
    ($(#[$doc:meta])* $Name:ident, pair $pair:literal, start $start:expr,
     |$s:ident, $acc:ident, $x:ident, $y:ident| $step:expr, $combine:path) => {
        $(#[$doc])*
        pub struct $Name;

        impl<S: Simd> Fold<S> for $Name {
            const PAIR: bool = $pair;
            const START: S::T = $start;
            #[inline(always)]
            fn step($s: S, $acc: S::V, $x: S::V, $y: S::V) -> S::V {
                $step
            }
            #[inline(always)]
            fn combine(s: S, a: S::V, b: S::V) -> S::V {
                $combine(s, a, b)
            }
        }
    };
}

fold!(
    /// Sum of x.
    Sum, pair false, start S::T::ZERO, |s, acc, x, _y| s.add(acc, x), Simd::add
);
fold!(
    /// Sum of |x|.
    AbsSum, pair false, start S::T::ZERO, |s, acc, x, _y| s.add(acc, s.abs(x)), Simd::add
);
fold!(
    /// Sum of x * x.
    SumSq, pair false, start S::T::ZERO, |s, acc, x, _y| s.fma(x, x, acc), Simd::add
);
fold!(
    /// Sum of (x * p)^2, p a power of two.
    ScaledSumSq, pair false, start S::T::ZERO,
    |s, acc, x, p| { let scaled = s.mul(x, p); s.fma(scaled, scaled, acc) }, Simd::add
);
fold!(
    /// Sum of (x - p)^2.
    DeviationSq, pair false, start S::T::ZERO,
    |s, acc, x, p| { let d = s.sub(x, p); s.fma(d, d, acc) }, Simd::add
);
fold!(
    /// Sum of e^(x - p), p at least x.
    ExpSum, pair false, start S::T::ZERO,
    |s, acc, x, p| s.add(acc, scalar::exp_nonpositive(s, s.sub(x, p))), Simd::add
);
fold!(
    /// Sum of x * y.
    Dot, pair true, start S::T::ZERO, |s, acc, x, y| s.fma(x, y, acc), Simd::add
);
fold!(
    /// Product of x.
    Product, pair false, start S::T::ONE, |s, acc, x, _y| s.mul(acc, x), Simd::mul
);
fold!(
    /// Least x.
    Min, pair false, start S::T::INFINITY, |s, acc, x, _y| scalar::minimum(s, acc, x), scalar::minimum
);
fold!(
    /// Greatest x.
    Max, pair false, start S::T::NEG_INFINITY, |s, acc, x, _y| scalar::maximum(s, acc, x), scalar::maximum
);
fold!(
    /// Greatest |x|.
    MaxAbs, pair false, start S::T::ZERO, |s, acc, x, _y| scalar::maximum(s, acc, s.abs(x)), scalar::maximum
);
