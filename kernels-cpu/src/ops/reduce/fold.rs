//! The folds: how an element is folded into the accumulators of a lane, and how two lanes are combined.
#![forbid(unsafe_code)]

use crate::element::Element;
use crate::scalar;
use crate::simd::Simd;

/// The accumulators of a lane: an array of one register or two.
pub trait Accumulators<S: Simd>: Copy + AsRef<[S::V]> + AsMut<[S::V]> {
    /// How many.
    const COUNT: usize;
    /// All lanes of a chunk, for each accumulator.
    type Lanes: Copy + AsRef<[S::Lanes]> + AsMut<[S::Lanes]>;
    /// `v` in each accumulator.
    fn splat(v: S::V) -> Self;
    /// `v` in all lanes of each accumulator.
    fn lanes(s: S, v: S::V) -> Self::Lanes;
}

impl<S: Simd, const COUNT: usize> Accumulators<S> for [S::V; COUNT] {
    const COUNT: usize = COUNT;
    type Lanes = [S::Lanes; COUNT];
    #[inline(always)]
    fn splat(v: S::V) -> Self {
        [v; COUNT]
    }
    #[inline(always)]
    fn lanes(s: S, v: S::V) -> Self::Lanes {
        [s.lanes(v); COUNT]
    }
}

/// A reduction of elements to one value, or to two values that are computed in one walk, lane by lane.
pub trait Fold<S: Simd> {
    /// The accumulators of a lane. Their lanes and chunks are combined in the same way.
    type Acc: Accumulators<S>;
    /// The same fold for elements without NaN (infinities are allowed), if that is faster: for many short vectors.
    type NanFree: Fold<S, Acc = Self::Acc>;
    /// The same fold for elements without NaN and a result that is not zero, if that is faster: for long vectors.
    type NonzeroResult: Fold<S, Acc = Self::Acc>;
    /// A fold of one accumulator with the same `combine` and `end`. Code that folds no elements is compiled for it alone.
    type Tree: Fold<S, Acc = [S::V; 1]>;
    /// Whether the result is unspecified if an element is NaN, so that callers must check for NaN.
    const CHECKS_NAN: bool = false;
    /// Whether the sign of a zero result is unspecified, so that callers must check for zero.
    const CHECKS_ZERO: bool = false;
    /// Whether `y` is an element of a second vector; else it is the fold's parameter.
    const PAIR: bool = false;
    /// Whether folding +0 into a lane leaves it unchanged, except for the sign of a zero in a sum.
    const ZERO_IS_NEUTRAL: bool = false;
    /// Whether a step has too many instructions to be unrolled over registers.
    const IS_LONG: bool = false;
    /// Whether few rows of columns have no loops of their own, which would take much code for an operation that is seldom
    /// called on them.
    const IS_COMPACT: bool = Self::IS_LONG;
    /// Whether the order of elements does not change the result.
    const ANY_ORDER: bool = false;
    /// The start value of a lane.
    const START: S::T;
    /// Folds an element into a lane.
    fn step(s: S, acc: Self::Acc, x: S::V, y: S::V) -> Self::Acc;
    /// Returns a lane after its first element.
    #[inline(always)]
    fn first(s: S, x: S::V, y: S::V) -> Self::Acc {
        Self::step(s, start::<S, Self>(s), x, y)
    }
    /// Combines an accumulator of two lanes, or of two chunks.
    fn combine(s: S, a: S::V, b: S::V) -> S::V;
    /// The last step except for the canonical NaN: sums add +0.
    #[inline(always)]
    fn end(_s: S, v: S::V) -> S::V {
        v
    }
    /// Returns the result of `n` elements, with the last step, from the accumulators.
    #[inline(always)]
    fn result(s: S, acc: Self::Acc, _n: usize) -> S::V {
        finish::<S, Self>(s, acc.as_ref()[0])
    }
}

/// A lane without an element.
#[inline(always)]
pub fn start<S: Simd, F: Fold<S> + ?Sized>(s: S) -> F::Acc {
    F::Acc::splat(s.splat(F::START))
}

/// Combines two lanes, or two chunks.
#[inline(always)]
pub fn combine<S: Simd, F: Fold<S>>(s: S, mut a: F::Acc, b: F::Acc) -> F::Acc {
    for (a, b) in a.as_mut().iter_mut().zip(b.as_ref()) {
        *a = F::combine(s, *a, *b);
    }
    a
}

