//! Maps over rows, expanded from the table (`for_each_row_map!`): each row is reduced, and then each of its elements is
//! computed from itself and from these statistics.

pub(crate) mod check;
mod pair;
pub(crate) mod run;

use run::RowMapKernels;

use crate::dispatch::Compute;
use crate::element::Storage;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::for_each_row_map;
use crate::matrix::Matrix;
use crate::view::{MatMut, MatRef};

/// The pointer forms.
pub mod raw {
    use super::*;

    /// Checks and runs a map.
    ///
    /// # Safety
    /// `x` must be valid for reading at m by n elements, `out` for writing.
    unsafe fn apply<T: Storage>(
        exec: &Exec<'_>,
        map: &RowMapKernels<Compute<T>>,
        (m, n): (i64, i64),
        x: Matrix<*const T, i64>,
        out: Matrix<*mut T, i64>,
    ) -> Result<()> {
        if let Some(pair) = check::check(m, n, x, out)? {
            // SAFETY: the caller vouches for the matrices, which have been checked.
            unsafe { map.run(exec, pair, pair.streams()) };
        }
        Ok(())
    }

    macro_rules! row_maps {
        ({} $([$(#[$doc:meta])*] $name:ident)*) => {$(
            $(#[$doc])*
            ///
            /// Element (i, j) of x is at `x + i * x_rs + j * x_cs`, that of the output at `out + i * out_rs + j * out_cs`. For
            /// the columns of a matrix exchange `m` with `n` and each `_rs` with its `_cs`; a vector is a matrix of one
            /// row. The output may be exactly x, with its strides. A matrix without elements is no error.
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when two elements of the output have
            /// one address, and when it overlaps x but is not exactly x.
            ///
            /// # Safety
            /// `x` must be valid for reading at m by n elements, `out` for writing.
            pub unsafe fn $name<T: Storage>(
                exec: &Exec<'_>, m: i64, n: i64, x: *const T, x_rs: i64, x_cs: i64, out: *mut T, out_rs: i64, out_cs: i64,
            ) -> Result<()> {
                let map = run::$name::<T>(exec.level()?);
                // SAFETY: as the caller's.
                unsafe { apply(exec, &map, (m, n), Matrix::new(x, x_rs, x_cs), Matrix::new(out, out_rs, out_cs)) }
            }
        )*};
    }
    for_each_row_map!(row_maps! {} [doc name]);
}

/// The safe forms.
macro_rules! safe {
    ({} $([$(#[$doc:meta])*] $name:ident $in_place:ident)*) => {$(
        $(#[$doc])*
        ///
        /// For the columns of a matrix pass the transposes, `x.t()` and `out.t()`; a vector is a matrix of one row.
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless `out` has the shape of `x`; [`Error::Overlap`] when two elements of `out` have one
        /// address.
        #[doc = example!($name)]
        pub fn $name<T: Storage>(exec: &Exec<'_>, x: MatRef<'_, T>, mut out: MatMut<'_, T>) -> Result<()> {
            if (out.rows(), out.cols()) != (x.rows(), x.cols()) {
                return Err(Error::ShapeMismatch { arg: "out" });
            }
            let (m, n) = (x.rows() as i64, x.cols() as i64);
            let [x_rs, x_cs, out_rs, out_cs] = [x.rs(), x.cs(), out.rs(), out.cs()].map(|stride| stride as i64);
            // SAFETY: the views have as many elements as they say.
            unsafe { raw::$name(exec, m, n, x.ptr(), x_rs, x_cs, out.ptr(), out_rs, out_cs) }
        }

        #[doc = concat!("As [`", stringify!($name), "`], but the result replaces `x`.")]
        ///
        /// # Errors
        /// [`Error::Overlap`] when two elements of `x` have one address.
        pub fn $in_place<T: Storage>(exec: &Exec<'_>, mut x: MatMut<'_, T>) -> Result<()> {
            let (m, n) = (x.rows() as i64, x.cols() as i64);
            let (rs, cs, p) = (x.rs() as i64, x.cs() as i64, x.ptr());
            // SAFETY: the view has as many elements as it says; the output is exactly the input.
            unsafe { raw::$name(exec, m, n, p, rs, cs, p, rs, cs) }
        }
    )*};
}

/// The examples in the documentation.
macro_rules! example {
    (normalize) => {
        r"
# Example

```
use diptych::{Exec, MatMut, MatRef, normalize};

let x = [3.0_f32, 4.0, 0.0, -2.0];
let mut out = [0.0; 4];
normalize(&Exec::new(), MatRef::new(&x, 2, 2)?, MatMut::new(&mut out, 2, 2)?)?;
assert_eq!(out, [0.6, 0.8, 0.0, -1.0]);
# Ok::<(), diptych::Error>(())
```
"
    };
    ($other:ident) => {
        ""
    };
}
for_each_row_map!(safe! {} [doc name in_place]);
