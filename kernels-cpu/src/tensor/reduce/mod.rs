//! The reductions over axes of tensors, expanded from the table of operations (`for_each_reduction!`).

pub(super) mod blocks;
mod gather;
pub(crate) mod integers;
pub(crate) mod plan;
mod walk;

use core::cmp::Ordering;
use core::marker::PhantomData;

use super::contiguous::ContiguousTensor;
use super::element_type::with_storage;
use super::kind::{Location, Type};
use super::operand::Tensor;
use crate::api::reduce::{
    Count, Elements, Kernel, KernelOf, OfVector, Output, RowMatrix, Search, StridedVector, Widened,
    reduction, search,
};
use crate::dispatch::{Compute, is_element};
use crate::element::{Dtype, Storage};
use crate::error::Result;
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::integers::reduce as folds;
use integers::{OfIntegers, reduce_integers};
use plan::{AxisPlan, ReductionProperties, ResultType};

/// Reduces `n` contiguous elements to one result.
type OfArray = unsafe fn(level: Level, ddof: usize, n: usize, x: *const u8, out: *mut u8);
/// Runs a job.
type RunJob = unsafe fn(exec: &Exec<'_>, level: Level, ddof: usize, of: ResultType, job: Job<'_>);

/// What a kernel runs over.
pub(super) enum Job<'a> {
    /// The rows of a matrix and their results; strides count bytes.
    Rows(RowMatrix<u8>, StridedVector<u8>),
    AxisPlan(&'a AxisPlan),
}

impl Job<'_> {
    /// # Safety
    /// As [`Kernel::rows`] and [`AxisPlan::run`].
    unsafe fn run(self, exec: &Exec<'_>, kernel: &dyn Kernel) {
        // SAFETY: as the caller's.
        unsafe {
            match self {
                Self::Rows(rows, out) => kernel.rows(exec, rows, out),
                Self::AxisPlan(plan) => plan.run(exec, kernel),
            }
        }
    }
}

/// A reduction: its functions for each type, and what its row in the table says.
struct Operation {
    of_array: fn(Dtype) -> OfArray,
    run: fn(Dtype) -> RunJob,
    /// What it is of integers, if it takes them.
    of_integers: Option<OfIntegers>,
    properties: ReductionProperties,
}

/// Returns the lengths of an axis and of all axes before and behind it, if `out` has these, or this one with length 1
/// too.
///
/// # Safety
/// As [`reduce`]; both must be [`ContiguousTensor`].
#[inline(always)]
unsafe fn lengths(x: &Tensor, axis: i32, out: &Tensor) -> Option<[usize; 3]> {
    let axis = if axis < 0 {
        axis.checked_add(x.ndim)?
    } else {
        axis
    };
    let keeps = out.ndim == x.ndim;
    if axis < 0 || axis >= x.ndim || !(keeps || out.ndim == x.ndim - 1) {
        return None;
    }
    let mut lengths = [1; 3];
    let [before, own, behind] = &mut lengths;
    for i in 0..x.ndim {
        let place = if keeps || i < axis { i } else { i - 1 };
        // SAFETY: as the caller's; `place` is an axis of `out` unless it is reduced and left out.
        unsafe {
            let count = *x.shape.add(i as usize);
            let expected = if i == axis { 1 } else { count };
            if (keeps || i != axis) && *out.shape.add(place as usize) != expected {
                return None;
            }
            *match i.cmp(&axis) {
                Ordering::Less => &mut *before,
                Ordering::Equal => &mut *own,
                Ordering::Greater => &mut *behind,
            } *= count as usize;
        }
    }
    Some(lengths)
}

