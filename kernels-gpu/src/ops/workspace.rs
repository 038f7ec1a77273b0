//! How much scratch memory operations want.

use crate::driver::scratch::{SLOT_BYTES, SLOT_COUNTERS, workspace};
use diptych::Result;
use diptych::panel::args::size;

/// Bytes that are enough for every operation without a query of its own: as much as the library's own block
/// for each stream.
pub const WORKSPACE: usize = workspace(SLOT_BYTES, SLOT_COUNTERS);

/// Bytes of workspace that `gemm`, `gemm_fused` and `gemm_batched` of this shape need.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn gemm_workspace<T>(m: i64, n: i64, k: i64) -> Result<usize> {
    let _ = (size(m, "m")?, size(n, "n")?, size(k, "k")?);
    Ok(WORKSPACE)
}

/// Bytes of workspace that `lsq_grad` of this shape needs.
///
/// # Errors
/// `NegativeSize`, `SizeOverflow`.
pub fn lsq_grad_workspace<T>(m: i64, n: i64) -> Result<usize> {
    let _ = (size(m, "m")?, size(n, "n")?);
    Ok(WORKSPACE)
}
