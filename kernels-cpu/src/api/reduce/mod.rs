//! Reductions of vectors and of the rows of a matrix: the table (`for_each_reduction!`), and `dot`.

pub(crate) mod check;
mod fast_path;
pub(crate) mod fold;
mod forms;
pub(crate) mod gathered;
mod integer_dot;
mod kernel;
pub(crate) mod kinds;
mod output;
pub(crate) mod reduction;
pub(crate) mod results;
mod rows;
mod safe;
pub(crate) mod search;
mod short;
mod tree;
mod vectors;
pub mod wide;
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

use crate::dispatch::Compute;
use crate::element::Storage;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::view::{MatRef, VecMut, VecRef};
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
pub(crate) use needs_elements;

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
                // SAFETY: as the caller's.
                unsafe { results::$name::<T, $Output>(exec, n, x, incx, $($ddof,)? out.cast()) }
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
                // SAFETY: as the caller's.
                unsafe { results::$rows::<T, $Output>(exec, m, n, x, rs, cs, $($ddof,)? out.cast(), inc_out) }
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
        // SAFETY: as the caller's.
        unsafe { results::dot(exec, n, x, incx, y, incy, out) }
    }
}