/// Reduces a small contiguous tensor to one number, or along its first or its last axis; false if the arguments are
/// others.
///
/// # Safety
/// As [`reduce`].
#[inline(always)]
unsafe fn reduce_contiguous(
    level: Level,
    operation: &Operation,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> bool {
    // SAFETY: as the caller's.
    let (Some(from), Some(to)) =
        (unsafe { (ContiguousTensor::new(x), ContiguousTensor::new(out)) })
    else {
        return false;
    };
    let [before, n, behind] = match axes {
        None if to.count == 1 && (out.ndim == 0 || out.ndim == x.ndim) => [1, from.count, 1],
        // SAFETY: as the caller's.
        Some(&[axis]) => match unsafe { lengths(x, axis, out) } {
            Some(lengths) => lengths,
            None => return false,
        },
        _ => return false,
    };
    let Type::Float(dtype) = from.of else {
        return false;
    };
    let (p, q) = (from.p, to.p);
    let (size, result) = (from.of.size(), to.of.size());
    let is_apart =
        q.addr() + to.count * result <= p.addr() || p.addr() + from.count * size <= q.addr();
    let is_valid =
        to.of == operation.properties.result(dtype) && is_apart && (ddof as u64) < n as u64;
    let are_columns = behind > 1;
    if !is_valid || are_columns && before > 1 {
        return false;
    }
    let ddof = ddof as usize;
    if to.count == 1 {
        let of_array = (operation.of_array)(dtype);
        // SAFETY: the arguments have been checked; the caller vouches for the elements.
        unsafe { of_array(level, ddof, n, p, q) };
        return true;
    }
    let run = (operation.run)(dtype);
    let (m, rs, cs) = if behind == 1 {
        (before, n * size, size)
    } else {
        (behind, size, behind * size)
    };
    let rows = RowMatrix::new([m, n], p.cast_const(), [rs as isize, cs as isize]);
    let job = Job::Rows(rows, StridedVector::new(q, result as isize));
    // SAFETY: as above.
    unsafe { run(&Exec::new(), level, ddof, ResultType::Own, job) };
    true
}

/// Checks the arguments of a reduction and runs it.
///
/// # Safety
/// The tensors must be valid, `x` for reading and `out` for writing.
unsafe fn reduce(
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
        if reduce_contiguous(level, operation, x, axes, ddof, out) {
            return Ok(());
        }
        reduce_general(exec, level, operation, x, axes, ddof, out)
    }
}