/// The accumulators of `a` in the lanes of `m`, of `b` in the others.
#[inline(always)]
pub fn select<S: Simd, A: Accumulators<S>>(s: S, m: S::M, a: A, mut b: A) -> A {
    for (a, b) in a.as_ref().iter().zip(b.as_mut()) {
        *b = s.select(m, *a, *b);
    }
    b
}

/// The last step of an accumulator: sums are never -0, and every NaN becomes the canonical one.
#[inline(always)]
pub fn finish<S: Simd, F: Fold<S> + ?Sized>(s: S, v: S::V) -> S::V {
    s.canonical(F::end(s, v))
}

/// Defines a sum: its name, the constants that are true for it, and its step.
macro_rules! sum {
    ($(#[$doc:meta])* $Name:ident, $($Is:ident)*, |$s:ident, $acc:ident, $x:ident, $y:ident| $step:expr) => {
        $(#[$doc])*
        pub struct $Name;

        impl<S: Simd> Fold<S> for $Name {
            type Acc = [S::V; 1];
            type NanFree = Self;
            type NonzeroResult = Self;
            type Tree = Sum;
            $(const $Is: bool = true;)*
            const START: S::T = S::T::ZERO;
            #[inline(always)]
            fn step($s: S, [$acc]: [S::V; 1], $x: S::V, $y: S::V) -> [S::V; 1] {
                [$step]
            }
            #[inline(always)]
            fn combine(s: S, a: S::V, b: S::V) -> S::V {
                s.add(a, b)
            }
            #[inline(always)]
            fn end(s: S, v: S::V) -> S::V {
                s.add(v, s.splat(S::T::ZERO))
            }
        }
    };
}

sum!(
    /// Sum of x.
    Sum, ZERO_IS_NEUTRAL, |s, acc, x, _y| s.add(acc, x)
);
sum!(
    /// Sum of |x|.
    AbsSum, ZERO_IS_NEUTRAL, |s, acc, x, _y| s.add(acc, s.abs(x))
);
sum!(
    /// Sum of x * x.
    SumSq, ZERO_IS_NEUTRAL, |s, acc, x, _y| s.fma(x, x, acc)
);
sum!(
    /// Sum of e^(x - p), p at least x.
    ExpSum, IS_LONG,
    |s, acc, x, p| s.add(acc, scalar::exp_nonpositive(s, s.sub(x, p)))
);
sum!(
    /// Sum of x * y.
    Dot, PAIR ZERO_IS_NEUTRAL, |s, acc, x, y| s.fma(x, y, acc)
);

sum!(
    /// Sum of (x - y)^2.
    DifferenceSq, PAIR ZERO_IS_NEUTRAL,
    |s, acc, x, y| { let d = s.sub(x, y); s.fma(d, d, acc) }
);

sum!(
    /// How many x are not 0, counted in the type of arithmetic.
    Nonzero, IS_COMPACT ZERO_IS_NEUTRAL,
    |s, acc, x, _y| {
        let zero = s.splat(S::T::ZERO);
        s.add(acc, s.select(s.eq(x, zero), zero, s.splat(S::T::ONE)))
    }
);

/// Sums of (x - p)^2 and of x - p. The result of many vectors is the sum of squared distances from their mean, of which
/// p is an approximation.
pub struct Deviations;

impl<S: Simd> Fold<S> for Deviations {
    type Acc = [S::V; 2];
    type NanFree = Self;
    type NonzeroResult = Self;
    type Tree = Sum;
    const START: S::T = S::T::ZERO;
    #[inline(always)]
    fn step(s: S, [squares, sum]: [S::V; 2], x: S::V, p: S::V) -> [S::V; 2] {
        let d = s.sub(x, p);
        [s.fma(d, d, squares), s.add(sum, d)]
    }
    #[inline(always)]
    fn first(s: S, x: S::V, p: S::V) -> [S::V; 2] {
        let d = s.sub(x, p);
        [s.mul(d, d), d]
    }
    #[inline(always)]
    fn combine(s: S, a: S::V, b: S::V) -> S::V {
        s.add(a, b)
    }
    #[inline(always)]
    fn end(s: S, v: S::V) -> S::V {
        s.add(v, s.splat(S::T::ZERO))
    }
    #[inline(always)]
    fn result(s: S, [squares, sum]: [S::V; 2], n: usize) -> S::V {
        let v = scalar::squares_about_mean(s, squares, sum, s.splat(S::T::from_count(n)));
        s.canonical(v)
    }
}

/// Product of x.
pub struct Product;

impl<S: Simd> Fold<S> for Product {
    type Acc = [S::V; 1];
    type NanFree = Self;
    type NonzeroResult = Self;
    type Tree = Self;
    const START: S::T = S::T::ONE;
    #[inline(always)]
    fn step(s: S, [acc]: [S::V; 1], x: S::V, _y: S::V) -> [S::V; 1] {
        [s.mul(acc, x)]
    }
    #[inline(always)]
    fn combine(s: S, a: S::V, b: S::V) -> S::V {
        s.mul(a, b)
    }
}

/// Defines an extreme: its name, its faster variants, the constants that are true for it, its start value, what is
/// compared, and how.
macro_rules! extreme {
    ($(#[$doc:meta])* $Name:ident, ($NanFree:ident, $NonzeroResult:ident), $($Is:ident)*, start $start:expr,
     |$s:ident, $x:ident| $of:expr, $compare:path) => {
        $(#[$doc])*
        pub struct $Name;

        impl<S: Simd> Fold<S> for $Name {
            type Acc = [S::V; 1];
            type NanFree = $NanFree;
            type NonzeroResult = $NonzeroResult;
            type Tree = Self;
            const ANY_ORDER: bool = true;
            $(const $Is: bool = true;)*
            const START: S::T = $start;
            #[inline(always)]
            fn step($s: S, [acc]: [S::V; 1], $x: S::V, _y: S::V) -> [S::V; 1] {
                [$compare($s, acc, $of)]
            }
            #[inline(always)]
            fn first($s: S, $x: S::V, _y: S::V) -> [S::V; 1] {
                if <Self as Fold<S>>::CHECKS_NAN {
                    return [$of];
                }
                [$compare($s, $s.splat(<Self as Fold<S>>::START), $of)]
            }
            #[inline(always)]
            fn combine(s: S, a: S::V, b: S::V) -> S::V {
                $compare(s, a, b)
            }
        }
    };
}

extreme!(
    /// Least x.
    Min, (NanFreeMin, NonzeroMin), , start S::T::INFINITY, |s, x| x, scalar::minimum
);
extreme!(
    /// Least x, without NaN.
    NanFreeMin, (NanFreeMin, NonzeroMin), CHECKS_NAN, start S::T::INFINITY, |s, x| x,
    Simd::min_ordered
);
extreme!(
    /// Least x, without NaN; a zero may have either sign.
    NonzeroMin, (NanFreeMin, NonzeroMin), CHECKS_NAN CHECKS_ZERO, start S::T::INFINITY, |s, x| x,
    Simd::min_or_second
);
extreme!(
    /// Greatest x.
    Max, (NanFreeMax, NonzeroMax), , start S::T::NEG_INFINITY, |s, x| x, scalar::maximum
);
extreme!(
    /// Greatest x, without NaN.
    NanFreeMax, (NanFreeMax, NonzeroMax), CHECKS_NAN, start S::T::NEG_INFINITY, |s, x| x,
    Simd::max_ordered
);
extreme!(
    /// Greatest x, without NaN; a zero may have either sign.
    NonzeroMax, (NanFreeMax, NonzeroMax), CHECKS_NAN CHECKS_ZERO, start S::T::NEG_INFINITY, |s, x| x,
    Simd::max_or_second
);
extreme!(
    /// Greatest |x|.
    MaxAbs, (NanFreeMaxAbs, NanFreeMaxAbs), ZERO_IS_NEUTRAL, start S::T::ZERO, |s, x| s.abs(x),
    scalar::maximum
);
extreme!(
    /// Greatest |x|, without NaN.
    NanFreeMaxAbs, (NanFreeMaxAbs, NanFreeMaxAbs), ZERO_IS_NEUTRAL CHECKS_NAN, start S::T::ZERO,
    |s, x| s.abs(x), Simd::max_or_second
);
