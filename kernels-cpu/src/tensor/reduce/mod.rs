//! The reductions over axes of tensors, expanded from the table of operations (`for_each_reduction!`).

mod blocks;
mod gather;
mod kernel;
pub(crate) mod plan;
mod walk;

use core::marker::PhantomData;

use super::operand::{Location, Tensor, Type};
use super::plain::Plain;
use crate::api::reduce::{Count, OfVector, Output, Search, Strided, reduction};
use crate::dispatch::Kernels;
use crate::element::{Dtype, Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::half::{bf16, f16};
use crate::level::Level;
use kernel::Elements;
use plan::{Facts, Plan};

/// Reduces `n` contiguous elements to one result.
type OfArray = unsafe fn(level: Level, ddof: usize, n: usize, x: *const u8, out: *mut u8);
/// Runs a plan.
type OfPlan = unsafe fn(exec: &Exec<'_>, level: Level, ddof: usize, plan: &Plan);

/// A reduction: its functions for each type, and what its row in the table says.
struct Operation {
    of_array: fn(Dtype) -> Option<OfArray>,
    of_plan: fn(Dtype) -> Option<OfPlan>,
    facts: Facts,
}

/// Reduces a small contiguous tensor to one number; false if the arguments are others.
///
/// # Safety
/// As [`run`].
#[inline(always)]
unsafe fn run_plain(
    level: Level,
    operation: &Operation,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> bool {
    let all = match axes {
        None => true,
        Some(axes) => x.ndim == 1 && matches!(axes, [0 | -1]),
    };
    if !all || !(out.ndim == 0 || out.ndim == x.ndim) {
        return false;
    }
    // SAFETY: as the caller's.
    let (x, out) = match unsafe { (Plain::new(x), Plain::new(out)) } {
        (Some(x), Some(out)) if out.count == 1 => (x, out),
        _ => return false,
    };
    let Type::Float(dtype) = x.of else {
        return false;
    };
    let (from, to) = (x.first(), out.first());
    let is_apart = to.addr() + out.of.size() <= from.addr()
        || from.addr() + x.count * x.of.size() <= to.addr();
    let is_valid = out.of == operation.facts.result(dtype) && is_apart;
    if !is_valid || ddof as u64 >= x.count as u64 {
        return false;
    }
    let Some(of_array) = (operation.of_array)(dtype) else {
        return false;
    };
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { of_array(level, ddof as usize, x.count, from, to) };
    true
}

/// Checks the arguments of a reduction and runs it.
///
/// # Safety
/// The tensors must be valid, `x` for reading and `out` for writing.
unsafe fn run(
    exec: &Exec<'_>,
    operation: &Operation,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> Result<()> {
    let level = exec.level()?;
    // SAFETY: as the caller's.
    unsafe {
        if run_plain(level, operation, x, axes, ddof, out) {
            return Ok(());
        }
        run_general(exec, level, operation, x, axes, ddof, out)
    }
}

/// As [`run`], for any arguments.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn run_general(
    exec: &Exec<'_>,
    level: Level,
    operation: &Operation,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> Result<()> {
    // SAFETY: as the caller's.
    let checked = unsafe { operation.facts.check(x, axes, ddof, out, Location::Host) };
    let (dtype, plan) = checked?;
    let arg = "x";
    let of_plan = (operation.of_plan)(dtype).ok_or(Error::UnsupportedType { arg })?;
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { of_plan(exec, level, ddof as usize, &plan) };
    Ok(())
}

/// Reduces one vector. (One function for all reductions to a type of results.)
///
/// # Safety
/// As [`OfArray`].
unsafe fn of_array<T: Storage, O: Output<T>>(
    reduction: &OfVector<T>,
    n: usize,
    x: *const u8,
    out: *mut u8,
) {
    // SAFETY: as the caller's.
    unsafe {
        let result = O::of_vector(&Exec::new(), reduction, n, Strided::new(x.cast(), 1));
        out.cast::<O>().write(result);
    }
}

/// The reductions.
macro_rules! operations {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        $(#[$doc])*
        ///
        /// `axes` are the axes of x to reduce; negative ones count from the end; `None`: all. The elements of a result
        /// are taken in row-major order of these axes. `out` has the other axes; it may also have the reduced ones, with
        /// length 1.
        #[doc = operations!(@type $out)]
        ///
        /// # Errors
        /// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU, `Overlap`; `InvalidValue`
        /// for a bad rank, and for an axis that x does not have or that is named twice; `NullPointer`, `Misaligned`,
        /// `NegativeSize`, `SizeOverflow`.
        #[doc = operations!(@empty $empty)]
        $(#[doc = concat!("`InvalidValue` unless 0 <= ", stringify!($ddof), " < the number of elements of a result.")])?
        ///
        /// # Safety
        /// The tensors must be valid at all elements, x for reading and `out` for writing.
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, $($ddof: i64,)? out: &Tensor) -> Result<()> {
            operations!(@functions $out $name $Bound);
            const OPERATION: Operation = Operation {
                of_array: |dtype| operations!(@typed $Bound dtype, array),
                of_plan: |dtype| operations!(@typed $Bound dtype, planned),
                facts: Facts {
                    gives_index: operations!(@gives_index $out),
                    needs_elements: operations!(@needs_elements $empty),
                    any_order: operations!(@any_order $folds),
                },
            };
            let degrees = 0;
            $(let degrees = degrees + $ddof;)?
            // SAFETY: as the caller's.
            unsafe { run(exec, &OPERATION, x, axes, degrees, out) }
        }
    )*};
    (@functions element $($row:tt)*) => { operations!(@folds T $($row)*); };
    (@functions count $($row:tt)*) => { operations!(@folds Count $($row)*); };
    (@folds $Output:ident $name:ident $Bound:ident) => {
        unsafe fn array<T: $Bound>(level: Level, ddof: usize, n: usize, x: *const u8, out: *mut u8) {
            let reduction = reduction::$name::<T>(level, ddof).one;
            // SAFETY: as the caller's.
            unsafe { of_array::<T, $Output>(&reduction, n, x, out) };
        }
        unsafe fn planned<T: $Bound>(exec: &Exec<'_>, level: Level, ddof: usize, plan: &Plan) {
            let kernel = Elements::<T, $Output>(reduction::$name(level, ddof), PhantomData);
            // SAFETY: as the caller's.
            unsafe { plan.run(exec, &kernel) };
        }
    };
    (@functions index $name:ident $Bound:ident) => {
        unsafe fn array<T: $Bound>(level: Level, _: usize, n: usize, x: *const u8, out: *mut u8) {
            // SAFETY: as the caller's.
            unsafe {
                let index = Kernels::<T>::new(level).$name()(n, x.cast(), 1);
                out.cast::<i64>().write(index as i64);
            }
        }
        unsafe fn planned<T: $Bound>(exec: &Exec<'_>, level: Level, _: usize, plan: &Plan) {
            // SAFETY: as the caller's.
            unsafe { plan.run(exec, &Search::<T>::$name(level)) };
        }
    };
    (@typed Storage $dtype:ident, $function:ident) => {
        Some(match $dtype {
            Dtype::F32 => $function::<f32>,
            Dtype::F64 => $function::<f64>,
            Dtype::F16 => $function::<f16>,
            Dtype::Bf16 => $function::<bf16>,
        })
    };
    (@typed Element $dtype:ident, $function:ident) => {
        match $dtype {
            Dtype::F32 => Some($function::<f32>),
            Dtype::F64 => Some($function::<f64>),
            Dtype::F16 | Dtype::Bf16 => None,
        }
    };
    (@gives_index element) => { false };
    (@gives_index $count_or_index:ident) => { true };
    (@needs_elements refused) => { true };
    (@needs_elements value) => { false };
    (@any_order [Min]) => { true };
    (@any_order [Max]) => { true };
    (@any_order [Nonzero]) => { true };
    (@any_order $folds:tt) => { false };
    (@type element) => { "The elements of `out` have the type of x." };
    (@type $count_or_index:ident) => { "The elements of `out` are `i64`." };
    (@empty refused) => { "`EmptyReduction` if there are results, but no elements." };
    (@empty value) => { "" };
}
for_each_reduction!(operations! {});
