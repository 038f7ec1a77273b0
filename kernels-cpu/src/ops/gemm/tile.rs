//! The register tile: MR rows by NV registers of C, over one segment of k.
//!
//! Each size is a function of its own (`table.rs` lists them per level): inlined into the block
//! loops, the largest tile would share its registers with them and spill.

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

/// Where the sums of a tile go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// c = alpha s, contiguous rows.
    Set,
    /// c = fma(alpha, s, c), contiguous rows.
    Accumulate,
    /// The bare sums, one row after the other.
    Sums,
}

/// The arguments of a tile.
#[derive(Clone, Copy)]
pub struct Tile<T> {
    /// Steps of k.
    pub depth: usize,
    pub a: Left<T>,
    pub b: Right<T>,
    pub alpha: T,
    pub target: Target,
    /// The tile in C, or room for the sums; and from a row to the next.
    pub out: *mut T,
    pub out_rs: isize,
}

/// A tile of some size on some level.
pub type TileFn<T> = unsafe fn(&Tile<T>);

/// Runs a tile.
///
/// # Safety
/// `a` and `b` must hold `depth` steps, `b` of whole registers; `out` must hold MR rows of NV
/// registers.
#[inline(always)]
// Plain indices: iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn tile<S: Simd, const MR: usize, const NV: usize>(s: S, t: &Tile<S::T>) {
    for i in 0..MR {
        s.prefetch(t.out.wrapping_offset(i as isize * t.out_rs));
    }
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let (mut ap, mut bp) = (t.a.p, t.b.p);
    for _ in 0..t.depth {
        let mut right = [s.splat(S::T::ZERO); NV];
        for (v, slot) in right.iter_mut().enumerate() {
            // SAFETY: the caller vouches for whole registers at each step.
            *slot = unsafe { s.load(bp.add(v * S::N)) };
        }
        for (i, row) in acc.iter_mut().enumerate() {
            // SAFETY: row i of the tile has an element at each step.
            let left = s.splat(unsafe { *ap.wrapping_offset(i as isize * t.a.rs) });
            for v in 0..NV {
                row[v] = s.fma(left, right[v], row[v]);
            }
        }
        ap = ap.wrapping_offset(t.a.cs);
        bp = bp.wrapping_offset(t.b.rs);
    }
    let alpha = s.splat(t.alpha);
    for i in 0..MR {
        let row = t.out.wrapping_offset(i as isize * t.out_rs);
        for v in 0..NV {
            let p = row.wrapping_add(v * S::N);
            // SAFETY: row i and its registers lie in `out`.
            unsafe {
                match t.target {
                    Target::Set => s.store(p, s.mul(alpha, acc[i][v])),
                    Target::Accumulate => s.store(p, s.fma(alpha, acc[i][v], s.load(p))),
                    Target::Sums => s.store(p, acc[i][v]),
                }
            }
        }
    }
}
