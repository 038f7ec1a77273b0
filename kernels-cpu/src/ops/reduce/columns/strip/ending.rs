//! What follows the walk over a chunk's rows, the same for all folds of one [`Fold::Tree`]: the chunk's lanes
//! become one, and the chunks' results.

use core::marker::PhantomData;

use super::{Fold, GROUPS, finish, tree};
use crate::ops::{load, store};
use crate::simd::{Outlined, Simd};

/// A chunk whose rows have been taken, and the results of those before it.
pub(super) struct Ending<S: Simd, F> {
    /// The lanes of the chunk, `pitch` elements each, and how many lanes.
    pub base: *mut S::T,
    pub pitch: usize,
    pub lanes: usize,
    /// The chunk's number.
    pub chunk: usize,
    /// A binary counter of chunks, `pitch` elements each digit.
    pub digits: *mut S::T,
    /// Of the last chunk, where the results of all go, and how many columns those are; else null.
    pub out: *mut S::T,
    pub cols: usize,
    pub fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>> Outlined<S> for Ending<S, F> {
    type Output = ();

    /// # Safety
    /// The lanes and the digits in use must have been written; there must be room for one digit more, and for
    /// the results.
    #[inline(always)]
    unsafe fn run(self, s: S) {
        // SAFETY: as the caller's.
        unsafe {
            self.halve(s);
            if self.out.is_null() {
                self.push(s);
            } else {
                self.finish(s);
            }
        }
    }
}

impl<S: Simd, F: Fold<S>> Ending<S, F> {
    #[inline(always)]
    fn digit(&self, d: u32) -> *mut S::T {
        self.digits.wrapping_add(d as usize * self.pitch)
    }

    /// Lanes 0..w take lanes w..2w, and so on until one is left.
    ///
    /// # Safety
    /// As [`Ending::run`].
    #[inline(always)]
    unsafe fn halve(&self, s: S) {
        let mut w = self.lanes / 2;
        while w >= GROUPS / 2 {
            let len = w / (GROUPS / 2) * self.pitch;
            // SAFETY: as the caller's.
            unsafe { self.halve_groups(s, len) };
            w /= GROUPS;
        }
        while w > 0 {
            let len = w * self.pitch;
            // SAFETY: as the caller's.
            unsafe { combine_into::<S, F>(s, len, self.base, self.base.add(len)) };
            w /= 2;
        }
    }

    /// Three levels at once: the first of [`GROUPS`] groups of `len` elements takes the others.
    ///
    /// # Safety
    /// As [`Ending::run`].
    #[inline(always)]
    unsafe fn halve_groups(&self, s: S, len: usize) {
        let mut c = 0;
        while c < len {
            let mut v = [s.splat(F::START); GROUPS];
            // SAFETY: as the caller's.
            unsafe {
                for (q, v) in v.iter_mut().enumerate() {
                    *v = load(s, self.base.add(q * len + c), len - c);
                }
                store(s, self.base.add(c), len - c, tree::<S, F>(s, v));
            }
            c += S::N;
        }
    }

    /// Pushes the first lane, which is the chunk's result, on the tree.
    ///
    /// # Safety
    /// As [`Ending::run`].
    #[inline(always)]
    unsafe fn push(&self, s: S) {
        let (base, pitch) = (self.base, self.pitch);
        let (top, carries) = (self.chunk.count_ones(), self.chunk.trailing_ones());
        // SAFETY: as the caller's.
        unsafe {
            for d in 1..=carries {
                let digit = self.digit(top - d);
                combine_into::<S, F>(s, pitch, digit, base);
                base.copy_from_nonoverlapping(digit, pitch);
            }
            self.digit(top - carries)
                .copy_from_nonoverlapping(base, pitch);
        }
    }

    /// Folds the digits in use, from the newest, and writes the results.
    ///
    /// # Safety
    /// As [`Ending::run`].
    #[inline(always)]
    unsafe fn finish(&self, s: S) {
        let mut newest = self.base;
        // SAFETY: as the caller's.
        unsafe {
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
