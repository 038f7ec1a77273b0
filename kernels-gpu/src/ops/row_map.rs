//! Maps over rows.

use crate::tensor::launches;
use diptych::backend::check::row_map::{RowMapShape, check};
use diptych::backend::tensor::{Axis, ElementType, KeptAxis, RowMapPlan};
use diptych::for_each_row_map;
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// Returns what to do with checked matrices of elements of the type `T`.
fn plan<T>(shape: RowMapShape, x: *const T, out: *mut T) -> RowMapPlan {
    let size = size_of::<T>();
    let RowMapShape { m, n, .. } = shape;
    let axis = |count, k: usize| KeptAxis {
        count,
        x: shape.x[k] * size as isize,
        out: shape.out[k] * size as isize,
    };
    let mut plan = RowMapPlan::empty();
    let rows = &mut plan.rows;
    (rows.x, rows.out, rows.size) = (x.cast_mut().cast(), out.cast(), size);
    (rows.results, rows.elements) = (m, n);
    rows.kept.push(axis(m, 0));
    let along = axis(n, 1);
    rows.reduced.push(Axis {
        count: n,
        step: along.x,
    });
    plan.along.push(along);
    plan
}

macro_rules! row_maps {
    ({} $($name:ident)*) => {$(
        #[doc = concat!("See `diptych::raw::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device. Scratch memory is needed for the results of the reductions.
        ///
        /// # Safety
        /// `x` and `out` must be valid at m by n elements on the device until the launches have run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, m: i64, n: i64, x: *const T, x_rs: i64, x_cs: i64, out: *mut T, out_rs: i64, out_cs: i64,
        ) -> Result<(), D::Error> {
            let checked = check(m, n, x, [x_rs, x_cs], out, [out_rs, out_cs])?;
            let (Some(shape), Some(element)) = (checked, ElementType::of(T::TYPE)) else {
                return Ok(());
            };
            // SAFETY: as the caller's.
            unsafe { launches::$name(device, element, &plan(shape, x, out)) }
        }
    )*};
}
for_each_row_map!(row_maps! {}[name]);
