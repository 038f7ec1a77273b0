//! The register tile: MR rows by NV registers of C, over one segment of k.

use core::mem::MaybeUninit;

use super::flush::{Flush, MAX_REGISTERS, Sums};
use super::params;
use crate::element::Element;
use crate::simd::Simd;

/// Rows of A, in place or packed.
#[derive(Clone, Copy)]
pub struct Left<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

/// Columns of B, in place or packed: whole registers at each step of k, `rs` elements on.
#[derive(Clone, Copy)]
pub struct Right<T> {
    pub p: *const T,
    pub rs: isize,
}

/// Runs the tile of the given height and width at `at` in C.
///
/// # Safety
/// The tile must lie in C; `a` and `b` must hold `depth` steps of it, `b` whole registers.
#[inline(always)]
pub unsafe fn dispatch<S: Simd>(
    s: S,
    depth: usize,
    a: Left<S::T>,
    b: Right<S::T>,
    flush: &Flush<'_, S>,
    at: (usize, usize),
    (height, width): (usize, usize),
) {
    let vectors = width.div_ceil(S::N);
    let mut sums: Sums<S> = [const { MaybeUninit::uninit() }; MAX_REGISTERS];
    /// Calls the tile of each size in the list.
    macro_rules! sizes {
        ($($mr:literal x $nv:literal),*) => {
            match (height, vectors) {
                // SAFETY: as the caller's.
                $(($mr, $nv) => unsafe { tile::<S, $mr, $nv>(s, depth, a, b, flush, at, width, &mut sums) },)*
                _ => true,
            }
        };
    }
    let done = match params::tile::<S>() {
        (8, 3) => sizes!(8 x 3, 7 x 3, 6 x 3, 5 x 3, 4 x 3, 3 x 3, 2 x 3, 1 x 3,
            8 x 2, 7 x 2, 6 x 2, 5 x 2, 4 x 2, 3 x 2, 2 x 2, 1 x 2,
            8 x 1, 7 x 1, 6 x 1, 5 x 1, 4 x 1, 3 x 1, 2 x 1, 1 x 1),
        (6, 2) => sizes!(6 x 2, 5 x 2, 4 x 2, 3 x 2, 2 x 2, 1 x 2,
            6 x 1, 5 x 1, 4 x 1, 3 x 1, 2 x 1, 1 x 1),
        _ => sizes!(4 x 2, 3 x 2, 2 x 2, 1 x 2, 4 x 1, 3 x 1, 2 x 1, 1 x 1),
    };
    if !done {
        // SAFETY: as the caller's; the tile has left its sums.
        unsafe { flush.any(s, &sums, (height, vectors), at, width) };
    }
}

/// Whether the sums have gone to C; else they are in `sums`.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn tile<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    depth: usize,
    a: Left<S::T>,
    b: Right<S::T>,
    flush: &Flush<'_, S>,
    at: (usize, usize),
    width: usize,
    sums: &mut Sums<S>,
) -> bool {
    flush.prefetch(s, at, MR);
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let (mut ap, mut bp) = (a.p, b.p);
    for _ in 0..depth {
        let mut right = [s.splat(S::T::ZERO); NV];
        for (v, slot) in right.iter_mut().enumerate() {
            // SAFETY: the caller vouches for whole registers at each step.
            *slot = unsafe { s.load(bp.add(v * S::N)) };
        }
        for (i, row) in acc.iter_mut().enumerate() {
            // SAFETY: row i of the tile has an element at each step.
            let left = s.splat(unsafe { *ap.wrapping_offset(i as isize * a.rs) });
            for v in 0..NV {
                row[v] = s.fma(left, right[v], row[v]);
            }
        }
        ap = ap.wrapping_offset(a.cs);
        bp = bp.wrapping_offset(b.rs);
    }
    // SAFETY: the caller vouches for the tile.
    if width == NV * S::N && unsafe { flush.whole(s, &acc, at) } {
        return true;
    }
    for (slot, &sum) in sums.iter_mut().zip(acc.iter().flatten()) {
        slot.write(sum);
    }
    false
}
