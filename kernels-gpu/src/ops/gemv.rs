//! Matrix products with m = 1 or n = 1.

use super::reduce::{Cost, Cut, chunks, scratch};
use diptych::backend::gemm::{Batch, Epilogue, Gemm, Rule};
use diptych_device::launch::{self, Device, Scratch};
use diptych_device::real::Real;

/// The most blocks along z of a grid.
const MAX_Z: usize = 65535;

/// Runs a batch of products with m = 1 or n = 1.
///
/// # Errors
/// Errors of the device.
///
/// # Safety
/// The matrices must be valid on the device, and C must not overlap any other operand, until the launch has run.
pub unsafe fn run<T: Real, D: Device>(device: &D, batch: &Batch<T>) -> Result<(), D::Error> {
    let p = if batch.first.n == 1 {
        batch.first
    } else {
        batch.first.transposed()
    };
    let Gemm { m, k, epilogue, .. } = p;
    let Epilogue {
        row_bias, clamp, ..
    } = epilogue;
    let columns = m >= 8 && k > 1 && p.a.rs.unsigned_abs() < p.a.cs.unsigned_abs();
    let cut = Cut::new(
        columns,
        m as u64,
        chunks::<T>(k),
        1,
        batch.count as u64,
        device,
    );
    let grid = cut.grid(size_of::<T>() as u32, batch.count.min(MAX_Z) as u32);
    let Scratch { bytes, counters } = scratch(device, &cut, m, Cost::of_sum::<T>())?;
    let (lo, hi) = clamp.bounds();
    let launch = if columns {
        launch::gemv_columns
    } else {
        launch::gemv_rows
    };
    // SAFETY: as the caller's; the scratch memory is for this cut.
    unsafe {
        launch(
            device,
            grid,
            m as u64,
            k as u64,
            batch.count as u64,
            p.alpha,
            p.a.ptr,
            p.a.rs as i64,
            p.a.cs as i64,
            p.a.bs as i64,
            p.b.ptr,
            p.b.rs as i64,
            p.b.bs as i64,
            p.beta,
            p.c.ptr,
            p.c.rs as i64,
            p.c.bs as i64,
            row_bias,
            epilogue.row_inc as i64,
            epilogue.column_bias,
            (clamp.rule() != Rule::Keep) as u32,
            lo,
            hi,
            cut.team,
            cut.run,
            bytes,
            counters,
        )
    }
}
