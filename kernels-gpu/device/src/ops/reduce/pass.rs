//! What one walk over a row does: the folds of the CPU panel on one lane, and the search for an extreme.

use super::value::{Found, Value};
use crate::real::Real;
use crate::single::Single;
use core::marker::PhantomData;
use diptych::panel::folds::{DifferenceSq, Fold};

/// One walk over the elements.
pub trait Pass<T: Real> {
    /// What a lane holds.
    type Value: Value;
    /// Whether it reads two arrays; else the second element is the pass's parameter.
    const PAIR: bool;
    /// Whether a step is many instructions.
    const IS_LONG: bool = false;
    /// Whether it writes an array too.
    const WRITES: bool = false;

    /// What a lane starts from: neutral under `combine`, but for the sign of a zero in a sum.
    fn start() -> Self::Value;
    /// A lane takes an element, with its place in the row.
    fn step(lane: Self::Value, x: T, y: T, place: i64) -> Self::Value;
    /// Two lanes, or two chunks, become one. The order of the two does not matter.
    fn combine(a: Self::Value, b: Self::Value) -> Self::Value;
    /// What is written for an element.
    #[inline(always)]
    fn written(x: T, _y: T) -> T {
        x
    }
}

/// A fold of the CPU panel.
pub struct Of<F>(PhantomData<F>);

impl<T: Real, F: Fold<Single<T>>> Pass<T> for Of<F> {
    type Value = T;
    const PAIR: bool = F::PAIR;
    const IS_LONG: bool = F::IS_LONG;

    #[inline(always)]
    fn start() -> T {
        F::START
    }
    #[inline(always)]
    fn step(lane: T, x: T, y: T, _place: i64) -> T {
        F::step(Single::new(), lane, x, y)
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        F::combine(Single::new(), a, b)
    }
}

/// The squared error, and its gradient written.
pub struct SquaredError;

impl<T: Real> Pass<T> for SquaredError {
    type Value = T;
    const PAIR: bool = true;
    const WRITES: bool = true;

    #[inline(always)]
    fn start() -> T {
        T::ZERO
    }
    #[inline(always)]
    fn step(lane: T, x: T, y: T, place: i64) -> T {
        <Of<DifferenceSq> as Pass<T>>::step(lane, x, y, place)
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

/// The first NaN, else the first greatest element by value, or the first least.
pub struct First<const GREATEST: bool>;

impl<T: Real, const GREATEST: bool> Pass<T> for First<GREATEST> {
    type Value = Found<T>;
    const PAIR: bool = false;

    #[inline(always)]
    fn start() -> Found<T> {
        Found {
            value: if GREATEST {
                T::NEG_INFINITY
            } else {
                T::INFINITY
            },
            place: i64::MAX,
        }
    }
    #[inline(always)]
    fn step(lane: Found<T>, x: T, _y: T, place: i64) -> Found<T> {
        <Self as Pass<T>>::combine(lane, Found { value: x, place })
    }
    #[inline(always)]
    fn combine(a: Found<T>, b: Found<T>) -> Found<T> {
        let better = if GREATEST {
            b.value > a.value
        } else {
            b.value < a.value
        };
        let (a_nan, b_nan) = (a.value.is_nan(), b.value.is_nan());
        let tied = (a.value == b.value) | (a_nan & b_nan);
        if better | (b_nan & !a_nan) | (tied & (b.place < a.place)) {
            b
        } else {
            a
        }
    }
}
