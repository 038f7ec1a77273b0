//! Peers that are Rust crates: gemm, matrixmultiply and faer for matrix products of f32 and f64, gemmkit for those of
//! bf16, f16 and i8. They are included if this crate is built with the feature `peers`.

#[cfg(feature = "peers")]
mod calls;
#[cfg(feature = "peers")]
mod mixed;

use crate::bench::Work;
use crate::data::{Pointers, Real};
use crate::mixed::{Factor, MatrixPointers};
use crate::timing::{Clock, Sampler};

/// The crates, by name and version.
pub const NAMES: [(&str, &str); 4] = [
    ("gemm", "crate gemm 0.19"),
    ("matrixmultiply", "crate matrixmultiply 0.3"),
    ("faer", "crate faer 0.24"),
    ("gemmkit", "crate gemmkit 0.1"),
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

/// Returns a sampler of a product of 16-bit floats or of integers by the crate of that name; `None` if the crate has no
/// such product.
///
/// # Safety
/// The operands must outlive the sampler.
pub unsafe fn matmul<F: Factor>(
    name: &str,
    operands: MatrixPointers<F>,
    threads: usize,
    clock: Clock,
) -> Option<Sampler<'static>> {
    #[cfg(feature = "peers")]
    if name == "gemmkit" {
        // SAFETY: as the caller's.
        return unsafe { mixed::gemmkit(operands, threads, clock) };
    }
    _ = (name, operands.shape, threads, clock);
    None
}
