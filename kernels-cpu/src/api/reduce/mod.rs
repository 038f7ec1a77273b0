//! sum, mean, prod, min, max, sumsq, asum, nrm2, var, logsumexp, argmin, argmax, dot.

pub(crate) mod check;
pub(crate) mod finish;
mod fold;
mod operation;
mod plain;
mod rows;
mod safe;

pub(crate) use finish::finish_sum;
pub(crate) use fold::{Fold, MAX_PARTS, Parts, Strided, fold, pairwise};
pub(crate) use operation::COLUMNS;
pub use safe::*;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::view::{MatRef, VecMut, VecRef};
use check::Shape;
use operation::Operation;
use rows::{Rows, Search};

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
    unsafe fn vector<T: Element>(
        exec: &Exec<'_>,
        op: Operation,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut T,
    ) -> Result<()> {
        if !plain::is_plain(n, x, incx, out) {
            // SAFETY: as the caller's.
            return unsafe { any_vector(exec, op, n, x, incx, out) };
        }
        let k = T::kernels(exec.level()?);
        // SAFETY: the caller vouches for the arrays.
        unsafe { out.write(op.vector(&Exec::new(), k, n as usize, Strided::new(x, 1))) };
        Ok(())
    }

    /// As [`vector`], the long way.
    ///
    /// # Safety
    /// As [`vector`].
    #[inline(never)]
    unsafe fn any_vector<T: Element>(
        exec: &Exec<'_>,
        op: Operation,
        n: i64,
        x: *const T,
        incx: i64,
        out: *mut T,
    ) -> Result<()> {
        let level = exec.level()?;
        let (n, inc) = check::vector(op.needs_elements(), n, x, incx, out)?;
        // SAFETY: the caller vouches for the arrays.
        unsafe { out.write(op.vector(exec, T::kernels(level), n, Strided::new(x, inc))) };
        Ok(())
    }

    macro_rules! reductions {
        ($($(#[$doc:meta])* $name:ident, $rows:ident, $op:ident;)*) => {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`, `Overlap`; where nothing
            /// has no value, `EmptyReduction`.
            ///
            /// # Safety
            /// `x` must be valid at `n` elements, `out` for one.
            #[inline(always)]
            pub unsafe fn $name<T: Element>(exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut T) -> Result<()> {
                // SAFETY: as the caller's.
                unsafe { vector(exec, Operation::$op, n, x, incx, out) }
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`] of row i of a matrix of m rows of n elements.")]
            ///
            /// # Errors
            /// As the vector form.
            ///
            /// # Safety
            /// `x` must be valid at m by n elements, `out` at m.
            pub unsafe fn $rows<T: Element>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut T, inc_out: i64,
            ) -> Result<()> {
                let (level, op) = (exec.level()?, Operation::$op);
                if let Some(shape) = check::rows(op.needs_elements(), m, n, x, rs, cs, out, inc_out)? {
                    let (rows, out) = of_shape(shape, x, out);
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { rows::reduce(exec, T::kernels(level), op, rows, out) };
                }
                Ok(())
            }
        )*};
    }

    reductions! {
        /// The sum; 0 for nothing.
        sum, sum_rows, Sum;
        /// The sum divided by n.
        mean, mean_rows, Mean;
        /// The product; 1 for nothing.
        prod, prod_rows, Prod;
        /// The least element: NaN wins, -0 < +0.
        min, min_rows, Min;
        /// The greatest element: NaN wins, -0 < +0.
        max, max_rows, Max;
        /// The sum of squares; 0 for nothing.
        sumsq, sumsq_rows, Sumsq;
        /// The sum of absolute values; 0 for nothing.
        asum, asum_rows, Asum;
        /// The Euclidean norm, without avoidable overflow or underflow; 0 for nothing.
        nrm2, nrm2_rows, Nrm2;
        /// log(sum of e^x) without avoidable overflow; -infinity for nothing.
        logsumexp, logsumexp_rows, Logsumexp;
    }

    /// The variance: the sum of squared distances from the mean, divided by n - ddof, in two passes.
    ///
    /// # Errors
    /// As the other reductions; `InvalidValue` unless 0 <= ddof < n.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements, `out` for one.
    pub unsafe fn var<T: Element>(
        exec: &Exec<'_>,
        n: i64,
        x: *const T,
        incx: i64,
        ddof: i64,
        out: *mut T,
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            vector(
                exec,
                Operation::Var {
                    ddof: check::ddof(n, ddof)?,
                },
                n,
                x,
                incx,
                out,
            )
        }
    }

    /// out\[i * inc_out\] = [`var`] of row i of a matrix of m rows of n elements.
    ///
    /// # Errors
    /// As the vector form.
    ///
    /// # Safety
    /// `x` must be valid at m by n elements, `out` at m.
    pub unsafe fn var_rows<T: Element>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        x: *const T,
        rs: i64,
        cs: i64,
        ddof: i64,
        out: *mut T,
        inc_out: i64,
    ) -> Result<()> {
        let (level, op) = (
            exec.level()?,
            Operation::Var {
                ddof: check::ddof(n, ddof)?,
            },
        );
        if let Some(shape) = check::rows(true, m, n, x, rs, cs, out, inc_out)? {
            let (rows, out) = of_shape(shape, x, out);
            // SAFETY: the caller vouches for the arrays.
            unsafe { rows::reduce(exec, T::kernels(level), op, rows, out) };
        }
        Ok(())
    }

    macro_rules! searches {
        ($($(#[$doc:meta])* $name:ident, $rows:ident, $columns:ident, $extremes:ident;)*) => {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// As the other reductions; `EmptyReduction` for nothing.
            ///
            /// # Safety
            /// `x` must be valid at `n` elements, `out` for one.
            #[inline(always)]
            pub unsafe fn $name<T: Element>(exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut i64) -> Result<()> {
                let level = exec.level()?;
                if plain::is_plain(n, x, incx, out) {
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { out.write((T::kernels(level).$name)(n as usize, x, 1) as i64) };
                    return Ok(());
                }
                let (n, inc) = check::vector(true, n, x, incx, out)?;
                // SAFETY: the caller vouches for the arrays.
                unsafe { out.write((T::kernels(level).$name)(n, x, inc) as i64) };
                Ok(())
            }

            #[doc = concat!("out\\[i * inc_out\\] = [`", stringify!($name), "`] of row i of a matrix of m rows of n elements.")]
            ///
            /// # Errors
            /// As the vector form.
            ///
            /// # Safety
            /// `x` must be valid at m by n elements, `out` at m.
            pub unsafe fn $rows<T: Element>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, out: *mut i64, inc_out: i64,
            ) -> Result<()> {
                let k = T::kernels(exec.level()?);
                let search = Search {
                    vector: k.$name,
                    columns: k.$columns,
                    extremes: k.$extremes,
                    first: k.first_in_rows,
                };
                if let Some(shape) = check::rows(true, m, n, x, rs, cs, out, inc_out)? {
                    let (rows, out) = of_shape(shape, x, out);
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { rows::search(exec, search, rows, out) };
                }
                Ok(())
            }
        )*};
    }

    searches! {
        /// The index of the first NaN, else of the first least element by value (-0 equals +0).
        argmin, argmin_rows, argmin_columns, min_rows;
        /// The index of the first NaN, else of the first greatest element by value (-0 equals +0).
        argmax, argmax_rows, argmax_columns, max_rows;
    }

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
        let dot = T::kernels(exec.level()?).dot;
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
        let dot = Fold::dot(T::kernels(level));
        // SAFETY: the caller vouches for the arrays.
        unsafe { out.write(finish_sum(fold(exec, dot, n, x, y, T::ZERO))) };
        Ok(())
    }
}
