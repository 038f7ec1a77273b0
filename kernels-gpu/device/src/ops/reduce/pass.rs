//! What one walk over a row does: the folds of the CPU panel on one lane, and the search for an extreme.

use super::value::{Found, Value};
use crate::real::Real;
use crate::single::Single;
use core::marker::PhantomData;
use diptych::backend::folds::{DifferenceSq, Fold};

/// One walk over the elements.
pub trait Pass<T: Real> {
    /// The result of lanes and of chunks.
    type Value: Value;
    /// What a lane holds on its walk through a chunk.
    type Lane: Copy;
    /// The same pass where no element is NaN, if that takes fewer instructions.
    type Finite: Pass<T, Value = Self::Value, Lane = Self::Lane>;
    /// Whether no lane may take a NaN, so that NaN has to be looked for.
    const NAN_APART: bool = false;
    /// Whether it reads two arrays; else the second element is the pass's parameter.
    const PAIR: bool;
    /// Whether a step is many instructions.
    const IS_LONG: bool = false;
    /// Whether it writes an array too.
    const WRITES: bool = false;
    /// Whether the order of lanes changes no bit of the result.
    const ANY_ORDER: bool = false;

    /// Neutral under `combine`, but for the sign of a zero in a sum.
    fn start() -> Self::Value;
    /// What a lane starts from.
    fn lane() -> Self::Lane;
    /// A lane takes an element, in a turn of its walk.
    fn step(lane: Self::Lane, x: T, y: T, turn: u32) -> Self::Lane;
    /// The result of a lane whose first element has the place `first` in the row.
    fn value(lane: Self::Lane, first: i64) -> Self::Value;
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
    type Lane = T;
    type Finite = Of<F::Finite>;
    const NAN_APART: bool = F::NAN_APART;
    const PAIR: bool = F::PAIR;
    const IS_LONG: bool = F::IS_LONG;

    #[inline(always)]
    fn start() -> T {
        F::START
    }
    #[inline(always)]
    fn lane() -> T {
        F::START
    }
    #[inline(always)]
    fn step(lane: T, x: T, y: T, _turn: u32) -> T {
        F::step(Single::new(), lane, x, y)
    }
    #[inline(always)]
    fn value(lane: T, _first: i64) -> T {
        lane
    }
    #[inline(always)]
    fn combine(a: T, b: T) -> T {
        F::combine(Single::new(), a, b)
    }
}

/// A fold of the CPU backend that counts. Lanes count in the type of arithmetic, which holds the elements of a chunk;
/// all else in i64.
pub struct Count<F>(PhantomData<F>);

impl<T: Real, F: Fold<Single<T>>> Pass<T> for Count<F> {
    type Value = i64;
    type Lane = T;
    type Finite = Self;
    const PAIR: bool = false;
    const ANY_ORDER: bool = true;

    #[inline(always)]
    fn start() -> i64 {
        0
    }
    #[inline(always)]
    fn lane() -> T {
        F::START
    }
    #[inline(always)]
    fn step(lane: T, x: T, y: T, _turn: u32) -> T {
        F::step(Single::new(), lane, x, y)
    }
    #[inline(always)]
    fn value(lane: T, _first: i64) -> i64 {
        lane.to_count() as i64
    }
    #[inline(always)]
    fn combine(a: i64, b: i64) -> i64 {
        a + b
    }
}

/// The squared error, and its gradient written.
pub struct SquaredError;

impl<T: Real> Pass<T> for SquaredError {
    type Value = T;
    type Lane = T;
    type Finite = Self;
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
    fn step(lane: T, x: T, y: T, turn: u32) -> T {
        <Of<DifferenceSq> as Pass<T>>::step(lane, x, y, turn)
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

/// The first NaN, else the first greatest element by value, or the first least.
pub struct First<const GREATEST: bool, const NAN_APART: bool = false>;

/// An element, and the turn in which a lane took it: half of what a place would take.
#[derive(Clone, Copy)]
pub struct Taken<T> {
    value: T,
    turn: u32,
}

impl<const GREATEST: bool, const NAN_APART: bool> First<GREATEST, NAN_APART> {
    /// What no element is worse than.
    #[inline(always)]
    fn worst<T: Real>() -> T {
        if GREATEST {
            T::NEG_INFINITY
        } else {
            T::INFINITY
        }
    }
}

impl<T: Real, const GREATEST: bool, const NAN_APART: bool> Pass<T> for First<GREATEST, NAN_APART> {
    type Value = Found<T>;
    type Lane = Taken<T>;
    type Finite = First<GREATEST, true>;
    const NAN_APART: bool = NAN_APART;
    const PAIR: bool = false;
    const ANY_ORDER: bool = true;

    #[inline(always)]
    fn start() -> Found<T> {
        Found {
            value: Self::worst(),
            place: i64::MAX,
        }
    }
    /// A lane that takes no element stands for a place behind the end of the row, and so loses every tie.
    #[inline(always)]
    fn lane() -> Taken<T> {
        Taken {
            value: Self::worst(),
            turn: 0,
        }
    }
    #[inline(always)]
    fn step(lane: Taken<T>, x: T, _y: T, turn: u32) -> Taken<T> {
        // Not so where x is NaN.
        let no_better = if GREATEST {
            x <= lane.value
        } else {
            x >= lane.value
        };
        if no_better | (!NAN_APART & lane.value.is_nan()) {
            lane
        } else {
            Taken { value: x, turn }
        }
    }
    #[inline(always)]
    fn value(lane: Taken<T>, first: i64) -> Found<T> {
        Found {
            value: lane.value,
            place: first + lane.turn as i64 * T::LANES as i64,
        }
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
