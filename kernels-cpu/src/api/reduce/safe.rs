//! The safe form.
#![allow(clippy::missing_errors_doc)]

use super::*;

macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        #[doc = errors!($empty)]
        $(#[doc = concat!("[`Error::InvalidValue`] unless 0 <= ", stringify!($ddof), " < n.")])?
        pub fn $name<'x, T: $Bound>(exec: &Exec<'_>, x: impl Into<VecRef<'x, T>> $(, $ddof: i64)?) -> Result<result!($out T)> {
            let x = x.into();
            let mut out = Default::default();
            // SAFETY: the view has as many elements as it says.
            unsafe { raw::$name(exec, x.elements() as i64, x.ptr(), x.inc() as i64, $($ddof,)? &mut out)? };
            Ok(result!($out out))
        }

        #[doc = concat!("out\\[i\\] = [`", stringify!($name), "`] of row i, with the same bits; of column i on `x.t()`.")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless `out` has an element per row, and as the vector form.
        pub fn $rows<'o, T: $Bound>(
            exec: &Exec<'_>, x: MatRef<'_, T>, $($ddof: i64,)? out: impl Into<VecMut<'o, output!($out T)>>,
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

/// What a vector form gives: its type, or the value that has been written.
macro_rules! result {
    (element $out:ident) => {
        $out
    };
    ($count_or_index:ident T) => {
        usize
    };
    ($count_or_index:ident $out:ident) => {{
        let index: i64 = $out;
        index as usize
    }};
}

/// The elements of what a form of rows gives.
macro_rules! output {
    (element $T:ident) => {
        $T
    };
    ($count_or_index:ident $T:ident) => {
        i64
    };
}

macro_rules! errors {
    (refused) => {
        "[`Error::EmptyReduction`] for nothing."
    };
    (value) => {
        "None from slices and views."
    };
}

for_each_reduction!(reductions! {});

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
