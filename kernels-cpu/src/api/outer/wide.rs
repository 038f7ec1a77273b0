//! The outer product of 16-bit floats without rounding.

use super::{check::Arguments, check_shapes, outer_of_elements, outer_widened};
use crate::dispatch::{Compute, is_element};
use crate::element::Storage;
use crate::error::Result;
use crate::exec::Exec;
use crate::view::{MatMut, VecRef};

/// As [`outer`](fn@crate::outer), with an output of the type [`Storage::Compute`].
///
/// # Errors
/// Those of [`outer`](fn@crate::outer).
pub fn outer<'x, 'y, T: Storage>(
    exec: &Exec<'_>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    mut out: MatMut<'_, Compute<T>>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    let sizes = check_shapes(&x, &y, &out)?;
    let args = Arguments::outer(sizes, x.vector(), y.vector(), out.matrix());
    // SAFETY: the views have as many elements as they say. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<T>() } {
            outer_of_elements(exec, &args.cast())
        } else {
            outer_widened(exec, args)
        }
    }
}
