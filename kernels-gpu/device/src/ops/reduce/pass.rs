//! The passes over a row: the folds of the CPU backend on single lanes, and the search for an extreme element.

use super::value::IndexedValue;
use crate::gpu::value::Value;
use crate::real::Real;
use crate::single::Single;
use core::marker::PhantomData;
use diptych::backend::folds::{self, DifferenceSq, Fold};
use diptych::backend::recipe::scaled;

/// One pass over the elements of a row.
pub trait Pass<T: Real> {
    /// The result of a lane or a chunk.
    type Value: Value;
    /// The state of a lane within a chunk.
    type Lane: Copy;
    /// The same pass for elements that are not NaN, if that takes fewer instructions.
    type NanFree: Pass<T, Value = Self::Value, Lane = Self::Lane>;
    /// Whether lanes cannot take a NaN, so that the elements must be checked for NaN first.
    const CHECKS_NAN: bool = false;
    /// Whether the pass reads two arrays; else `y` is the parameter of the pass.
    const PAIR: bool;
    /// Whether a step takes many instructions.
    const IS_LONG: bool = false;
    /// Whether the pass also writes an array.
    const WRITES: bool = false;
    /// Whether the result has the same bits for any order of the lanes.
    const ANY_ORDER: bool = false;

    /// Returns the neutral element of `combine`, except that in a sum it may change the sign of a zero.
    fn start() -> Self::Value;
    /// Returns the initial state of a lane.
    fn lane() -> Self::Lane;
    /// Adds the element of step number `step` of the chunk to a lane.
    fn step(lane: Self::Lane, x: T, y: T, step: u32) -> Self::Lane;
    /// Returns the result of a lane whose first element has index `first` in the row.
    fn value(lane: Self::Lane, first: i64) -> Self::Value;
    /// Combines the results of two lanes or of two chunks. It is commutative.
    fn combine(a: Self::Value, b: Self::Value) -> Self::Value;
    /// Returns what is written for an element, if [`Pass::WRITES`].
    #[inline(always)]
    fn written(x: T, _y: T) -> T {
        x
    }
}

/// A fold of the CPU backend.
pub struct FoldPass<F>(PhantomData<F>);

impl<T: Real, F: Fold<Single<T>, Acc: Value>> Pass<T> for FoldPass<F> {
    type Value = F::Acc;
    type Lane = F::Acc;
    type NanFree = FoldPass<F::NanFree>;
    const CHECKS_NAN: bool = F::CHECKS_NAN;
    const PAIR: bool = F::PAIR;
    const IS_LONG: bool = F::IS_LONG;

    #[inline(always)]
    fn start() -> F::Acc {
        folds::start::<Single<T>, F>(Single::new())
    }
    #[inline(always)]
    fn lane() -> F::Acc {
        folds::start::<Single<T>, F>(Single::new())
    }
    #[inline(always)]
    fn step(lane: F::Acc, x: T, y: T, _step: u32) -> F::Acc {
        F::step(Single::new(), lane, x, y)
    }
    #[inline(always)]
    fn value(lane: F::Acc, _first: i64) -> F::Acc {
        lane
    }
    #[inline(always)]
    fn combine(a: F::Acc, b: F::Acc) -> F::Acc {
        folds::combine::<Single<T>, F>(Single::new(), a, b)
    }
}

/// A fold of the CPU backend over scaled elements. The parameter is that of [`scaled`].
pub struct ScaledPass<F, const ABOUT_MEAN: bool>(PhantomData<F>);

impl<T: Real, F: Fold<Single<T>, Acc: Value>, const ABOUT_MEAN: bool> Pass<T>
    for ScaledPass<F, ABOUT_MEAN>
{
    type Value = F::Acc;
    type Lane = F::Acc;
    type NanFree = Self;
    const PAIR: bool = false;

    #[inline(always)]
    fn start() -> F::Acc {
        <FoldPass<F> as Pass<T>>::start()
    }
    #[inline(always)]
    fn lane() -> F::Acc {
        <FoldPass<F> as Pass<T>>::lane()
    }
    #[inline(always)]
    fn step(lane: F::Acc, x: T, y: T, step: u32) -> F::Acc {
        let (factor, param) = scaled(y, ABOUT_MEAN);
        <FoldPass<F> as Pass<T>>::step(lane, x * factor, param, step)
    }
    #[inline(always)]
    fn value(lane: F::Acc, first: i64) -> F::Acc {
        <FoldPass<F> as Pass<T>>::value(lane, first)
    }
    #[inline(always)]
    fn combine(a: F::Acc, b: F::Acc) -> F::Acc {
        <FoldPass<F> as Pass<T>>::combine(a, b)
    }
}

