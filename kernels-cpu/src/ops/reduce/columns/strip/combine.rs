//! What follows once a chunk's rows have been folded into its lanes: the lanes are combined, and then the chunks. All
//! folds with the same [`Fold::Tree`] share [`CombineChunk`].

use core::marker::PhantomData;

use super::{Fold, GROUPS};
use crate::ops::reduce::finish;
use crate::ops::reduce::fold::{combine, start};
use crate::ops::{load, store};
use crate::simd::{Outlined, Simd};

/// A chunk whose rows have been folded into its lanes, and the results of the chunks before it, for one accumulator.
pub(super) struct CombineChunk<S: Simd, F> {
    /// The lanes of the chunk, `pitch` elements each.
    pub base: *mut S::T,
    pub pitch: usize,
    /// How many lanes.
    pub lanes: usize,
    /// Index of the chunk, and so the number of chunks before it.
    pub chunk: usize,
    /// Stack of results of earlier chunks, `pitch` elements each, managed like a binary counter: each 1 bit of `chunk`,
    /// from the highest, is a digit that holds the result of as many chunks as the bit is worth.
    pub digits: *mut S::T,
    /// The results of all chunks if this chunk is the last one, else null.
    pub out: *mut S::T,
    /// Columns of `out`.
    pub cols: usize,
    pub fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S, Acc = [S::V; 1]>> Outlined<S> for CombineChunk<S, F> {
    type Output = ();

    /// # Safety
    /// The lanes and the digits in use must have been written; there must be room for one digit more, and `out` must be
    /// null or valid for `cols` elements.
    #[inline(always)]
    unsafe fn run(self, s: S) {
        self.halve(s);
        if self.out.is_null() {
            self.push(s);
        } else {
            self.finish(s);
        }
    }
}

impl<S: Simd, F: Fold<S, Acc = [S::V; 1]>> CombineChunk<S, F> {
    /// The digit of the 1 bit number `d` of `chunk`, counted from the highest.
    #[inline(always)]
    fn digit(&self, d: u32) -> *mut S::T {
        self.digits.wrapping_add(d as usize * self.pitch)
    }

    /// Halves the lanes: combines lanes 0..w with lanes w..2w, until one lane is left.
    ///
    /// # Safety
    /// As [`CombineChunk::run`].
    #[inline(always)]
    unsafe fn halve(&self, s: S) {
        let mut w = self.lanes / 2;
        while w >= GROUPS / 2 {
            let len = w / (GROUPS / 2) * self.pitch;
            self.halve_groups(s, len);
            w /= GROUPS;
        }
        while w > 0 {
            let len = w * self.pitch;
            combine_into::<S, F>(s, len, self.base, self.base.add(len));
            w /= 2;
        }
    }

    /// Three levels of halving at once: combines [`GROUPS`] groups of `len` elements into the first one.
    ///
    /// # Safety
    /// As [`CombineChunk::run`].
    #[inline(always)]
    unsafe fn halve_groups(&self, s: S, len: usize) {
        let mut c = 0;
        while c < len {
            let mut v = [[s.splat(F::START)]; GROUPS];
            // SAFETY: as the caller's.
            unsafe {
                for (q, v) in v.iter_mut().enumerate() {
                    *v = [load(s, self.base.add(q * len + c), len - c)];
                }
                let [v] = combine_groups::<S, F>(s, v);
                store(s, self.base.add(c), len - c, v);
            }
            c += S::N;
        }
    }

    /// Adds the first lane, which is the chunk's result, to the tree.
    ///
    /// # Safety
    /// As [`CombineChunk::run`].
    #[inline(always)]
    unsafe fn push(&self, s: S) {
        let (base, pitch) = (self.base, self.pitch);
        let (used, carries) = (self.chunk.count_ones(), self.chunk.trailing_ones());
        for d in 1..=carries {
            let digit = self.digit(used - d);
            combine_into::<S, F>(s, pitch, digit, base);
            base.copy_from_nonoverlapping(digit, pitch);
        }
        self.digit(used - carries)
            .copy_from_nonoverlapping(base, pitch);
    }

    /// Combines the chunk's result with the digits in use, from the newest, and writes the results to `out`.
    ///
    /// # Safety
    /// As [`CombineChunk::run`].
    #[inline(always)]
    unsafe fn finish(&self, s: S) {
        let mut newest = self.base;
        for d in (0..self.chunk.count_ones()).rev() {
            combine_into::<S, F>(s, self.pitch, self.digit(d), newest);
            newest = self.digit(d);
        }
        let mut c = 0;
        while c < self.cols {
            let len = self.cols - c;
            let v = finish::<S, F>(s, load(s, newest.add(c), len));
            store(s, self.out.add(c), len, v);
            c += S::N;
        }
    }
}

/// a = combine(a, b) for `len` elements.
///
/// # Safety
/// `a` and `b` must be valid for `len` elements.
#[inline(always)]
unsafe fn combine_into<S: Simd, F: Fold<S>>(s: S, len: usize, a: *mut S::T, b: *const S::T) {
    let mut c = 0;
    while c < len {
        // SAFETY: the caller vouches for the elements.
        unsafe {
            let (p, q, len) = (a.add(c), b.add(c), len - c);
            store(s, p, len, F::combine(s, load(s, p, len), load(s, q, len)));
        }
        c += S::N;
    }
}

/// Combines one register of each group, pairwise.
#[inline(always)]
pub(super) fn combine_groups<S: Simd, F: Fold<S>>(s: S, mut v: [F::Acc; GROUPS]) -> F::Acc {
    let mut w = GROUPS / 2;
    while w > 0 {
        for q in 0..w {
            v[q] = combine::<S, F>(s, v[q], v[q + w]);
        }
        w /= 2;
    }
    v[0]
}

/// Computes the results of columns of `rows` rows from their two finished accumulators. The first is in `out`, which
/// the result replaces, the second in `second`.
///
/// # Safety
/// Both must be valid for `cols` elements.
#[inline(always)]
pub(super) unsafe fn results<S: Simd, F: Fold<S>>(
    s: S,
    rows: usize,
    cols: usize,
    second: *const S::T,
    out: *mut S::T,
) {
    let mut c = 0;
    while c < cols {
        let mut acc = start::<S, F>(s);
        // SAFETY: as the caller's.
        unsafe {
            for (v, p) in acc.as_mut().iter_mut().zip([out.cast_const(), second]) {
                *v = load(s, p.add(c), cols - c);
            }
            store(s, out.add(c), cols - c, F::result(s, acc, rows));
        }
        c += S::N;
    }
}
