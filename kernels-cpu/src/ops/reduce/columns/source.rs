//! Matrices whose rows are read into a buffer before they are folded, because their elements have another type.

use crate::element::Element;

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