/// A fold of the CPU backend that counts. Lanes count in the arithmetic type, which can represent the number of
/// elements in a chunk; larger counts are i64.
pub struct CountPass<F>(PhantomData<F>);

impl<T: Real, F: Fold<Single<T>>> Pass<T> for CountPass<F> {
    type Value = i64;
    type Lane = F::Acc;
    type NanFree = Self;
    const PAIR: bool = false;
    const ANY_ORDER: bool = true;

    #[inline(always)]
    fn start() -> i64 {
        0
    }
    #[inline(always)]
    fn lane() -> F::Acc {
        folds::start::<Single<T>, F>(Single::new())
    }
    #[inline(always)]
    fn step(lane: F::Acc, x: T, y: T, _step: u32) -> F::Acc {
        F::step(Single::new(), lane, x, y)
    }
    #[inline(always)]
    fn value(lane: F::Acc, _first: i64) -> i64 {
        lane.as_ref()[0].to_count() as i64
    }
    #[inline(always)]
    fn combine(a: i64, b: i64) -> i64 {
        a + b
    }
}

/// The sum of squared errors, which also writes the gradient.
pub struct SquaredError;

impl<T: Real> Pass<T> for SquaredError {
    type Value = T;
    type Lane = T;
    type NanFree = Self;
    const PAIR: bool = true;
    const WRITES: bool = true;

    #[inline(always)]
    fn start() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn lane() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn step(lane: T, x: T, y: T, step: u32) -> T {
        let [lane] = <FoldPass<DifferenceSq> as Pass<T>>::step([lane], x, y, step);
        lane
    }
    #[inline(always)]
    fn value(lane: T, _first: i64) -> T {
        lane
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        a + b
    }
    #[inline(always)]
    fn written(x: T, y: T) -> T {
        let d = x - y;
        d + d
    }
}

/// Finds the first NaN, or else the first greatest (or least) element, with its index.
pub struct ArgExtreme<const GREATEST: bool, const CHECKS_NAN: bool = false>;

/// A lane's best element so far, and the number of the step that took it: half as many registers as an index.
#[derive(Clone, Copy)]
pub struct LaneBest<T> {
    value: T,
    step: u32,
}

impl<const GREATEST: bool, const CHECKS_NAN: bool> ArgExtreme<GREATEST, CHECKS_NAN> {
    /// Returns the worst value.
    #[inline(always)]
    fn worst<T: Real>() -> T {
        if GREATEST {
            T::NEG_INFINITY
        } else {
            T::INFINITY
        }
    }
}

impl<T: Real, const GREATEST: bool, const CHECKS_NAN: bool> Pass<T>
    for ArgExtreme<GREATEST, CHECKS_NAN>
{
    type Value = IndexedValue<T>;
    type Lane = LaneBest<T>;
    type NanFree = ArgExtreme<GREATEST, true>;
    const CHECKS_NAN: bool = CHECKS_NAN;
    const PAIR: bool = false;
    const ANY_ORDER: bool = true;

    #[inline(always)]
    fn start() -> IndexedValue<T> {
        IndexedValue {
            value: Self::worst(),
            index: i64::MAX,
        }
    }
    /// In a lane that takes no element, step 0 stands for an index past the end of the row, which loses every tie.
    #[inline(always)]
    fn lane() -> LaneBest<T> {
        LaneBest {
            value: Self::worst(),
            step: 0,
        }
    }
    #[inline(always)]
    fn step(lane: LaneBest<T>, x: T, _y: T, step: u32) -> LaneBest<T> {
        // False if x is NaN.
        let no_better = if GREATEST {
            x <= lane.value
        } else {
            x >= lane.value
        };
        if no_better | (!CHECKS_NAN & lane.value.is_nan()) {
            lane
        } else {
            LaneBest { value: x, step }
        }
    }
    #[inline(always)]
    fn value(lane: LaneBest<T>, first: i64) -> IndexedValue<T> {
        IndexedValue {
            value: lane.value,
            index: first + lane.step as i64 * T::LANES as i64,
        }
    }
    #[inline(always)]
    fn combine(a: IndexedValue<T>, b: IndexedValue<T>) -> IndexedValue<T> {
        let better = if GREATEST {
            b.value > a.value
        } else {
            b.value < a.value
        };
        let (a_nan, b_nan) = (a.value.is_nan(), b.value.is_nan());
        let tied = (a.value == b.value) | (a_nan & b_nan);
        if better | (b_nan & !a_nan) | (tied & (b.index < a.index)) {
            b
        } else {
            a
        }
    }
}
