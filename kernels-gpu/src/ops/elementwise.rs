//! The elementwise operations: clamp, arithmetic, scale, axpy, square, fill and more.

use diptych::backend::args::{size, slice};
use diptych::for_each_elementwise;
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::elementwise::BLOCK_BYTES;
use diptych_device::real::Real;

/// Returns the grid for `n` elements, in which each block does one iteration of [`BLOCK_BYTES`] bytes.
fn grid<T>(n: usize) -> Grid {
    let blocks = (n as u64 * size_of::<T>() as u64).div_ceil(BLOCK_BYTES);
    Grid::of(blocks.min(i32::MAX as u64) as u32)
}

/// Expands an operation: the checks of its arguments, then the launch.
macro_rules! entries {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {$(
        #[doc = concat!("See `diptych::raw::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output
        /// overlaps an input other than exactly; errors of the device.
        ///
        /// # Safety
        /// The arrays must be valid for `n` elements on the device until the launch has run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, $($arg: entries!(@type $role T),)* $out: *mut T,
        ) -> Result<(), D::Error> {
            let n = size(n, "n")?;
            let _output = slice($out, n, stringify!($out))?;
            $(entries!(@check $role $arg n _output);)*
            if n == 0 {
                return Ok(());
            }
            // A NaN bound makes every result NaN.
            if false $(|| entries!(@is_nan $role $arg))* {
                // SAFETY: the caller vouches for the output.
                return unsafe { launch::fill(device, grid::<T>(n), n as u64, T::CANONICAL_NAN, $out) };
            }
            // SAFETY: the caller vouches for the arrays.
            unsafe { launch::$name(device, grid::<T>(n), n as u64, $($arg,)* $out) }
        }
    )*};
    (@type scalar $T:ident) => { $T };
    (@type bound $T:ident) => { $T };
    (@type $array:ident $T:ident) => { *const $T };
    (@check scalar $arg:ident $n:ident $output:ident) => {};
    (@check bound $arg:ident $n:ident $output:ident) => {};
    (@check $array:ident $arg:ident $n:ident $output:ident) => {
        $output.same_or_apart_from(&slice($arg, $n, stringify!($arg))?)?
    };
    (@is_nan bound $arg:ident) => { $arg.is_nan() };
    (@is_nan $role:ident $arg:ident) => { false };
}
for_each_elementwise!(entries! {});
