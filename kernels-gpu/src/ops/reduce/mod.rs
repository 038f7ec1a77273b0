//! The reductions.

mod cut;

pub use cut::Cut;

use diptych::backend::check::reduce as check;
use diptych::for_each_reduction;
use diptych_device::launch::{self, Device, Scratch};
use diptych_device::ops::reduce::{self, Operation};
use diptych_device::real::Real;

/// Returns the chunks of a row of `n` elements.
pub fn chunks<T: Real>(n: usize) -> u64 {
    n.div_ceil(diptych::backend::order::chunk_len::<T>()) as u64
}

/// The rows of a reduction, after the checks.
#[derive(Clone, Copy)]
struct Rows {
    shape: check::Shape,
    ddof: usize,
}

impl Rows {
    /// A vector of `n` elements with increment `cs`, as the only row.
    fn vector((n, cs): (usize, isize), ddof: usize) -> Self {
        Self {
            shape: check::Shape {
                m: 1,
                n,
                rs: 1,
                cs,
                inc_out: 1,
            },
            ddof,
        }
    }

    /// Returns whether the row stride is less than the column stride, and there are enough rows for the layout in which
    /// threads of a block read adjacent rows.
    fn are_columns(&self) -> bool {
        let check::Shape { m, n, rs, cs, .. } = self.shape;
        m >= 8 && n > 1 && rs.unsigned_abs() < cs.unsigned_abs()
    }
}

/// Returns the scratch memory in which the blocks of a row leave the results of their parts: `value` bytes per part,
/// and one counter per row. It is empty if rows have one part.
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

/// Expands, for each row of the table, the reduction of a vector, the reduction of the rows of a matrix, and the
/// launches of both.
macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        #[doc = concat!("See `diptych::raw::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device.
        ///
        /// # Safety
        /// `x` must be valid at `n` elements on the device, `out` for one, until the launch has run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut reductions!(@type $out),
        ) -> Result<(), D::Error> {
            let ddof = 0;
            $(let ddof = ddof + check::ddof(n, $ddof)?;)?
            let vector = check::vector(reductions!(@needs $empty), n, x, incx, out)?;
            // SAFETY: as the caller's.
            unsafe { run::$name(device, Rows::vector(vector, ddof), x, out) }
        }

        #[doc = concat!("See `diptych::raw::", stringify!($rows), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device.
        ///
        /// # Safety
        /// `x` must be valid at m by n elements on the device, `out` at m, until the launch has run.
        pub unsafe fn $rows<T: Real, D: Device>(
            device: &D, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)?
            out: *mut reductions!(@type $out), inc_out: i64,
        ) -> Result<(), D::Error> {
            let ddof = 0;
            $(let ddof = ddof + check::ddof(n, $ddof)?;)?
            let shape = check::rows(reductions!(@needs $empty), m, n, x, rs, cs, out, inc_out)?;
            let Some(shape) = shape else {
                return Ok(());
            };
            // SAFETY: as the caller's.
            unsafe { run::$name(device, Rows { shape, ddof }, x, out) }
        }
    )*

    /// The launches of each reduction, after the checks.
    mod run {
        use super::*;

        $(
            pub unsafe fn $name<T: Real, D: Device>(
                device: &D, rows: Rows, x: *const T, out: *mut reductions!(@type $out),
            ) -> Result<(), D::Error> {
                type Op = reduce::$name;
                let passes = <Op as Operation<T>>::PASSES;
                let value = <Op as Operation<T>>::VALUE_BYTES;
                let check::Shape { m, n, rs, cs, inc_out } = rows.shape;
                let columns = rows.are_columns();
                let cut = Cut::new(columns, m as u64, chunks::<T>(n), passes, 1, device);
                let grid = cut.grid(value, 1);
                let Scratch { bytes, counters } = scratch(device, &cut, m, value)?;
                let launch = if columns { launch::$columns } else { launch::$rows };
                // A pass needs the result of the pass before. If rows have several parts, that is complete only in the
                // next launch.
                let passes_per_launch = if cut.parts > 1 { 1 } else { passes };
                for first in (0..passes).step_by(passes_per_launch as usize) {
                    // SAFETY: as the caller's; the scratch memory is for this cut.
                    unsafe {
                        launch(
                            device, grid, m as u64, n as u64, x, rs as i64, cs as i64, rows.ddof as u64, out,
                            inc_out as i64, cut.team, cut.run, first, first + passes_per_launch, bytes, counters,
                        )?;
                    }
                }
                Ok(())
            }
        )*
    }
    };
    (@type element) => { T };
    (@type count) => {
        i64
    };
    (@type index) => { i64 };
    (@needs refused) => { true };
    (@needs value) => { false };
}
for_each_reduction!(reductions! {});

/// See `diptych::raw::dot`.
///
/// # Errors
/// Those of that function; errors of the device.
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
    // SAFETY: as the caller's; the scratch memory is for this cut.
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
