//! clamp, arithmetic, scale, axpy, square, fill.

use diptych::panel::args::{size, slice};
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::elementwise::BLOCK_BYTES;
use diptych_device::real::Real;

/// A grid in which each block has one turn.
fn grid<T>(n: usize) -> Grid {
    let blocks = (n as u64 * size_of::<T>() as u64).div_ceil(BLOCK_BYTES);
    Grid::of(blocks.min(i32::MAX as u64) as u32)
}

/// One entry: checks, then the kernel.
macro_rules! entry {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:tt),*) -> $out:ident, kernel $kernel:ident, in_place [$($alias:ident),*]) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output
        /// overlaps an input other than exactly; what the device says.
        ///
        /// # Safety
        /// Arrays must be valid for `n` elements on the device until the launch has run.
        $vis unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, $($arg: entry!(@ty $kind),)* $out: *mut T,
        ) -> Result<(), D::Error> {
            let n = size(n, "n")?;
            let _region = slice($out, n, stringify!($out))?;
            $( _region.same_or_apart_from(&slice($alias, n, stringify!($alias))?)?; )*
            if n == 0 {
                return Ok(());
            }
            // SAFETY: the caller vouches for the arrays.
            unsafe { launch::$kernel(device, grid::<T>(n), n as u64, $($arg,)* $out) }
        }
    };
    (@ty array) => { *const T };
    (@ty value) => { T };
}

entry!(
    /// out = clamp(x, lo, hi), the bounds not NaN.
    fn clamp_ordered(x: array, lo: value, hi: value) -> out, kernel clamp, in_place [x]
);

/// See `diptych::raw::clamp`.
///
/// # Errors
/// As the other elementwise operations.
///
/// # Safety
/// Arrays must be valid for `n` elements on the device until the launch has run.
pub unsafe fn clamp<T: Real, D: Device>(
    device: &D,
    n: i64,
    x: *const T,
    lo: T,
    hi: T,
    out: *mut T,
) -> Result<(), D::Error> {
    if lo.is_nan() || hi.is_nan() {
        let count = size(n, "n")?;
        slice(out, count, "out")?.same_or_apart_from(&slice(x, count, "x")?)?;
        // SAFETY: as the caller's.
        return unsafe { fill(device, n, T::CANONICAL_NAN, out) };
    }
    // SAFETY: as the caller's.
    unsafe { clamp_ordered(device, n, x, lo, hi, out) }
}

entry!(
    /// See `diptych::raw::clamp_backward`.
    pub fn clamp_backward(x: array, grad: array, lo: value, hi: value) -> out, kernel clamp_backward, in_place [x, grad]
);
entry!(
    /// See `diptych::raw::add`.
    pub fn add(x: array, y: array) -> out, kernel add, in_place [x, y]
);
entry!(
    /// See `diptych::raw::sub`.
    pub fn sub(x: array, y: array) -> out, kernel sub, in_place [x, y]
);
entry!(
    /// See `diptych::raw::mul`.
    pub fn mul(x: array, y: array) -> out, kernel mul, in_place [x, y]
);
entry!(
    /// See `diptych::raw::div`.
    pub fn div(x: array, y: array) -> out, kernel div, in_place [x, y]
);
entry!(
    /// See `diptych::raw::scale`.
    pub fn scale(alpha: value, x: array) -> out, kernel scale, in_place [x]
);
entry!(
    /// See `diptych::raw::axpy`.
    pub fn axpy(alpha: value, x: array) -> y, kernel axpy, in_place [x]
);
entry!(
    /// See `diptych::raw::square`.
    pub fn square(x: array) -> out, kernel square, in_place [x]
);
entry!(
    /// See `diptych::raw::fill`.
    pub fn fill(value: value) -> out, kernel fill, in_place []
);
