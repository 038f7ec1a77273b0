//! Maps over rows.

use crate::tensor::launches;
use diptych::backend::args::Matrix;
use diptych::backend::check::row_map::{MatrixPair, check};
use diptych::backend::tensor::{Axis, KeptAxis, RowMapPlan};
use diptych::for_each_row_map;
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// Returns what to do with checked matrices of elements of the type `T`.
fn plan<T>(pair: &MatrixPair<T>) -> RowMapPlan {
    let MatrixPair { m, n, x, out } = *pair;
    let size = size_of::<T>() as isize;
    let axis = |count, x, out| KeptAxis {
        count,
        x: x * size,
        out: out * size,
    };
    let mut plan = RowMapPlan::empty();
    let rows = &mut plan.rows;
    (rows.x, rows.out) = (x.ptr.cast_mut().cast(), out.ptr.cast());
    rows.size = size_of::<T>();
    (rows.results, rows.elements) = (m, n);
    rows.kept.push(axis(m, x.rs, out.rs));
    let along = axis(n, x.cs, out.cs);
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
            let checked = check(m, n, Matrix::new(x, x_rs, x_cs), Matrix::new(out, out_rs, out_cs))?;
            let Some(pair) = checked else {
                return Ok(());
            };
            // SAFETY: as the caller's.
            unsafe { launches::$name(device, T::TYPE, &plan(&pair)) }
        }
    )*};
}
for_each_row_map!(row_maps! {}[name]);
