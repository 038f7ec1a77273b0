//! How much scratch memory operations want in the caller's workspace.

use super::fused::lsq_scratch;
use super::gemm::SCRATCH;
use crate::driver::scratch::{SLOT_BYTES, SLOT_COUNTERS, workspace};
use diptych::backend::args::size;
use diptych::{Error, Result};
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// Bytes that are enough for every operation without a query of its own: as much as the library's own block
/// for each stream.
pub const WORKSPACE: usize = workspace(SLOT_BYTES, SLOT_COUNTERS);

/// Bytes of workspace with which `gemm`, `gemm_fused` and `gemm_batched` of this shape are fastest. They do
/// with less, and without.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn gemm_workspace<T: Real, D: Device>(_: &D, m: i64, n: i64, k: i64) -> Result<usize> {
    let (m, n, _) = (size(m, "m")?, size(n, "n")?, size(k, "k")?);
    let is_vector = m <= 1 || n <= 1;
    Ok(if is_vector {
        WORKSPACE
    } else {
        workspace(SCRATCH, SLOT_COUNTERS)
    })
}

/// Bytes of workspace that `lsq_grad` of this shape needs. Up to [`WORKSPACE`] it can do without.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn lsq_grad_workspace<T: Real, D: Device>(device: &D, m: i64, n: i64) -> Result<usize> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let needed = lsq_scratch::<T>(m, n, device.multiprocessors());
    let (bytes, counters) = needed.ok_or(Error::SizeOverflow { arg: "m * n" })?;
    Ok(workspace(bytes, counters))
}
