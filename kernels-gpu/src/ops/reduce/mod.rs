//! sum, mean, prod, min, max, sumsq, asum, nrm2, var, logsumexp, argmin, argmax, dot.

mod cut;

pub use cut::Cut;

use diptych::panel::check::reduce as check;
use diptych_device::launch::{self, Device, Scratch};
use diptych_device::ops::reduce::{self, Operation, Value};
use diptych_device::real::Real;

/// Chunks of a row of `n` elements.
pub fn chunks<T: Real>(n: usize) -> u64 {
    n.div_ceil(diptych::panel::order::chunk_len::<T>()) as u64
}

/// Rows that have been checked.
#[derive(Clone, Copy)]
struct Rows {
    shape: check::Shape,
    ddof: usize,
}

impl Rows {
    /// One vector.
    fn vector((n, cs): (usize, isize)) -> Self {
        Self {
            shape: check::Shape {
                m: 1,
                n,
                rs: 1,
                cs,
                inc_out: 1,
            },
            ddof: 0,
        }
    }

    /// Whether the rows lie side by side rather than one after the other, enough of them for the columns of
    /// a block.
    fn are_columns(&self) -> bool {
        let check::Shape { m, n, rs, cs, .. } = self.shape;
        m >= 8 && n > 1 && rs.unsigned_abs() < cs.unsigned_abs()
    }
}

/// The memory through which the blocks of a row hand on their parts, where a row has several.
pub fn scratch<D: Device>(
    device: &D,
    cut: &Cut,
    rows: usize,
    value: u32,
) -> Result<Scratch, D::Error> {
    if cut.parts == 1 {
        return Ok(Scratch {
            bytes: core::ptr::null_mut(),
            counters: core::ptr::null_mut(),
        });
    }
    device.scratch(rows * cut.parts as usize * value as usize, rows)
}

/// One operation: its name, that of rows, the launchers for both layouts, what it writes, and whether nothing
/// has no value.
macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident, $rows:ident, $columns:ident, $Op:ident, $out:tt, needs_elements $needs:literal $(, $ddof:ident)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// As there, and what the device says.
        ///
        /// # Safety
        /// `x` must be valid at `n` elements on the device, `out` for one, until the launch has run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut reductions!(@ty $out),
        ) -> Result<(), D::Error> {
            $(let $ddof = check::ddof(n, $ddof)?;)?
            let rows = Rows::vector(check::vector($needs, n, x, incx, out)?);
            $(let rows = Rows { ddof: $ddof, ..rows };)?
            // SAFETY: as the caller's.
            unsafe { run::$name(device, rows, x, out) }
        }

        #[doc = concat!("See `diptych::raw::", stringify!($rows), "`.")]
        ///
        /// # Errors
        /// As there, and what the device says.
        ///
        /// # Safety
        /// `x` must be valid at m by n elements on the device, `out` at m, until the launch has run.
        pub unsafe fn $rows<T: Real, D: Device>(
            device: &D, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)?
            out: *mut reductions!(@ty $out), inc_out: i64,
        ) -> Result<(), D::Error> {
            $(let $ddof = check::ddof(n, $ddof)?;)?
            let Some(shape) = check::rows($needs, m, n, x, rs, cs, out, inc_out)? else {
                return Ok(());
            };
            let rows = Rows { shape, ddof: 0 };
            $(let rows = Rows { ddof: $ddof, ..rows };)?
            // SAFETY: as the caller's.
            unsafe { run::$name(device, rows, x, out) }
        }
    )*

    /// From checked arguments to launches.
    mod run {
        use super::*;

        $(
            pub unsafe fn $name<T: Real, D: Device>(
                device: &D, rows: Rows, x: *const T, out: *mut reductions!(@ty $out),
            ) -> Result<(), D::Error> {
                type Op = reduce::$Op;
                let passes = <Op as Operation<T>>::PASSES;
                let value = <Op as Operation<T>>::Value::BYTES;
                let check::Shape { m, n, rs, cs, inc_out } = rows.shape;
                let columns = rows.are_columns();
                let cut = Cut::new(columns, m as u64, chunks::<T>(n), passes, 1, device);
                let grid = cut.grid(value, 1);
                let Scratch { bytes, counters } = scratch(device, &cut, m, value)?;
                let launch = if columns { launch::$columns } else { launch::$rows };
                let each = if cut.parts > 1 { 1 } else { passes };
                for first in (0..passes).step_by(each as usize) {
                    // SAFETY: as the caller's; the scratch is for this cut.
                    unsafe {
                        launch(
                            device, grid, m as u64, n as u64, x, rs as i64, cs as i64, rows.ddof as u64, out,
                            inc_out as i64, cut.team, cut.run, first, first + each, bytes, counters,
                        )?;
                    }
                }
                Ok(())
            }
        )*
    }
    };
    (@ty element) => { T };
    (@ty index) => { i64 };
}

reductions! {
    /// See `diptych::raw::sum`.
    sum, sum_rows, sum_columns, Sum, element, needs_elements false;
    /// See `diptych::raw::mean`.
    mean, mean_rows, mean_columns, Mean, element, needs_elements true;
    /// See `diptych::raw::prod`.
    prod, prod_rows, prod_columns, Prod, element, needs_elements false;
    /// See `diptych::raw::min`.
    min, min_rows, min_columns, Min, element, needs_elements true;
    /// See `diptych::raw::max`.
    max, max_rows, max_columns, Max, element, needs_elements true;
    /// See `diptych::raw::sumsq`.
    sumsq, sumsq_rows, sumsq_columns, Sumsq, element, needs_elements false;
    /// See `diptych::raw::asum`.
    asum, asum_rows, asum_columns, Asum, element, needs_elements false;
    /// See `diptych::raw::nrm2`.
    nrm2, nrm2_rows, nrm2_columns, Nrm2, element, needs_elements false;
    /// See `diptych::raw::var`.
    var, var_rows, var_columns, Var, element, needs_elements true, ddof;
    /// See `diptych::raw::logsumexp`.
    logsumexp, logsumexp_rows, logsumexp_columns, Logsumexp, element, needs_elements false;
    /// See `diptych::raw::argmin`.
    argmin, argmin_rows, argmin_columns, Argmin, index, needs_elements true;
    /// See `diptych::raw::argmax`.
    argmax, argmax_rows, argmax_columns, Argmax, index, needs_elements true;
}

/// See `diptych::raw::dot`.
///
/// # Errors
/// As there, and what the device says.
///
/// # Safety
/// `x` and `y` must be valid at `n` elements on the device, `out` for one, until the launch has run.
pub unsafe fn dot<T: Real, D: Device>(
    device: &D,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut T,
) -> Result<(), D::Error> {
    let (n, incx, incy) = check::dot(n, x, incx, y, incy, out)?;
    let cut = Cut::new(false, 1, chunks::<T>(n), 1, 1, device);
    let Scratch { bytes, counters } = scratch(device, &cut, 1, size_of::<T>() as u32)?;
    // SAFETY: as the caller's; the scratch is for this cut.
    unsafe {
        launch::dot(
            device,
            cut.grid(size_of::<T>() as u32, 1),
            n as u64,
            x,
            incx as i64,
            y,
            incy as i64,
            out,
            cut.team,
            cut.run,
            bytes,
            counters,
        )
    }
}
