//! The safe forms of reductions.
#![allow(clippy::missing_errors_doc)]

use super::forms::forms;
use super::kinds::Reductions;
use super::*;
use crate::number::Number;

macro_rules! reductions {
    ({} $($doc:tt $name:ident $rows:ident $ddof:tt $out:ident $empty:ident $integers:tt)*) => {$(
        reductions!(@of $integers $doc $name $rows $ddof $out $empty);
    )*};
    (@of [] $($row:tt)*) => { reductions!(@forms [T: Storage] [raw] "" $($row)*); };
    (@of $fold:tt $($row:tt)*) => {
        reductions!(@forms [T: Number] [T::Kind as Reductions<T, T>] "Integers: exact modulo 2^bits." $($row)*);
    };
    (@forms $generics:tt $via:tt $note:literal
        [$(#[$doc:meta])*] $name:ident $rows:ident [$($ddof:ident)?] $out:ident $empty:ident) => {
        forms! {
            $generics (T) $via $name $rows [$($ddof)?] $out
            [
                $(#[$doc])*
                #[doc = $note]
                ///
                /// # Errors
                #[doc = errors!($empty)]
                $(#[doc = concat!("[`Error::InvalidValue`] unless 0 <= ", stringify!($ddof), " < n.")])?
                #[doc = example!($name)]
            ]
            [
                #[doc = concat!("out\\[i\\] = [`", stringify!($name), "`](fn@", stringify!($name), ") of row i of")]
                /// `x`, with the bits of the call on that row alone.
                /// For the columns of a matrix pass its transpose, `x.t()`.
                ///
                /// # Errors
                /// [`Error::ShapeMismatch`] unless `out` has an element for each row; [`Error::Overlap`] when two
                /// elements of `out` have one address; and the errors of the vector form, where a matrix without rows
                /// is not an empty reduction: the call succeeds and writes nothing.
                #[doc = example!($rows)]
            ]
        }
    };
}

macro_rules! errors {
    (refused) => {
        "[`Error::EmptyReduction`] when `x` is empty."
    };
    (value) => {
        "None besides [`Error::LevelUnavailable`]."
    };
}

/// The examples in the documentation.
macro_rules! example {
    (sum) => {
        r"
# Example

```
use diptych::{Exec, VecRef, sum};

let x = [1.0_f32, 2.0, 3.0, 4.0];
assert_eq!(sum(&Exec::new(), &x)?, 10.0);
// Every second element.
assert_eq!(sum(&Exec::new(), VecRef::with_stride(&x, 0, 2, 2)?)?, 4.0);
# Ok::<(), diptych::Error>(())
```
"
    };
    (sum_rows) => {
        r"
# Example

```
use diptych::{Exec, MatRef, sum_rows};

let x = MatRef::new(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], 2, 3)?;
let (mut rows, mut columns) = ([0.0; 2], [0.0; 3]);
sum_rows(&Exec::new(), x, &mut rows)?;
sum_rows(&Exec::new(), x.t(), &mut columns)?;
assert_eq!((rows, columns), ([6.0, 15.0], [5.0, 7.0, 9.0]));
# Ok::<(), diptych::Error>(())
```
"
    };
    (var) => {
        r"
# Example

```
use diptych::{Exec, var};

let x = [1.0_f64, 2.0, 3.0, 4.0];
assert_eq!(var(&Exec::new(), &x, 0)?, 1.25);
assert_eq!(var(&Exec::new(), &x, 1)?, 5.0 / 3.0);
# Ok::<(), diptych::Error>(())
```
"
    };
    (std) => {
        r"
# Example

```
use diptych::{Exec, std};

let x = [-3.0_f64, 3.0, 3.0, -3.0];
assert_eq!(std(&Exec::new(), &x, 0)?, 3.0);
# Ok::<(), diptych::Error>(())
```
"
    };
    (argmax) => {
        r#"
# Example

```
use diptych::{Error, Exec, argmax};

assert_eq!(argmax(&Exec::new(), &[1.0_f32, 7.0, 7.0])?, 1);
assert_eq!(argmax(&Exec::new(), &[1.0_f32, f32::NAN, 7.0])?, 1);
let empty: &[f32] = &[];
assert_eq!(argmax(&Exec::new(), empty), Err(Error::EmptyReduction { arg: "n" }));
# Ok::<(), diptych::Error>(())
```
"#
    };
    ($other:ident) => {
        ""
    };
}

for_each_reduction!(reductions! {} [doc name rows ddof result empty integers]);

/// The dot product of x and y, in the canonical order: fma(x\[i\], y\[i\], lane).
///
/// NaN: a NaN in x or y gives the canonical NaN.
/// Empty: +0.
/// Integers: exact modulo 2^bits.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` and `y` have the same length.
///
/// # Example
///
/// ```
/// use diptych::{Exec, dot};
///
/// assert_eq!(dot(&Exec::new(), &[1.0_f32, 2.0, 3.0], &[4.0, 5.0, 6.0])?, 32.0);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn dot<'x, 'y, T: Number>(
    exec: &Exec<'_>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
) -> Result<T> {
    dot_of::<T::Kind, T, T>(exec, &x.into(), &y.into())
}

/// Returns the dot product in the type `O`.
///
/// # Errors
/// As [`dot`].
#[inline(always)]
pub(super) fn dot_of<K: Reductions<T, O>, T: Number, O: Default>(
    exec: &Exec<'_>,
    x: &VecRef<'_, T>,
    y: &VecRef<'_, T>,
) -> Result<O> {
    if x.elements() != y.elements() {
        return Err(Error::ShapeMismatch { arg: "y" });
    }
    let mut out = O::default();
    let ((p, incx), (q, incy)) = (x.vector(), y.vector());
    // SAFETY: the views have as many elements as they say.
    unsafe { K::dot(exec, x.elements() as i64, p, incx, q, incy, &mut out)? };
    Ok(out)
}
