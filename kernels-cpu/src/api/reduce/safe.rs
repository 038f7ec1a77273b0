//! The safe form.
#![allow(clippy::missing_errors_doc)]

use super::*;

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident, $rows:ident $(, $ddof:ident)?;)*) => {$(
        $(#[$doc])*
        pub fn $name<'x, T: Element>(exec: &Exec<'_>, x: impl Into<VecRef<'x, T>> $(, $ddof: i64)?) -> Result<T> {
            let x = x.into();
            let mut out = T::ZERO;
            // SAFETY: the view has as many elements as it says.
            unsafe { raw::$name(exec, x.elements() as i64, x.ptr(), x.inc() as i64, $($ddof,)? &mut out)? };
            Ok(out)
        }

        #[doc = concat!("out\\[i\\] = [`", stringify!($name), "`] of row i, with the same bits; of column i on `x.t()`.")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless `out` has an element per row, and as the vector form.
        pub fn $rows<'o, T: Element>(
            exec: &Exec<'_>, x: MatRef<'_, T>, $($ddof: i64,)? out: impl Into<VecMut<'o, T>>,
        ) -> Result<()> {
            let mut out = out.into();
            if out.elements() != x.rows() {
                return Err(Error::ShapeMismatch { arg: "out" });
            }
            let (m, n) = (x.rows() as i64, x.cols() as i64);
            let (rs, cs, inc) = (x.rs() as i64, x.cs() as i64, out.inc() as i64);
            // SAFETY: the views have as many elements as they say.
            unsafe { raw::$rows(exec, m, n, x.ptr(), rs, cs, $($ddof,)? out.ptr(), inc) }
        }
    )*};
}

reductions! {
    /// The sum in the canonical order; 0 for nothing.
    sum, sum_rows;
    /// The sum divided by the count. [`Error::EmptyReduction`] for nothing.
    mean, mean_rows;
    /// The product in the canonical order; 1 for nothing.
    prod, prod_rows;
    /// The least element: NaN wins, -0 < +0. [`Error::EmptyReduction`] for nothing.
    min, min_rows;
    /// The greatest element: NaN wins, -0 < +0. [`Error::EmptyReduction`] for nothing.
    max, max_rows;
    /// The sum of squares; 0 for nothing.
    sumsq, sumsq_rows;
    /// The sum of absolute values; 0 for nothing.
    asum, asum_rows;
    /// The Euclidean norm, without avoidable overflow or underflow; 0 for nothing.
    nrm2, nrm2_rows;
    /// The variance: the sum of squared distances from the mean, divided by n - ddof.
    /// [`Error::EmptyReduction`] for nothing, [`Error::InvalidValue`] unless 0 <= ddof < n.
    var, var_rows, ddof;
    /// log(sum of e^x) without avoidable overflow; -infinity for nothing.
    logsumexp, logsumexp_rows;
}

macro_rules! searches {
    ($($(#[$doc:meta])* $name:ident, $rows:ident;)*) => {$(
        $(#[$doc])*
        /// [`Error::EmptyReduction`] for nothing.
        pub fn $name<'x, T: Element>(exec: &Exec<'_>, x: impl Into<VecRef<'x, T>>) -> Result<usize> {
            let x = x.into();
            let mut out = 0;
            // SAFETY: the view has as many elements as it says.
            unsafe { raw::$name(exec, x.elements() as i64, x.ptr(), x.inc() as i64, &mut out)? };
            Ok(out as usize)
        }

        #[doc = concat!("out\\[i\\] = [`", stringify!($name), "`] of row i; of column i on `x.t()`.")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless `out` has an element per row, and as the vector form.
        pub fn $rows<'o, T: Element>(
            exec: &Exec<'_>, x: MatRef<'_, T>, out: impl Into<VecMut<'o, i64>>,
        ) -> Result<()> {
            let mut out = out.into();
            if out.elements() != x.rows() {
                return Err(Error::ShapeMismatch { arg: "out" });
            }
            let (m, n) = (x.rows() as i64, x.cols() as i64);
            // SAFETY: the views have as many elements as they say.
            unsafe { raw::$rows(exec, m, n, x.ptr(), x.rs() as i64, x.cs() as i64, out.ptr(), out.inc() as i64) }
        }
    )*};
}

searches! {
    /// The index of the first NaN, else of the first least element by value (-0 equals +0).
    argmin, argmin_rows;
    /// The index of the first NaN, else of the first greatest element by value (-0 equals +0).
    argmax, argmax_rows;
}

/// The dot product in the canonical order; 0 for nothing.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` and `y` have one length.
pub fn dot<'x, 'y, T: Element>(
    exec: &Exec<'_>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
) -> Result<T> {
    let (x, y) = (x.into(), y.into());
    if x.elements() != y.elements() {
        return Err(Error::ShapeMismatch { arg: "y" });
    }
    let mut out = T::ZERO;
    let n = x.elements() as i64;
    // SAFETY: the views have n elements.
    unsafe {
        raw::dot(
            exec,
            n,
            x.ptr(),
            x.inc() as i64,
            y.ptr(),
            y.inc() as i64,
            &mut out,
        )?
    };
    Ok(out)
}