/// Checks any arguments of a reduction and runs it.
///
/// # Safety
/// As [`reduce`].
#[inline(never)]
unsafe fn reduce_general(
    exec: &Exec<'_>,
    level: Level,
    operation: &Operation,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> Result<()> {
    let (properties, mut plan) = (&operation.properties, AxisPlan::empty());
    if let Some(Type::Integer(_)) = Type::of(x.dtype_code, x.dtype_bits) {
        let tensors = (x, axes, out);
        // SAFETY: as the caller's.
        return unsafe { reduce_integers(exec, level, operation.of_integers, properties, tensors) };
    }
    // SAFETY: as the caller's.
    let checked = unsafe { properties.check(x, axes, ddof, out, Location::Host, &mut plan) };
    let (dtype, of_result) = checked?;
    let run = (operation.run)(dtype);
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { run(exec, level, ddof as usize, of_result, Job::AxisPlan(&plan)) };
    Ok(())
}

/// Reduces one vector. (One function for all reductions to a type of results.)
///
/// # Safety
/// As [`OfArray`].
unsafe fn of_array<T: Storage, O: Output<Compute<T>>>(
    reduction: &OfVector<Compute<T>>,
    n: usize,
    x: *const u8,
    out: *mut u8,
) {
    // SAFETY: as the caller's.
    unsafe {
        let x = StridedVector::<T>::new(x.cast(), 1);
        out.cast::<O>()
            .write(O::of_vector(&Exec::new(), reduction, n, x));
    }
}

/// Runs a job of elements of the type `T` with a kernel of its type of arithmetic, whose results are rounded if `rounds`.
///
/// # Safety
/// As [`Job::run`].
pub(super) unsafe fn run_job<T: Storage, K: KernelOf<T>>(
    exec: &Exec<'_>,
    kernel: &K,
    rounds: bool,
    job: Job<'_>,
) {
    // SAFETY: as the caller's.
    unsafe {
        if const { is_element::<T>() } {
            job.run(exec, kernel);
        } else {
            job.run(exec, &Widened { kernel, rounds });
        }
    }
}

/// The reductions.
macro_rules! operations {
    ({} $([$(#[$doc:meta])*] $name:ident [$($ddof:ident)?] $out:ident $folds:tt $empty:ident $integers:tt)*) => {$(
        $(#[$doc])*
        ///
        /// `axes` are the axes of x to reduce; negative ones count from the end; `None`: all. The elements of a result
        /// are taken in row-major order of these axes. `out` has the other axes; it may also have the reduced ones, with
        /// length 1.
        #[doc = operations!(@type $out)]
        #[doc = operations!(@integers $out $integers)]
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
        #[inline]
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, $($ddof: i64,)? out: &Tensor) -> Result<()> {
            operations!(@functions $out $name);
            const OPERATION: Operation = Operation {
                of_array: |dtype| with_storage!(dtype, T => array::<T>),
                run: |dtype| with_storage!(dtype, T => of_job::<T>),
                of_integers: operations!(@of_integers $out $integers),
                properties: crate::reduction_properties!($out $folds $empty),
            };
            let degrees = 0;
            $(let degrees = degrees + $ddof;)?
            // SAFETY: as the caller's.
            unsafe { reduce(exec, &OPERATION, x, axes, degrees, out) }
        }
    )*};
    (@functions element $name:ident) => { operations!(@folds $name T (Compute<T>)); };
    (@functions count $name:ident) => { operations!(@folds $name Count (Count)); };
    (@folds $name:ident $Output:ident ($Computed:ty)) => {
        unsafe fn array<T: Storage>(level: Level, ddof: usize, n: usize, x: *const u8, out: *mut u8) {
            let reduction = reduction::$name::<T>(level, ddof).one;
            // SAFETY: as the caller's.
            unsafe { of_array::<T, $Output>(&reduction, n, x, out) };
        }
        unsafe fn of_job<T: Storage>(exec: &Exec<'_>, level: Level, ddof: usize, of: ResultType, job: Job<'_>) {
            let kernels = reduction::$name::<T>(level, ddof);
            let kernel = Elements::<Compute<T>, $Computed>(&kernels, PhantomData);
            // SAFETY: as the caller's.
            unsafe { run_job::<T, _>(exec, &kernel, operations!(@rounds $Output of), job) };
        }
    };
    (@rounds Count $of:ident) => {{ let _ = $of; false }};
    (@rounds T $of:ident) => { $of == ResultType::Own };
    (@functions index $name:ident) => {
        unsafe fn array<T: Storage>(level: Level, _: usize, n: usize, x: *const u8, out: *mut u8) {
            // SAFETY: as the caller's.
            unsafe {
                let index = search::$name(level, n, StridedVector::<T>::new(x.cast(), 1));
                out.cast::<i64>().write(index);
            }
        }
        unsafe fn of_job<T: Storage>(exec: &Exec<'_>, level: Level, _: usize, _: ResultType, job: Job<'_>) {
            // SAFETY: as the caller's.
            unsafe { run_job::<T, _>(exec, &Search::<Compute<T>>::$name(level), false, job) };
        }
    };
    (@type element) => { "The elements of `out` have the type of x; those of `f16` and `bf16` may also be `f32`, not rounded." };
    (@type $count_or_index:ident) => { "The elements of `out` are `i64`." };
    (@of_integers $out:ident []) => { None };
    (@of_integers $out:ident [$Fold:ident]) => {
        Some((folds::$Fold::of, crate::reduction_properties!(@gives $out $Fold), operations!(@search $out $Fold)))
    };
    (@search index $Fold:ident) => { Some(folds::$Fold::search) };
    (@search $out:ident $Fold:ident) => { None };
    (@integers $out:ident []) => { "" };
    (@integers element [Min]) => { "x may also be of `i8`, `u8`, `i32` or `i64`." };
    (@integers element [Max]) => { operations!(@integers element [Min]) };
    (@integers element $fold:tt) => {
        "x may also be of `i8`, `u8`, `i32` or `i64`, and `out` then of this type, `i32` or `i64`: results are exact modulo 2^bits."
    };
    (@integers $count_or_index:ident $fold:tt) => { operations!(@integers element [Min]) };
    (@empty refused) => { "`EmptyReduction` if there are results, but no elements." };
    (@empty value) => { "" };
}
for_each_reduction!(operations! {} [doc name ddof result folds empty integers]);
