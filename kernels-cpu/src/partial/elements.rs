//! Partial reductions by the type of elements.

use super::floats::{Floats, bits, from_bits, recipe};
use super::state::State;
use super::{Operation, Total};
use crate::api::reduce::kinds::Reductions;
use crate::api::reduce::{StridedVector, raw};
use crate::dispatch::Compute;
use crate::element::Storage;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::half::{bf16, f16};
use crate::number::{IntegerElement, Integers, Number};
use crate::ops::reduce::chunk_len;

/// A vector: its first element and its stride.
pub type Vector<T> = (*const T, i64);

/// A type of elements that [`Partial`](super::Partial) reduces: every [`Number`]. The trait is sealed.
pub trait PartialElement: Number {
    /// The number of the type, which is part of the format.
    #[doc(hidden)]
    const NUMBER: u8;
    /// Elements of a chunk, at whose borders parts begin.
    const CHUNK: u64;

    /// Whether there is such a reduction.
    #[doc(hidden)]
    fn has(operation: Operation) -> bool;

    /// The most passes of the reduction.
    #[doc(hidden)]
    fn passes(operation: Operation) -> u64;

    /// Adds `n` elements.
    ///
    /// # Errors
    /// Those of the level.
    ///
    /// # Safety
    /// `x`, and `y` of a dot product, must be valid at `n` elements.
    #[doc(hidden)]
    unsafe fn update(
        state: &mut State,
        operation: Operation,
        exec: &Exec<'_>,
        n: usize,
        x: Vector<Self>,
        y: Vector<Self>,
    ) -> Result<()>;

    /// Joins two parts.
    ///
    /// # Errors
    /// Those of the level.
    #[doc(hidden)]
    fn merge(left: &mut State, right: &State, operation: Operation) -> Result<()>;

    /// Returns the result of the pass, and whether another must follow.
    ///
    /// # Errors
    /// Those of the level.
    #[doc(hidden)]
    fn after_pass(state: &State, operation: Operation) -> Result<(Total, bool)>;

    /// The known value of a pass that follows, from the result of the one before.
    #[doc(hidden)]
    fn known(total: Total) -> u64;
}

/// Adds an exact result of `count` elements that follow, of which `extreme` is the extreme if the result is its index.
fn join(
    state: &mut State,
    operation: Operation,
    count: u64,
    (exact, extreme): (i64, i64),
    is_better: bool,
) {
    let is_first = state.count == 0;
    let (old, before) = (state.exact, state.extreme);
    state.count += count;
    (state.exact, state.extreme) = match operation {
        _ if is_first => (exact, extreme),
        Operation::argmin | Operation::argmax if is_better => (exact, extreme),
        Operation::argmin | Operation::argmax => (old, before),
        Operation::prod => (old.wrapping_mul(exact), 0),
        Operation::min => (old.min(exact), 0),
        Operation::max => (old.max(exact), 0),
        _ => (old.wrapping_add(exact), 0),
    };
}

/// [`join`] of a part in memory.
fn merge_exact(left: &mut State, right: &State, operation: Operation, is_better: bool) {
    if right.count > 0 {
        join(
            left,
            operation,
            right.count,
            (right.exact, right.extreme),
            is_better,
        );
    }
}

/// Whether an extreme is to replace an earlier one: NaN does, and keeps its place.
fn is_better(operation: Operation, new: f64, old: f64) -> bool {
    let is_beyond = if operation == Operation::argmin {
        new < old
    } else {
        new > old
    };
    !old.is_nan() && (new.is_nan() || is_beyond)
}

macro_rules! floats {
    ($($T:ident $number:literal;)*) => {$(
        impl PartialElement for $T {
            const NUMBER: u8 = $number;
            const CHUNK: u64 = chunk_len::<Compute<$T>>() as u64;

            fn has(_operation: Operation) -> bool {
                true
            }

            fn passes(operation: Operation) -> u64 {
                recipe(operation).map_or(1, |recipe| recipe.passes().into())
            }

            unsafe fn update(
                state: &mut State, operation: Operation, exec: &Exec<'_>, n: usize, x: Vector<Self>, y: Vector<Self>,
            ) -> Result<()> {
                // SAFETY: as the caller's.
                unsafe { update_floats(state, operation, exec, n, x, y) }
            }

            fn merge(left: &mut State, right: &State, operation: Operation) -> Result<()> {
                let level = Exec::new().level()?;
                match Floats::<Compute<$T>>::new(left, operation, level) {
                    Some(mut floats) => floats.merge(&mut { *right }, operation),
                    None => {
                        let [new, old] = [right.extreme, left.extreme].map(|bits| f64::from_bits(bits as u64));
                        merge_exact(left, right, operation, is_better(operation, new, old));
                    }
                }
                Ok(())
            }

            fn after_pass(state: &State, operation: Operation) -> Result<(Total, bool)> {
                let level = Exec::new().level()?;
                Ok(match Floats::<Compute<$T>>::new(&mut { *state }, operation, level) {
                    Some(floats) => {
                        let (known, goes_on) = floats.after_pass();
                        (Total::Float(known.into()), goes_on)
                    }
                    None => (Total::Integer(state.exact), false),
                })
            }

            fn known(total: Total) -> u64 {
                match total {
                    Total::Float(value) => bits(value as Compute<$T>),
                    Total::Integer(_) => 0,
                }
            }
        }
    )*};
}
floats! { f32 1; f64 2; f16 3; bf16 4; }

