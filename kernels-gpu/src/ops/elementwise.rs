//! The elementwise operations: clamp, arithmetic, scale, axpy, square, fill and more.

use diptych::backend::args::{size, slice};
use diptych::{Element, for_each_elementwise, if_nan_spreads};
use diptych_device::gpu::parameters::{Input, Output, Shape};
use diptych_device::launch::{self, Device, Grid};
use diptych_device::memory::Memory;
use diptych_device::ops::elementwise::{BLOCK_BYTES, ROWS, THREADS};
use diptych_device::real::Real;

/// Returns the grid and the shape for `n` contiguous elements of `size` bytes; each block does one iteration of
/// [`BLOCK_BYTES`] bytes.
pub(crate) fn contiguous(n: usize, size: usize) -> (Grid, Shape) {
    let blocks = (n as u64 * size as u64).div_ceil(BLOCK_BYTES);
    let grid = Grid::of(blocks.min(i32::MAX as u64) as u32);
    (grid, Shape::contiguous(n as u64))
}

/// Returns the grid and the shape for tiles of `counts` elements: those around the tiles, their rows and their columns.
pub(crate) fn tiles(counts: [usize; 3]) -> (Grid, Shape) {
    /// log2 of the lanes that read whole lines of L1.
    const LANES: u32 = 5;
    let [planes, rows, columns] = counts;
    let log = |count: usize| count.next_power_of_two().ilog2();
    let most = THREADS.ilog2();
    // As few threads along a row as a line needs, unless there are too few rows for the others; the grid has less than
    // 2^31 blocks along x.
    let least = most
        .saturating_sub(log(rows))
        .max(log(columns).saturating_sub(30));
    let lanes = log(columns).min(LANES.max(least)).min(most);
    let lines = (THREADS >> lanes) as usize * ROWS as usize;
    let along = |count: usize, most: u32| count.min(most as usize) as u32;
    let grid = Grid {
        blocks: (
            along(columns.div_ceil(1 << lanes), i32::MAX as u32),
            along(rows.div_ceil(lines), u16::MAX.into()),
            along(planes, u16::MAX.into()),
        ),
        shared: 0,
    };
    let shape = Shape {
        counts: counts.map(|count| count as u64),
        lanes,
        contiguous: 0,
    };
    (grid, shape)
}

/// Expands an operation: the checks of its arguments, then the launch; and the launch alone, on arrays of any strides.
macro_rules! entries {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident)*) => {$(
        #[doc = concat!("See `diptych::raw::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output
        /// overlaps an input other than exactly; errors of the device.
        ///
        /// # Safety
        /// The arrays must be valid for `n` elements on the device until the launch has run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, $($arg: entries!(@type $kind T),)* $out: *mut T,
        ) -> Result<(), D::Error> {
            let n = size(n, "n")?;
            let _output = slice($out, n, stringify!($out))?;
            $(entries!(@check $kind $arg n _output);)*
            if n == 0 {
                return Ok(());
            }
            let elements = contiguous(n, size_of::<T>());
            // SAFETY: the caller vouches for the arrays.
            unsafe {
                strided::$name::<T, D>(device, (), elements, $(entries!(@input $kind $arg),)* Output::contiguous($out))
            }
        }
    )*
        /// The operations on checked arrays of any strides.
        pub(crate) mod strided {
            use super::*;
            $(
                /// # Safety
                /// The arrays must be valid for the shape on the device until the launch has run.
                pub unsafe fn $name<M: Memory, D: Device>(
                    device: &D, format: M::Format, (grid, shape): (Grid, Shape), $($arg: entries!(@strided $kind M),)* $out: Output<M>,
                ) -> Result<(), D::Error> {
                    // A NaN bound makes every result NaN.
                    if false $(|| if_nan_spreads!($role [$arg.is_nan()] [false]))* {
                        // SAFETY: the caller vouches for the output.
                        return unsafe { launch::fill(device, grid, format, shape, M::Number::CANONICAL_NAN, $out) };
                    }
                    // SAFETY: the caller vouches for the arrays.
                    unsafe { launch::$name(device, grid, format, shape, $($arg,)* $out) }
                }
            )*
        }
    };
    (@strided scalar $M:ident) => { $M::Number };
    (@strided array $M:ident) => { Input<$M> };
    (@input scalar $arg:ident) => { $arg };
    (@input array $arg:ident) => { Input::contiguous($arg) };
    (@type scalar $T:ident) => { $T };
    (@type array $T:ident) => { *const $T };
    (@check scalar $arg:ident $n:ident $output:ident) => {};
    (@check array $arg:ident $n:ident $output:ident) => {
        $output.same_or_apart_from(&slice($arg, $n, stringify!($arg))?)?
    };
}
for_each_elementwise!(entries! {} [name arguments roles output]);
