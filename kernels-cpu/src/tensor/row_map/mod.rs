//! Maps over axes of tensors, expanded from the table of operations (`for_each_row_map!`).

pub(crate) mod plan;

use super::element_type::with_storage;
use super::kind::Location;
use super::operand::Tensor;
use crate::api::row_map::run;
use crate::element::Dtype;
use crate::error::Result;
use crate::exec::Exec;
use crate::for_each_row_map;
use plan::RowMapPlan;

/// The maps.
macro_rules! operations {
    ({} $([$(#[$doc:meta])*] $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// Here a row is what `axes` of x make: negative ones count from the end; `None`: all. Its elements are taken in
        /// row-major order of these axes. `out` has the type and the shape of x; it may be exactly x, and must otherwise
        /// not overlap it.
        ///
        /// # Errors
        /// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU, `Overlap`; `InvalidValue`
        /// for a bad rank, and for an axis that x does not have or that is named twice; `NullPointer`, `Misaligned`,
        /// `NegativeSize`, `SizeOverflow`.
        ///
        /// # Safety
        /// The tensors must be valid at all elements, x for reading and `out` for writing.
        #[inline]
        pub unsafe fn $name(exec: &Exec<'_>, x: &Tensor, axes: Option<&[i32]>, out: &Tensor) -> Result<()> {
            let level = exec.level()?;
            let mut plan = RowMapPlan::empty();
            // SAFETY: as the caller's; the tensors have been checked then.
            unsafe {
                if let Some(dtype) = plan.check(x, axes, out, Location::Host)? {
                    with_storage!(dtype, T => plan.run::<T>(exec, &run::$name::<T>(level)));
                }
            }
            Ok(())
        }
    )*};
}
for_each_row_map!(operations! {} [doc name]);
