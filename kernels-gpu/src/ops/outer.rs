//! outer and ger.

use diptych::backend::args::Matrix;
use diptych::backend::outer::{Arguments, Factor, OuterOutput, check};
use diptych::{Error, Storage};
use diptych_device::launch::{self, Device, Grid};
use diptych_device::memory::Memory;
use diptych_device::ops::outer::THREADS;
use diptych_device::real::Real;

/// The launch of one matrix, transposed if that puts the smaller stride along n.
struct Plan<S: Storage, O> {
    x: Factor<S>,
    y: Factor<S>,
    out: OuterOutput<O>,
    grid: Grid,
    /// log2 of the threads that share a row of the matrix in a block.
    lanes: u32,
    /// Whether threads write 16 bytes of a row at a time.
    packs: bool,
}

/// Plans the launch: along x the grid covers a row of the matrix, along y the blocks share the rows.
fn plan<S: Storage, O>(
    multiprocessors: u32,
    (x, y, out): (Factor<S>, Factor<S>, OuterOutput<O>),
) -> Result<Plan<S, O>, Error> {
    /// log2 of the most threads per row, a warp: with 16-byte accesses they write 512 contiguous bytes.
    const MAX_LANES: u32 = 5;
    /// Rows per thread, if the matrix has enough of them.
    const ROWS: usize = 16;
    /// Blocks per multiprocessor before threads get several rows: twice as many as it can hold.
    const BLOCKS: usize = 16;
    // Multiplication commutes, so exchanging x and y changes no bits.
    let Matrix { rs, cs, .. } = out.matrix();
    let transpose = cs != 1 && out.n > 1 && out.m > 1 && rs.unsigned_abs() < cs.unsigned_abs();
    let (x, y, out) = if transpose {
        (y, x, out.transposed())
    } else {
        (x, y, out)
    };
    let width = 16 / size_of::<O>();
    let Matrix { ptr, rs, cs, .. } = out.matrix();
    let aligned =
        ptr.addr().is_multiple_of(16) && (out.m == 1 || rs.unsigned_abs().is_multiple_of(width));
    let packs = cs == 1 && out.n >= width && aligned;
    let columns = if packs { out.n.div_ceil(width) } else { out.n };
    let lanes = columns.next_power_of_two().ilog2().min(MAX_LANES);
    let blocks_x = columns.div_ceil(1 << lanes);
    // The rows that a thread of a single row of blocks would have.
    let rows = out.m.div_ceil((THREADS >> lanes) as usize);
    let filling = (multiprocessors as usize * BLOCKS).div_ceil(blocks_x);
    let blocks_y = rows.div_ceil(ROWS).max(filling.min(rows));
    let blocks_x = i32::try_from(blocks_x).map_err(|_| Error::SizeOverflow { arg: "m * n" })?;
    let blocks = (blocks_x as u32, blocks_y.min(u16::MAX as usize) as u32, 1);
    Ok(Plan {
        x,
        y,
        out,
        grid: Grid { blocks, shared: 0 },
        lanes,
        packs,
    })
}

/// See `diptych::raw::outer`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// As for that function, but the memory must be valid on the device until the launch has run.
pub unsafe fn outer<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut T,
    out_rs: i64,
    out_cs: i64,
) -> Result<(), D::Error> {
    let out = Matrix::new(out, out_rs, out_cs);
    let args = Arguments::outer((m, n), (x, incx), (y, incy), out);
    // SAFETY: as the caller's.
    unsafe { run_outer::<T, T, D>(device, (), &args) }
}

/// See `diptych::raw::ger`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// As for that function, but the memory must be valid on the device until the launch has run.
pub unsafe fn ger<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    alpha: T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    a: *mut T,
    a_rs: i64,
    a_cs: i64,
) -> Result<(), D::Error> {
    let a = Matrix::new(a, a_rs, a_cs);
    let args = Arguments::ger((m, n), alpha, (x, incx), (y, incy), a);
    // SAFETY: as the caller's.
    unsafe { run_ger::<T, T, D>(device, (), &args) }
}

/// Defines the checked launch of a kernel, whose matrix has elements of the type `$O`.
macro_rules! launches {
    ($($(#[$doc:meta])* $name:ident = $kernel:ident($O:ty, $Out:ty) [$($alpha_x:tt)*] [$($alpha_y:tt)*];)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Those of the checks and of the device.
        ///
        /// # Safety
        /// The arrays must be valid on the device until the launch has run, with elements of `M`, of which the checks see the
        /// size: that of `S`.
        pub(crate) unsafe fn $name<S: Storage, M: Memory<Number = S::Compute>, D: Device>(
            device: &D,
            format: M::Format,
            args: &Arguments<S, $O>,
        ) -> Result<(), D::Error> {
            let checked = check(args)?;
            if checked.2.m == 0 || checked.2.n == 0 {
                return Ok(());
            }
            let Plan { x, y, out, grid, lanes, packs } = plan(device.multiprocessors(), checked)?;
            let Matrix { ptr, rs, cs, .. } = out.matrix();
            // SAFETY: the caller vouches for the arrays; with `packs` every 16-byte access is aligned.
            unsafe {
                launch::$kernel::<M, D>(
                    device, grid, format, out.m as u64, out.n as u64,
                    $(x.$alpha_x,)* x.at(0).cast(), x.inc as i64,
                    $(y.$alpha_y,)* y.at(0).cast(), y.inc as i64,
                    ptr.cast::<$Out>(), rs as i64, cs as i64, lanes, packs as u32,
                )
            }
        }
    )*};
}

launches! {
    /// [`outer`].
    run_outer = outer(S, M) [] [];
    /// [`outer`] with products that are not rounded to the type of the vectors.
    run_outer_unrounded = outer_unrounded(S::Compute, M::Number) [] [];
    /// [`ger`].
    run_ger = ger(S, M) [alpha] [alpha];
}
