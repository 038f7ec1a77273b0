//! Copies of 16-bit floats in the type of arithmetic, and back.

use crate::aligned::AlignedBytes;
use crate::api::reduce::StridedVector;
use crate::dispatch::{Compute, Kernels};
use crate::element::Storage;
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::ops::reduce::chunk_len;

/// Elements of a chunk of the canonical order of reductions.
pub const CHUNK: usize = chunk_len::<f32>();
/// Room for a chunk of widened elements, on the stack.
pub type WidenedChunk = AlignedBytes<{ CHUNK * size_of::<f32>() }>;
/// Elements of a strided vector that are gathered at once.
const GATHERED: usize = 256;

/// Widens the first `n` elements of `x`.
///
/// # Safety
/// `x` must be valid at `n` elements, and `to` have room for them; the machine must have the level.
pub unsafe fn widen_strided<M: Storage>(
    level: Level,
    n: usize,
    x: StridedVector<M>,
    to: *mut Compute<M>,
) {
    let widen = Kernels::<M>::new(level).widen();
    // SAFETY: as the caller's.
    unsafe {
        if x.inc == 1 {
            return widen(n, x.at(0), to, CHUNK_AHEAD);
        }
        let mut gathered = [M::default(); GATHERED];
        for from in (0..n).step_by(GATHERED) {
            let len = GATHERED.min(n - from);
            for (i, slot) in gathered.iter_mut().enumerate().take(len) {
                *slot = *x.at(from + i);
            }
            widen(len, gathered.as_ptr(), to.add(from), 0);
        }
    }
}

/// Rounds `n` results to the first elements of `out`.
///
/// # Safety
/// `from` must be valid at `n` results, and `out` at `n` elements; the machine must have the level.
pub unsafe fn round_strided<M: Storage>(
    level: Level,
    n: usize,
    from: *const Compute<M>,
    out: StridedVector<M>,
) {
    let round = Kernels::<M>::new(level).round();
    // SAFETY: as the caller's.
    unsafe {
        if out.inc == 1 {
            return round(n, from, out.at(0).cast_mut());
        }
        let mut rounded = [M::default(); GATHERED];
        for at in (0..n).step_by(GATHERED) {
            let len = GATHERED.min(n - at);
            round(len, from.add(at), rounded.as_mut_ptr());
            for (i, &value) in rounded.iter().enumerate().take(len) {
                out.at(at + i).cast_mut().write(value);
            }
        }
    }
}
