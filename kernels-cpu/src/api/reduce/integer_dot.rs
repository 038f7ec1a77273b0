//! Dot products of vectors of integers with any strides, whose parts threads share.

use super::{MAX_PARTS, StridedVector};
use crate::aligned::AlignedBytes;
use crate::copy::{CopyLoop, copy};
use crate::exec::{Exec, Shared, share};
use crate::level::Level;
use crate::ops::integers::dot::Dot;

/// Bytes of the pieces in which strided elements are gathered.
const PIECE: usize = 4 << 10;

/// A kernel of a level, and the bytes of an element.
#[derive(Clone, Copy)]
pub struct IntegerDot {
    pub level: Level,
    pub kernel: Dot,
    pub size: usize,
}

impl IntegerDot {
    /// Returns the dot product of two vectors of n elements, modulo 2^64. Their strides count bytes.
    ///
    /// # Safety
    /// The vectors must be valid, and the machine must have the level.
    #[cfg_attr(precompiled, inline(never))]
    #[cfg_attr(not(precompiled), inline)]
    pub unsafe fn vectors(
        self,
        exec: &Exec<'_>,
        n: usize,
        x: StridedVector<u8>,
        y: StridedVector<u8>,
    ) -> i64 {
        let bytes = n.saturating_mul(2 * self.size);
        let tasks = exec.tasks(bytes, MAX_PARTS).min(MAX_PARTS);
        if tasks <= 1 {
            // SAFETY: as the caller's.
            return unsafe { self.part(n, x, y) };
        }
        let each = share(n, tasks);
        let mut totals = [0_i64; MAX_PARTS];
        let slots = Shared::new(totals.as_mut_ptr());
        exec.run(tasks, &move |task| {
            let from = (task * each).min(n);
            // SAFETY: the part lies in 0..n, and the slot is this task's own.
            unsafe {
                let total = self.part(each.min(n - from), x.from(from), y.from(from));
                slots.get().add(task).write(total);
            }
        });
        totals.iter().fold(0, |sum, &one| sum.wrapping_add(one))
    }

    /// [`IntegerDot::vectors`] on this thread.
    ///
    /// # Safety
    /// As there.
    #[cfg_attr(not(precompiled), inline)]
    unsafe fn part(self, n: usize, x: StridedVector<u8>, y: StridedVector<u8>) -> i64 {
        let size = self.size as isize;
        let mut total = 0;
        if n < 2 || x.inc == size && y.inc == size {
            // SAFETY: as the caller's.
            unsafe { (self.kernel)(n, x.at(0), y.at(0), &mut total) };
            return total;
        }
        let mut pieces = [const { AlignedBytes::<PIECE>::new() }; 2];
        let [first, second] = pieces.each_mut().map(AlignedBytes::start);
        let longest = PIECE / self.size.max(1);
        let mut from = 0;
        while from < n {
            let count = longest.min(n - from);
            // SAFETY: the elements lie in 0..n and fit a piece.
            unsafe {
                let (x, y) = (
                    self.gather(count, x.from(from), first),
                    self.gather(count, y.from(from), second),
                );
                (self.kernel)(count, x, y, &mut total);
            }
            from += count;
        }
        total
    }

    /// Returns where n elements of a vector are contiguous: in place, or copied to a piece.
    ///
    /// # Safety
    /// The vector must be valid, and the piece have room for its elements.
    #[cfg_attr(not(precompiled), inline)]
    unsafe fn gather(self, n: usize, x: StridedVector<u8>, piece: *mut u8) -> *const u8 {
        let to = self.size as isize;
        if x.inc == to {
            return x.at(0);
        }
        let one = CopyLoop {
            count: n,
            to,
            from: x.inc,
        };
        // SAFETY: as the caller's.
        unsafe { copy(self.level, self.size, piece, x.at(0), &[one]) };
        piece.cast_const()
    }
}
