//! Peers that are Rust crates: gemm, matrixmultiply and faer. They compute matrix products, and are included if this
//! crate is built with the feature `peers`.

#[cfg(feature = "peers")]
mod calls;

use crate::bench::Work;
use crate::data::{Pointers, Real};
use crate::timing::{Clock, Sampler};

/// The crates, by name and version.
pub const NAMES: [(&str, &str); 3] = [
    ("gemm", "crate gemm 0.19"),
    ("matrixmultiply", "crate matrixmultiply 0.3"),
    ("faer", "crate faer 0.24"),
];

/// Whether they are built in.
pub const BUILT: bool = cfg!(feature = "peers");

/// Returns a sampler of the work by the crate of that name; `None` if the crate has no such operation.
///
/// # Safety
/// The operands must outlive the sampler and be those of the work.
pub unsafe fn sampler<T: Real>(
    name: &str,
    work: Work,
    operands: Pointers<T>,
    threads: usize,
    clock: Clock,
) -> Option<Sampler<'static>> {
    #[cfg(feature = "peers")]
    // SAFETY: as the caller's.
    return unsafe { calls::sampler(name, work, operands, threads, clock) };
    #[cfg(not(feature = "peers"))]
    {
        _ = (name, work, operands.shape, threads, clock);
        None
    }
}