/// [`PartialElement::update`] of floats.
///
/// # Safety
/// As there.
unsafe fn update_floats<M: Storage>(
    state: &mut State,
    operation: Operation,
    exec: &Exec<'_>,
    n: usize,
    (x, incx): Vector<M>,
    (y, incy): Vector<M>,
) -> Result<()> {
    let level = exec.level()?;
    if n == 0 {
        return Ok(());
    }
    if let Some(mut floats) = Floats::<Compute<M>>::new(state, operation, level) {
        let (x, y) = (
            StridedVector::new(x, incx as isize),
            StridedVector::new(y, incy as isize),
        );
        // SAFETY: as the caller's.
        unsafe { floats.update(exec, n, x, y) };
        return Ok(());
    }
    let mut found = 0_i64;
    let (count, from) = (n as i64, state.end());
    // SAFETY: as the caller's; an index is less than n.
    let (exact, extreme, is_better) = unsafe {
        match operation {
            Operation::argmin => raw::argmin(exec, count, x, incx, &mut found)?,
            Operation::argmax => raw::argmax(exec, count, x, incx, &mut found)?,
            _ => raw::count_nonzero(exec, count, x, incx, &mut found)?,
        }
        if operation == Operation::count_nonzero {
            (found, 0, false)
        } else {
            let value = *x.wrapping_offset(found as isize * incx as isize);
            let value: f64 = widened(value.into_compute());
            let better = is_better(operation, value, f64::from_bits(state.extreme as u64));
            (from as i64 + found, value.to_bits() as i64, better)
        }
    };
    join(state, operation, n as u64, (exact, extreme), is_better);
    Ok(())
}

/// A number of arithmetic as `f64`, exactly.
fn widened<T: crate::element::Element>(value: T) -> f64 {
    if size_of::<T>() == 4 {
        f64::from(f32::from_bits(bits(value) as u32))
    } else {
        from_bits(bits(value))
    }
}

macro_rules! integers {
    ({} $($name:ident $out:ident $integers:tt)*) => {
        /// Whether there is such a reduction of integers.
        fn of_integers(operation: Operation) -> bool {
            match operation {
                $(Operation::$name => integers!(@has $integers),)*
                Operation::dot => true,
            }
        }

        /// Reduces `n` integers.
        ///
        /// # Safety
        /// As [`PartialElement::update`].
        unsafe fn reduce_integers<T: IntegerElement>(
            operation: Operation, exec: &Exec<'_>, n: i64, (x, incx): Vector<T>, (y, incy): Vector<T>,
        ) -> Result<i64> {
            let mut out = 0_i64;
            // SAFETY: as the caller's.
            unsafe {
                match operation {
                    $(Operation::$name => integers!(@call $integers $name (exec, n, x, incx, &mut out)),)*
                    Operation::dot => <Integers as Reductions<T, i64>>::dot(exec, n, x, incx, y, incy, &mut out)?,
                }
            }
            Ok(out)
        }
    };
    (@has []) => { false };
    (@has $fold:tt) => { true };
    (@call [] $name:ident $arguments:tt) => {
        return Err(Error::Unsupported { arg: stringify!($name) })
    };
    (@call $fold:tt $name:ident $arguments:tt) => {
        <Integers as Reductions<T, i64>>::$name $arguments?
    };
}
for_each_reduction!(integers! {} [name result integers]);

macro_rules! integer_elements {
    ($($T:ident $number:literal;)*) => {$(
        impl PartialElement for $T {
            const NUMBER: u8 = $number;
            const CHUNK: u64 = 1;

            fn has(operation: Operation) -> bool {
                of_integers(operation)
            }

            fn passes(_operation: Operation) -> u64 {
                1
            }

            unsafe fn update(
                state: &mut State, operation: Operation, exec: &Exec<'_>, n: usize, x: Vector<Self>, y: Vector<Self>,
            ) -> Result<()> {
                if n == 0 {
                    return exec.level().map(drop);
                }
                // SAFETY: as the caller's; an index is less than n.
                let (exact, extreme) = unsafe {
                    let found = reduce_integers(operation, exec, n as i64, x, y)?;
                    match operation {
                        Operation::argmin | Operation::argmax => {
                            let value = *x.0.wrapping_offset(found as isize * x.1 as isize);
                            (state.end() as i64 + found, value.into())
                        }
                        _ => (found, 0),
                    }
                };
                let is_better = is_beyond(operation, extreme, state.extreme);
                join(state, operation, n as u64, (exact, extreme), is_better);
                Ok(())
            }

            fn merge(left: &mut State, right: &State, operation: Operation) -> Result<()> {
                let is_better = is_beyond(operation, right.extreme, left.extreme);
                merge_exact(left, right, operation, is_better);
                Ok(())
            }

            fn after_pass(state: &State, operation: Operation) -> Result<(Total, bool)> {
                let is_one = state.count == 0 && operation == Operation::prod;
                Ok((Total::Integer(if is_one { 1 } else { state.exact }), false))
            }

            fn known(_total: Total) -> u64 {
                0
            }
        }
    )*};
}
integer_elements! { i8 16; u8 17; i32 18; i64 19; }

/// Whether an extreme of integers is to replace an earlier one.
fn is_beyond(operation: Operation, new: i64, old: i64) -> bool {
    if operation == Operation::argmin {
        new < old
    } else {
        new > old
    }
}
