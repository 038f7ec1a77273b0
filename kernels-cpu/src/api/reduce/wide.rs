//! The safe forms of reductions with results of more bits than the elements.
#![allow(clippy::missing_errors_doc)]

use super::forms::forms;
use super::kinds::Reductions;
use super::safe::dot_of;
use super::{Result, results};
use crate::dispatch::Compute;
use crate::element::Storage;
use crate::error::Error;
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::number::{Accumulate, Number};
use crate::view::{MatRef, VecMut, VecRef};

macro_rules! reductions {
    ({} $($name:ident $rows:ident $ddof:tt $out:ident $integers:tt)*) => {$(
        reductions!(@$out $integers $name $rows $ddof);
    )*};
    (@count $($row:tt)*) => {};
    (@index $($row:tt)*) => {};
    // An extreme is an element.
    (@element [Min] $($row:tt)*) => {};
    (@element [Max] $($row:tt)*) => {};
    (@element [] $($row:tt)*) => {
        reductions!(@forms [T: Storage] (Compute<T>) [results] "[`Storage::Compute`]" $($row)*);
    };
    (@element $fold:tt $($row:tt)*) => {
        reductions!(@forms [T: Accumulate<O>, O: Number] (O) [T::Kind as Reductions<T, O>] "`O`" $($row)*);
    };
    (@forms $generics:tt ($O:ty) $via:tt $type:literal $name:ident $rows:ident $ddof:tt) => {
        forms! {
            $generics ($O) $via $name $rows $ddof element
            [
                #[doc = concat!("As [`", stringify!($name), "`](fn@crate::", stringify!($name), "), with a result")]
                #[doc = concat!("of the type ", $type, ".")]
                ///
                /// # Errors
                #[doc = concat!("Those of [`", stringify!($name), "`](fn@crate::", stringify!($name), ").")]
            ]
            [
                #[doc = concat!("As [`", stringify!($rows), "`](fn@crate::", stringify!($rows), "), with results")]
                #[doc = concat!("of the type ", $type, ".")]
                ///
                /// # Errors
                #[doc = concat!("Those of [`", stringify!($rows), "`](fn@crate::", stringify!($rows), ").")]
            ]
        }
    };
}
for_each_reduction!(reductions! {} [name rows ddof result integers]);

/// As [`dot`](fn@crate::dot), with a result of the type `O`.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` and `y` have the same length.
pub fn dot<'x, 'y, T: Accumulate<O>, O: Number>(
    exec: &Exec<'_>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
) -> Result<O> {
    dot_of::<T::Kind, T, O>(exec, &x.into(), &y.into())
}
