//! outer and ger.

use diptych::Error;
use diptych::backend::outer::{Factor, Output, check};
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::outer::THREADS;
use diptych_device::real::Real;

/// A matrix, its factors, and the grid that covers it.
struct Plan<T> {
    x: Factor<T>,
    y: Factor<T>,
    out: Output<T>,
    grid: Grid,
    lanes: u32,
    packs: bool,
}

/// How a matrix is cut: its direction with the smaller stride along the lanes, whole rows of blocks.
fn plan<T: Real>(
    multiprocessors: u32,
    (x, y, out): (Factor<T>, Factor<T>, Output<T>),
) -> Result<Plan<T>, Error> {
    /// Threads of a row at most: with packs they write 512 bytes that are neighbours.
    const MOST_LANES: u32 = 5;
    /// Rows of a thread where there are enough.
    const ROWS: usize = 16;
    /// Blocks for each multiprocessor before threads get more rows: two times what it can hold.
    const BLOCKS: usize = 16;
    // Products commute, so which is along the lanes changes no bits.
    let better =
        out.cs != 1 && out.n > 1 && out.m > 1 && out.rs.unsigned_abs() < out.cs.unsigned_abs();
    let (x, y, out) = if better {
        (y, x, out.transposed())
    } else {
        (x, y, out)
    };
    let width = T::WIDTH as usize;
    let aligned = out.at(0, 0).addr().is_multiple_of(16)
        && (out.m == 1 || out.rs.unsigned_abs().is_multiple_of(width));
    let packs = out.cs == 1 && out.n >= width && aligned;
    let columns = if packs { out.n.div_ceil(width) } else { out.n };
    let lanes = columns.next_power_of_two().ilog2().min(MOST_LANES);
    let across = columns.div_ceil(1 << lanes);
    let turns = out.m.div_ceil((THREADS >> lanes) as usize);
    let enough = (multiprocessors as usize * BLOCKS).div_ceil(across);
    let down = turns.div_ceil(ROWS).max(enough.min(turns));
    let across = i32::try_from(across).map_err(|_| Error::SizeOverflow { arg: "m * n" })?;
    let blocks = (across as u32, down.min(u16::MAX as usize) as u32, 1);
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
/// As there; what the device says.
///
/// # Safety
/// As there, on the device, until the launch has run.
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
    let strides = ((out_rs, "out_rs"), (out_cs, "out_cs"));
    let checked = check(
        m,
        n,
        T::ONE,
        x,
        incx,
        y,
        incy,
        (out, "out"),
        strides.0,
        strides.1,
    )?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let p = plan(device.multiprocessors(), checked)?;
    // SAFETY: the caller vouches for the arrays; packs lie at multiples of 16 bytes.
    unsafe {
        launch::outer(
            device,
            p.grid,
            p.out.m as u64,
            p.out.n as u64,
            p.x.at(0),
            p.x.inc as i64,
            p.y.at(0),
            p.y.inc as i64,
            p.out.at(0, 0),
            p.out.rs as i64,
            p.out.cs as i64,
            p.lanes,
            p.packs as u32,
        )
    }
}

/// See `diptych::raw::ger`.
///
/// # Errors
/// As there; what the device says.
///
/// # Safety
/// As there, on the device, until the launch has run.
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
    let strides = ((a_rs, "a_rs"), (a_cs, "a_cs"));
    let checked = check(
        m,
        n,
        alpha,
        x,
        incx,
        y,
        incy,
        (a, "a"),
        strides.0,
        strides.1,
    )?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let p = plan(device.multiprocessors(), checked)?;
    // SAFETY: the caller vouches for the arrays; packs lie at multiples of 16 bytes.
    unsafe {
        launch::ger(
            device,
            p.grid,
            p.out.m as u64,
            p.out.n as u64,
            p.x.alpha,
            p.x.at(0),
            p.x.inc as i64,
            p.y.alpha,
            p.y.at(0),
            p.y.inc as i64,
            p.out.at(0, 0),
            p.out.rs as i64,
            p.out.cs as i64,
            p.lanes,
            p.packs as u32,
        )
    }
}
