//! Reductions of vectors and of the rows of a matrix: the table (`for_each_reduction!`), and `dot`.

pub(crate) mod check;
mod fast_path;
mod fold;
mod gathered;
mod kernel;
mod output;
pub(crate) mod reduction;
mod rows;
mod safe;
pub(crate) mod search;
mod short;
mod tree;
mod vectors;
mod widened;
mod widened_chunks;
mod widened_columns;

pub(crate) use fold::{FoldKernels, MAX_PARTS, Parts, StridedVector, fold, pairwise};
pub(crate) use gathered::{Chunks, MAX_GATHERED};
pub(crate) use kernel::{Elements, Kernel, KernelOf};
pub(crate) use output::{Count, Output};
pub(crate) use reduction::{OfVector, ReductionKernels};
pub(crate) use rows::{RowMatrix, reduce as reduce_rows};
pub use safe::*;
pub(crate) use search::Search;
pub(crate) use tree::ChunkTree;
pub(crate) use vectors::COLUMNS;
pub(crate) use widened::Widened;

use crate::dispatch::{Compute, FoldOf, is_element};
use crate::element::{Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::ops::reduce as ops;
use crate::recipe::{Recipe, finish_sum};
use crate::view::{MatRef, VecMut, VecRef};
use crate::{for_each_reduction, level::Level};
use check::CheckedRows;

/// Returns whether a reduction refuses an empty vector, from the word in its row of the table.
macro_rules! needs_elements {
    (refused) => {
        true
    };
    (value) => {
        false
    };
}

/// Returns the rows and the output that checked arguments describe.
fn of_checked<T, O>(
    checked: CheckedRows,
    x: *const T,
    out: *mut O,
) -> (RowMatrix<T>, StridedVector<O>) {
    let CheckedRows {
        m,
        n,
        rs,
        cs,
        inc_out,
    } = checked;
    let rows = RowMatrix::new([m, n], x, [rs, cs]);
    (rows, StridedVector::new(out, inc_out))
}

/// The pointer forms.
pub mod raw {
    use super::*;

    /// Checks and runs the reduction of a vector.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements, `out` at one.
    #[inline(always)]
    unsafe fn vector<T: Storage, O: Output<Compute<T>>>(
        exec: &Exec<'_>,
        reduction: impl Fn(Level) -> ReductionKernels<Compute<T>>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        if !fast_path::qualifies(n, x, incx, out) {
            let of_vector = reduction(exec.level()?).one;
            // SAFETY: as the caller's.
            return unsafe {
                if of_vector.recipe.is_single_fold() {
                    fold_general(exec, &of_vector, needs_elements, n, x, incx, out)
                } else {
                    vector_general(exec, &of_vector, needs_elements, n, x, incx, out)
                }
            };
        }
        let reduction = reduction(exec.level()?).one;
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            let x = StridedVector::new(x, 1);
            out.write(O::of_vector(&Exec::new(), &reduction, n as usize, x));
        }
        Ok(())
    }

    /// Reduces a vector by a single fold. Separate from [`vector_general`], so that a program which calls no other
    /// reductions does not link the logarithm.
    ///
    /// # Safety
    /// As [`vector`].
    #[inline(never)]
    unsafe fn fold_general<T: Storage, O: Output<Compute<T>>>(
        exec: &Exec<'_>,
        reduction: &OfVector<Compute<T>>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
        let x = StridedVector::new(x, inc);
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            out.write(match reduction.recipe {
                Recipe::Sum => O::of_vector(exec, &reduction.with(Recipe::Sum), n, x),
                _ => O::of_vector(exec, &reduction.with(Recipe::Plain), n, x),
            });
        }
        Ok(())
    }

    /// The general path of [`vector`].
    ///
    /// # Safety
    /// As [`vector`].
    #[inline(never)]
    unsafe fn vector_general<T: Storage, O: Output<Compute<T>>>(
        exec: &Exec<'_>,
        reduction: &OfVector<Compute<T>>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            out.write(O::of_vector(exec, reduction, n, StridedVector::new(x, inc)));
        }
        Ok(())
    }

    /// Checks and runs the reduction of each row.
    ///
    /// # Safety
    /// `x` must be valid at m by n elements, `out` at m.
    unsafe fn rows<T: Storage, O: Output<Compute<T>>>(
        exec: &Exec<'_>,
        reduction: &ReductionKernels<Compute<T>>,
        needs_elements: bool,
        m: i64,
        n: i64,
        x: *const T,
        rs: i64,
        cs: i64,
        out: *mut O,
        inc_out: i64,
    ) -> Result<()> {
        if let Some(checked) = check::rows(needs_elements, m, n, x, rs, cs, out, inc_out)? {
            let (rows, out) = of_checked(checked, x, out);
            // SAFETY: the caller vouches for the arrays.
            unsafe { rows::reduce(exec, reduction, rows, out) };
        }
        Ok(())
    }

    macro_rules! reductions {
        ({} $([$(#[$doc:meta])*] $name:ident $rows:ident [$($ddof:ident)?] $out:ident $empty:ident)*) => {$(
            reductions!(@$out [$(#[$doc])*] $name $rows ($($ddof)?) $empty);
        )*};
        (@element $($row:tt)*) => {
            reductions!(@folds T T $($row)*);
        };
        (@count $($row:tt)*) => {
            reductions!(@folds i64 Count $($row)*);
        };
        (@folds $Result:ident $Output:ident [$(#[$doc:meta])*] $name:ident $rows:ident ($($ddof:ident)?) $empty:ident) => {
            $(#[$doc])*
            ///
            /// The result is written to `out`. Element i of x is at `x + i * incx`; `incx` may be 0 or negative.
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `out` overlaps an element of
            /// x; `EmptyReduction` for n = 0, unless the operation has a value for that.
            $(#[doc = concat!("`InvalidValue` unless 0 <= ", stringify!($ddof), " < n.")])?
            ///
            /// # Safety
            /// `x` must be valid for reading at `n` elements, `out` for writing one.
            #[inline(always)]
            pub unsafe fn $name<T: Storage>(
                exec: &Exec<'_>, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut $Result,
            ) -> Result<()> {
                let degrees = 0;
                $(let degrees = degrees + check::ddof(n, $ddof)?;)?
                let reduction = |level| reduction::$name::<T>(level, degrees);
                // SAFETY: as the caller's.
                unsafe { vector(exec, reduction, needs_elements!($empty), n, x, incx, out.cast::<$Output>()) }
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`](fn@", stringify!($name), ") of row i of an m by n matrix, for i in 0 .. m.")]
            ///
            /// Element (i, j) of the matrix is at `x + i * rs + j * cs`; `rs` and `cs` may be 0 or negative. For
            /// columns, exchange `m` with `n` and `rs` with `cs`.
            ///
            /// # Errors
            /// As the vector form; also `Overlap` when two results have one address. m = 0 is no error.
            ///
            /// # Safety
            /// `x` must be valid for reading at m by n elements, `out` for writing at m.
            pub unsafe fn $rows<T: Storage>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)? out: *mut $Result, inc_out: i64,
            ) -> Result<()> {
                let degrees = 0;
                $(let degrees = degrees + check::ddof(n, $ddof)?;)?
                let reduction = reduction::$name::<T>(exec.level()?, degrees);
                // SAFETY: as the caller's.
                unsafe { rows(exec, &reduction, needs_elements!($empty), m, n, x, rs, cs, out.cast::<$Output>(), inc_out) }
            }
        };
        (@index [$(#[$doc:meta])*] $name:ident $rows:ident () $empty:ident) => {
            $(#[$doc])*
            ///
            /// The result is written to `out`. Element i of x is at `x + i * incx`; `incx` may be 0 or negative.
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `out` overlaps an element of
            /// x; `EmptyReduction` for n = 0.
            ///
            /// # Safety
            /// `x` must be valid for reading at `n` elements, `out` for writing one.
            #[inline(always)]
            pub unsafe fn $name<T: Storage>(exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut i64) -> Result<()> {
                let level = exec.level()?;
                let (n, inc) = if fast_path::qualifies(n, x, incx, out) {
                    (n as usize, 1)
                } else {
                    check::vector(needs_elements!($empty), n, x, incx, out)?
                };
                // SAFETY: the caller vouches for the arrays.
                unsafe { out.write(search::$name(level, n, StridedVector::new(x, inc))) };
                Ok(())
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`](fn@", stringify!($name), ") of row i of an m by n matrix, for i in 0 .. m.")]
            ///
            /// Element (i, j) of the matrix is at `x + i * rs + j * cs`; `rs` and `cs` may be 0 or negative. For
            /// columns, exchange `m` with `n` and `rs` with `cs`.
            ///
            /// # Errors
            /// As the vector form; also `Overlap` when two results have one address. m = 0 is no error.
            ///
            /// # Safety
            /// `x` must be valid for reading at m by n elements, `out` for writing at m.
            pub unsafe fn $rows<T: Storage>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut i64, inc_out: i64,
            ) -> Result<()> {
                let level = exec.level()?;
                if let Some(checked) = check::rows(needs_elements!($empty), m, n, x, rs, cs, out, inc_out)? {
                    let (rows, out) = of_checked(checked, x, out);
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { search::search(exec, Search::<Compute<T>>::$name(level), rows, out) };
                }
                Ok(())
            }
        };
    }
    for_each_reduction!(reductions! {} [doc name rows ddof result empty]);

    /// The dot product of x and y, in the canonical order, written to `out`; +0 for n = 0.
    ///
    /// Element i of x is at `x + i * incx`, that of y at `y + i * incy`; the strides may be 0 or negative.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `out` overlaps an element.
    ///
    /// # Safety
    /// `x` and `y` must be valid for reading at `n` elements, `out` for writing one.
    #[inline(always)]
    pub unsafe fn dot<T: Storage>(
        exec: &Exec<'_>,
        n: i64,
        x: *const T,
        incx: i64,
        y: *const T,
        incy: i64,
        out: *mut T,
    ) -> Result<()> {
        let is_small =
            || fast_path::qualifies(n, x, incx, out) && fast_path::qualifies(n, y, incy, out);
        if const { !is_element::<T>() } || !is_small() {
            // SAFETY: as the caller's.
            return unsafe { dot_general(exec, n, x, incx, y, incy, out) };
        }
        let dot = <ops::Dot as FoldOf<Compute<T>>>::vector(exec.level()?);
        let (n, x, y, zero) = (n as usize, x.cast(), y.cast(), Compute::<T>::ZERO);
        // SAFETY: the caller vouches for the arrays, whose elements are of the type of arithmetic.
        unsafe { out.write(T::from_compute(finish_sum(dot(n, x, 1, y, 1, zero).0))) };
        Ok(())
    }

    /// The general path of [`dot`].
    ///
    /// # Safety
    /// As [`dot`].
    #[inline(never)]
    unsafe fn dot_general<T: Storage>(
        exec: &Exec<'_>,
        n: i64,
        x: *const T,
        incx: i64,
        y: *const T,
        incy: i64,
        out: *mut T,
    ) -> Result<()> {
        let level = exec.level()?;
        let (n, incx, incy) = check::dot(n, x, incx, y, incy, out)?;
        let (x, y) = (StridedVector::new(x, incx), StridedVector::new(y, incy));
        let dot = FoldKernels::of::<ops::Dot>(level);
        // SAFETY: the caller vouches for the arrays.
        let sum = unsafe { fold(exec, dot, n, x, y, Compute::<T>::ZERO).0 };
        // SAFETY: as above.
        unsafe { out.write(T::from_compute(finish_sum(sum))) };
        Ok(())
    }
}
