//! Reductions in the canonical order.
//!
//! The order, which fixes the bits and is part of the ABI, for lanes L = 256 bytes of elements
//! (64 f32, 32 f64) and chunks of 32 L elements:
//!
//! 1. Within a chunk, element i goes to lane i mod L; each lane takes its elements in ascending
//!    order, starting from the fold's start value.
//! 2. The lanes are halved: lane l takes lane l + w, for w = L/2, L/4, ..., 1.
//! 3. The chunks' results are combined by a pairwise tree: a tree over c values combines the tree
//!    over the first p, the largest power of two below c, with the tree over the rest.
//! 4. The caller ends sums with + (+0) and turns every NaN into the canonical one.
//!
//! Because of step 4, lanes that got no element may be filled with +0 or left out of a sum: that
//! changes only the sign of a zero. Step 3 may be cut into aligned runs of 2^j chunks.

mod columns;
mod dots;
mod extreme;
pub mod fold;
mod leaf;
mod lsq;
mod mse;
mod rows;
mod runs;
mod tree;
mod walk;

pub use super::order::{LSQ_ROWS, chunk_len};
pub use columns::{Work, columns, work_bytes};
pub use dots::dot_rows;
pub use extreme::{argmax, argmax_columns, argmin, argmin_columns, first_in_rows};
pub use fold::*;
pub use lsq::lsq_block;
pub use mse::mse_grad;
pub use rows::rows;
pub use walk::vector;

use core::mem::MaybeUninit;

use super::{FAR, load, prefetch_pages, store};
use crate::element::Element;
use crate::simd::Simd;
use leaf::{halve_lanes, has_nan, leaf};
use runs::{RUNS, runs};
use tree::Tree;
use walk::walk;

/// A vector operand.
#[derive(Clone, Copy)]
struct Source<T> {
    p: *const T,
    inc: isize,
}

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 8 << 10;
/// Room for the elements of a chunk.
type Buffer = [MaybeUninit<u64>; CHUNK_BYTES / 8];

#[inline(always)]
fn buffer() -> Buffer {
    [const { MaybeUninit::uninit() }; CHUNK_BYTES / 8]
}

impl<T: Element> Source<T> {
    #[inline(always)]
    fn skip(self, i: usize) -> Self {
        Self {
            p: self.p.wrapping_offset(i as isize * self.inc),
            inc: self.inc,
        }
    }

    /// Elements i..i+n of a chunk side by side, copied to `buffer` unless they are so already.
    ///
    /// # Safety
    /// The elements must be there; `buffer` must have room for a chunk unless they lie side by side.
    #[inline(always)]
    unsafe fn contiguous(self, i: usize, n: usize, buffer: *mut T) -> *const T {
        let from = self.skip(i);
        if self.inc == 1 {
            return from.p;
        }
        // SAFETY: the caller vouches for elements i..i+n, and for the room.
        unsafe { from.copy(n, buffer) };
        buffer
    }

    /// [`prefetch_pages`] at the chunk from i, where its elements lie side by side.
    #[inline(always)]
    fn prefetch<S: Simd<T = T>>(self, s: S, i: usize) {
        if self.inc == 1 {
            prefetch_pages(s, self.skip(i).p, CHUNK_BYTES);
        }
    }

    /// The first n elements to `out`.
    ///
    /// # Safety
    /// `n` elements must be there, and `out` have room for them.
    #[inline(never)]
    unsafe fn copy(self, n: usize, out: *mut T) {
        for i in 0..n {
            // SAFETY: the caller vouches for n elements here and there.
            unsafe { out.add(i).write(*self.skip(i).p) };
        }
    }
}

/// Lane 0 holds the result of one chunk (steps 1 and 2).
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements.
#[inline(always)]
unsafe fn chunk<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if <F::Nonzero as Fold<S>>::NAN_APART {
            let quick = leaf::<S, F::Nonzero>(s, n, x, y, param);
            let v = halve_lanes::<S, F::Nonzero>(s, quick.value, n);
            let is_zero = <F::Nonzero as Fold<S>>::ZERO_APART && s.first(v) == S::T::ZERO;
            if !has_nan(s, quick.suspect) && !is_zero {
                return v;
            }
        }
        halve_lanes::<S, F>(s, leaf::<S, F>(s, n, x, y, param).value, n)
    }
}

/// [`chunk`] of at most N contiguous elements.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
unsafe fn one_register<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    let (v, second) = unsafe {
        let second = if F::PAIR { load(s, y, n) } else { param };
        (load(s, x, n), second)
    };
    let start = s.splat(F::START);
    let next = F::step(s, start, v, second);
    let lanes = if F::ZERO_IS_NEUTRAL {
        next
    } else {
        s.select(s.first_lanes(n), next, start)
    };
    halve_lanes::<S, F>(s, lanes, n)
}

/// Bytes of a row that is short.
const SHORT: usize = 2560;

/// [`prefetch_pages`] for a row, of at most a chunk, of some that follow each other in memory. Short ones are
/// not worth it.
#[inline(always)]
fn prefetch_row<S: Simd>(s: S, row: *const S::T, n: usize) {
    let bytes = n * size_of::<S::T>();
    if bytes > SHORT {
        prefetch_pages(s, row, bytes);
    }
}
