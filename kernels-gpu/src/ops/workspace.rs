//! The bytes of workspace that operations need.

use super::fused::lsq_scratch;
use super::gemm::SCRATCH;
use crate::driver::scratch::{SLOT_BYTES, SLOT_COUNTERS, workspace};
use diptych::backend::args::size;
use diptych::{Error, Result};
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// Bytes of workspace that are enough for every operation without a query of its own: a workspace that has room for as
/// much as a slot of the library's own scratch memory.
pub const WORKSPACE: usize = workspace(SLOT_BYTES, SLOT_COUNTERS);

/// Returns the bytes of workspace with which `gemm`, `gemm_fused` and `gemm_batched` of this shape are fastest. They
/// also run with less, or without any.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn gemm_workspace<T: Real, D: Device>(device: &D, m: i64, n: i64, k: i64) -> Result<usize> {
    let (m, n, _) = (size(m, "m")?, size(n, "n")?, size(k, "k")?);
    let is_vector = n <= 1 || m == 0 || (m == 1 && !device.batch_invariant());
    Ok(if is_vector {
        WORKSPACE
    } else {
        workspace(SCRATCH, SLOT_COUNTERS)
    })
}

/// Returns the bytes of workspace that `lsq_grad` of this shape needs. If these are at most [`WORKSPACE`], the
/// library's own scratch memory is enough too.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn lsq_grad_workspace<T: Real, D: Device>(device: &D, m: i64, n: i64) -> Result<usize> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let needed = lsq_scratch::<T>(m, n, device.multiprocessors());
    let (bytes, counters) = needed.ok_or(Error::SizeOverflow { arg: "m * n" })?;
    Ok(workspace(bytes, counters))
}
