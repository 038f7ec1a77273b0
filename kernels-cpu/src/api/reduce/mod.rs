//! sum, mean, prod, min, max, sumsq, asum, nrm2, var, logsumexp, argmin, argmax, dot.

pub(crate) mod check;
mod fold;
mod output;
mod plain;
mod reduction;
mod rows;
mod safe;

pub(crate) use fold::{Fold, MAX_PARTS, Parts, Strided, fold, pairwise};
pub(crate) use reduction::COLUMNS;
pub use safe::*;

use crate::dispatch::{Kernels, Vector};
use crate::element::{Element, Storage};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::ops::reduce as ops;
use crate::recipe::{Recipe, finish_sum};
use crate::view::{MatRef, VecMut, VecRef};
use crate::{for_each_reduction, level::Level};
use check::Shape;
use output::{Count, Output};
use reduction::{OfVector, Reduction};
use rows::{Rows, Search};

/// Whether an empty vector is refused, as a row of the table says.
macro_rules! needs_elements {
    (refused) => {
        true
    };
    (value) => {
        false
    };
}

/// Checked rows, and where their results go.
fn of_shape<T, O>(shape: Shape, x: *const T, out: *mut O) -> (Rows<T>, Strided<O>) {
    let Shape { m, n, rs, cs, .. } = shape;
    let x = Shared::new(x);
    (Rows { m, n, x, rs, cs }, Strided::new(out, shape.inc_out))
}

/// The pointer form.
pub mod raw {
    use super::*;

