//! A vector of any stride, and contiguous copies of its chunks.

use core::mem::MaybeUninit;

use crate::element::Element;
use crate::ops::prefetch_pages;
use crate::simd::Simd;

/// A vector operand.
#[derive(Clone, Copy)]
pub struct Source<T> {
    pub p: *const T,
    pub inc: isize,
}

/// Bytes of a chunk.
pub const CHUNK_BYTES: usize = 8 << 10;
/// A buffer for the elements of a chunk.
pub type Buffer = [MaybeUninit<u64>; CHUNK_BYTES / 8];

#[inline(always)]
pub fn buffer() -> Buffer {
    [const { MaybeUninit::uninit() }; CHUNK_BYTES / 8]
}

impl<T: Element> Source<T> {
    #[inline(always)]
    pub fn skip(self, i: usize) -> Self {
        Self {
            p: self.p.wrapping_offset(i as isize * self.inc),
            inc: self.inc,
        }
    }

    /// Returns elements i..i+n of a chunk in contiguous memory: in place if the stride is 1, else copied to `buffer`.
    ///
    /// # Safety
    /// The vector must have these elements. Unless the stride is 1, `buffer` must have room for a chunk.
    #[inline(always)]
    pub unsafe fn contiguous(self, i: usize, n: usize, buffer: *mut T) -> *const T {
        let from = self.skip(i);
        if self.inc == 1 {
            return from.p;
        }
        // SAFETY: the caller vouches for elements i..i+n, and for the room.
        unsafe { from.copy(n, buffer) };
        buffer
    }

    /// [`prefetch_pages`] for the chunk from element i on, if the stride is 1.
    #[inline(always)]
    pub fn prefetch<S: Simd>(self, s: S, i: usize) {
        if self.inc == 1 {
            prefetch_pages(s, self.skip(i).p, CHUNK_BYTES);
        }
    }

    /// Copies the first `n` elements to `out`.
    ///
    /// # Safety
    /// The vector must have `n` elements, and `out` must have room for them.
    #[inline(never)]
    pub unsafe fn copy(self, n: usize, out: *mut T) {
        for i in 0..n {
            // SAFETY: the caller vouches for n elements here and there.
            unsafe { out.add(i).write(*self.skip(i).p) };
        }
    }
}
