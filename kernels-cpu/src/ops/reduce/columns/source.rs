//! Matrices whose rows are read into a buffer before they are folded, because their elements have another type.

use super::{Fold, Matrix};
use crate::element::Element;
use crate::simd::Simd;

/// Rows of a matrix that must be converted.
pub trait RowSource {
    /// Writes columns `columns[0]`.. of rows `rows[0]`, `rows[0] + step`, ..., as many as the second numbers say, to `to`,
    /// converted. The rows there are `pitch` elements apart.
    ///
    /// # Safety
    /// The matrix must have these rows and columns, and `to` room for them.
    unsafe fn read(
        &self,
        rows: [usize; 2],
        step: usize,
        columns: [usize; 2],
        to: *mut u8,
        pitch: usize,
    );

    /// Returns whether so many columns are whole rows without gaps between them.
    fn is_gapless(&self, cols: usize) -> bool;
}

/// Rows that are converted, and a buffer, in which they are valid until others are read.
#[derive(Clone, Copy)]
pub struct BufferedRows<'a> {
    pub rows: &'a dyn RowSource,
    /// Aligned to a cache line.
    pub buffer: *mut u8,
    /// Elements for which the buffer has room, at least [`BufferedRows::needed`] for the columns that are folded at once.
    pub room: usize,
}

/// Elements to which rows in a buffer are padded: a cache line of `f32`.
const PADDING: usize = 16;

impl BufferedRows<'_> {
    /// Returns the elements that a buffer must have room for, so that `cols` columns can be folded at once: a row for each of
    /// 64 lanes, or for each of more lanes if rows are short.
    pub const fn needed(cols: usize) -> usize {
        let padded = cols.next_multiple_of(PADDING);
        let fewest = 2 * PADDING;
        f32::LANES * if padded > fewest { padded } else { fewest }
    }

    /// Returns the elements from a row to the next in the buffer, a multiple of `step`.
    #[inline(never)]
    pub(super) fn pitch(&self, cols: usize, step: usize) -> usize {
        if step == 1 && self.rows.is_gapless(cols) {
            cols
        } else {
            cols.next_multiple_of(step.max(PADDING))
        }
    }

    /// Returns how many rows of so many columns the buffer has room for.
    #[inline(never)]
    pub(super) fn capacity(&self, cols: usize) -> usize {
        self.room / self.pitch(cols, 1).max(1)
    }

    /// Reads columns as [`RowSource::read`]; returns the buffer.
    ///
    /// # Safety
    /// As there; the buffer must have room for the rows.
    #[inline(never)]
    pub(super) unsafe fn read(
        &self,
        rows: [usize; 2],
        step: usize,
        columns: [usize; 2],
        pitch: usize,
    ) -> *const u8 {
        debug_assert!(rows[1] * pitch <= self.room);
        // SAFETY: as the caller's.
        unsafe { self.rows.read(rows, step, columns, self.buffer, pitch) };
        self.buffer
    }
}

impl<'a, T: Element> Matrix<'a, T> {
    /// Reads `count` rows from the source, i, i + step, ..., of `cols` columns from j on: those of the matrix that this returns.
    /// `step` must be a power of two.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix, and the buffer have room for them.
    #[inline(always)]
    pub(super) unsafe fn read(
        self,
        source: &BufferedRows<'_>,
        [i, count]: [usize; 2],
        step: usize,
        [j, cols]: [usize; 2],
    ) -> Self {
        let pitch = source.pitch(cols, step);
        // SAFETY: as the caller's.
        let rows = unsafe { source.read([i, count], step, [self.first + j, cols], pitch) };
        let inc = (pitch / step.max(1)) as isize;
        let x = rows.cast::<T>().wrapping_offset(-(i as isize * inc));
        let x = x.wrapping_sub(j);
        Self { x, inc, ..self }
    }

    /// Returns the source of buffered rows, which folds of one vector of `f32` may have.
    #[inline(always)]
    pub(super) fn source<S: Simd<T = T>, F: Fold<S>>(&self) -> Option<&'a BufferedRows<'a>> {
        if const { !F::PAIR && size_of::<T>() == size_of::<f32>() } {
            self.source
        } else {
            None
        }
    }
}