    /// Checks and runs a reduction of a vector.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements, `out` at one.
    #[inline(always)]
    unsafe fn vector<T: Storage, O: Output<T>>(
        exec: &Exec<'_>,
        reduction: impl Fn(Level) -> Reduction<T>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        if !plain::is_plain(n, x, incx, out) {
            let of_vector = reduction(exec.level()?).one;
            // SAFETY: as the caller's.
            return unsafe {
                if of_vector.recipe.is_fold() {
                    any_fold(exec, &of_vector, needs_elements, n, x, incx, out)
                } else {
                    any_vector(exec, &of_vector, needs_elements, n, x, incx, out)
                }
            };
        }
        let reduction = reduction(exec.level()?).one;
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            let x = Strided::new(x, 1);
            out.write(O::of_vector(&Exec::new(), &reduction, n as usize, x));
        }
        Ok(())
    }

    /// As [`any_vector`], for reductions that are a fold: a program that calls no others needs no logarithm.
    ///
    /// # Safety
    /// As [`vector`].
    #[inline(never)]
    unsafe fn any_fold<T: Storage, O: Output<T>>(
        exec: &Exec<'_>,
        reduction: &OfVector<T>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
        let x = Strided::new(x, inc);
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            out.write(match reduction.recipe {
                Recipe::Sum => O::of_vector(exec, &reduction.with(Recipe::Sum), n, x),
                _ => O::of_vector(exec, &reduction.with(Recipe::Plain), n, x),
            });
        }
        Ok(())
    }

    /// As [`vector`], the long way.
    ///
    /// # Safety
    /// As [`vector`].
    #[inline(never)]
    unsafe fn any_vector<T: Storage, O: Output<T>>(
        exec: &Exec<'_>,
        reduction: &OfVector<T>,
        needs_elements: bool,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut O,
    ) -> Result<()> {
        let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
        // SAFETY: the caller vouches for the arrays.
        unsafe {
            out.write(O::of_vector(exec, reduction, n, Strided::new(x, inc)));
        }
        Ok(())
    }

    /// Checks and runs a reduction of rows.
    ///
    /// # Safety
    /// `x` must be valid at m by n elements, `out` at m.
    unsafe fn rows<T: Storage, O: Output<T>>(
        exec: &Exec<'_>,
        reduction: &Reduction<T>,
        needs_elements: bool,
        m: i64,
        n: i64,
        x: *const T,
        rs: i64,
        cs: i64,
        out: *mut O,
        inc_out: i64,
    ) -> Result<()> {
        if let Some(shape) = check::rows(needs_elements, m, n, x, rs, cs, out, inc_out)? {
            let (rows, out) = of_shape(shape, x, out);
            // SAFETY: the caller vouches for the arrays.
            unsafe { rows::reduce(exec, reduction, rows, out) };
        }
        Ok(())
    }

    macro_rules! reductions {
        ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
            reductions!(@$out [$(#[$doc])*] $name $rows ($($ddof)?) $Bound $empty);
        )*};
        (@element $($row:tt)*) => {
            reductions!(@folds T T $($row)*);
        };
        (@count $($row:tt)*) => {
            reductions!(@folds i64 Count $($row)*);
        };
        (@folds $Result:ident $Output:ident [$(#[$doc:meta])*] $name:ident $rows:ident ($($ddof:ident)?) $Bound:ident $empty:ident) => {
            $(#[$doc])*
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`, `Overlap`; where nothing
            /// has no value, `EmptyReduction`.
            $(#[doc = concat!("`InvalidValue` unless 0 <= ", stringify!($ddof), " < n.")])?
            ///
            /// # Safety
            /// `x` must be valid at `n` elements, `out` for one.
            #[inline(always)]
            pub unsafe fn $name<T: $Bound>(
                exec: &Exec<'_>, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut $Result,
            ) -> Result<()> {
                let degrees = 0;
                $(let degrees = degrees + check::ddof(n, $ddof)?;)?
                let reduction = |level| reduction::$name::<T>(level, degrees);
                // SAFETY: as the caller's.
                unsafe { vector(exec, reduction, needs_elements!($empty), n, x, incx, out.cast::<$Output>()) }
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`] of row i of a matrix of m rows of n elements.")]
            ///
            /// # Errors
            /// As the vector form.
            ///
            /// # Safety
            /// `x` must be valid at m by n elements, `out` at m.
            pub unsafe fn $rows<T: $Bound>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)? out: *mut $Result, inc_out: i64,
            ) -> Result<()> {
                let degrees = 0;
                $(let degrees = degrees + check::ddof(n, $ddof)?;)?
                let reduction = reduction::$name::<T>(exec.level()?, degrees);
                // SAFETY: as the caller's.
                unsafe { rows(exec, &reduction, needs_elements!($empty), m, n, x, rs, cs, out.cast::<$Output>(), inc_out) }
            }
        };
        (@index [$(#[$doc:meta])*] $name:ident $rows:ident () $Bound:ident $empty:ident) => {
            $(#[$doc])*
            ///
            /// # Errors
            /// As the other reductions; where nothing has no value, `EmptyReduction`.
            ///
            /// # Safety
            /// `x` must be valid at `n` elements, `out` for one.
            #[inline(always)]
            pub unsafe fn $name<T: $Bound>(exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut i64) -> Result<()> {
                let index = Kernels::<T>::new(exec.level()?).$name();
                if plain::is_plain(n, x, incx, out) {
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { out.write(index(n as usize, x, 1) as i64) };
                    return Ok(());
                }
                let (n, inc) = check::vector(needs_elements!($empty), n, x, incx, out)?;
                // SAFETY: the caller vouches for the arrays.
                unsafe { out.write(index(n, x, inc) as i64) };
                Ok(())
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`] of row i of a matrix of m rows of n elements.")]
            ///
            /// # Errors
            /// As the vector form.
            ///
            /// # Safety
            /// `x` must be valid at m by n elements, `out` at m.
            pub unsafe fn $rows<T: $Bound>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut i64, inc_out: i64,
            ) -> Result<()> {
                let level = exec.level()?;
                if let Some(shape) = check::rows(needs_elements!($empty), m, n, x, rs, cs, out, inc_out)? {
                    let (rows, out) = of_shape(shape, x, out);
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { rows::search(exec, Search::$name(level), rows, out) };
                }
                Ok(())
            }
        };
    }
    for_each_reduction!(reductions! {});

    /// The dot product; 0 for nothing.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`, `Overlap`.
    ///
    /// # Safety
    /// `x` and `y` must be valid at `n` elements, `out` for one.
    #[inline(always)]
    pub unsafe fn dot<T: Element>(
        exec: &Exec<'_>,
        n: i64,
        x: *const T,
        incx: i64,
        y: *const T,
        incy: i64,
        out: *mut T,
    ) -> Result<()> {
        if !plain::is_plain(n, x, incx, out) || !plain::is_plain(n, y, incy, out) {
            // SAFETY: as the caller's.
            return unsafe { any_dot(exec, n, x, incx, y, incy, out) };
        }
        let dot = <ops::Dot as Vector<T>>::vector(exec.level()?);
        // SAFETY: the caller vouches for the arrays.
        unsafe { out.write(finish_sum(dot(n as usize, x, 1, y, 1, T::ZERO))) };
        Ok(())
    }

    /// As [`dot`], the long way.
    ///
    /// # Safety
    /// As [`dot`].
    #[inline(never)]
    unsafe fn any_dot<T: Element>(
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
        let (x, y) = (Strided::new(x, incx), Strided::new(y, incy));
        let dot = Fold::of::<ops::Dot>(level);
        // SAFETY: the caller vouches for the arrays.
        unsafe { out.write(finish_sum(fold(exec, dot, n, x, y, T::ZERO))) };
        Ok(())
    }
}
