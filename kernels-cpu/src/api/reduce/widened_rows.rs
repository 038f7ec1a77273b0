//! Rows of a matrix of 16-bit floats that are widened while its columns are reduced.

use super::fold::StridedVector;
use super::rows::RowMatrix;
use crate::dispatch::{Compute, Kernels};
use crate::element::Storage;
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::ops::reduce::{BufferedRows, RowSource, WorkArea};

/// Memory for the reduction of columns.
#[derive(Clone, Copy)]
pub struct ColumnsArea {
    /// The buffer of widened rows, aligned to a cache line.
    pub buffer: *mut u8,
    /// Elements for which it has room, as [`BufferedRows::needed`] says.
    pub room: usize,
    /// The work area of the kernel.
    pub work: *mut u8,
    /// Its bytes.
    pub bytes: usize,
}

impl ColumnsArea {
    /// Calls `body` with a work area whose kernel reads these rows.
    pub fn with_source<R>(self, rows: &dyn RowSource, body: impl FnOnce(WorkArea<'_>) -> R) -> R {
        let (buffer, room) = (self.buffer, self.room);
        let source = BufferedRows { rows, buffer, room };
        body(WorkArea {
            p: self.work,
            bytes: self.bytes,
            from_memory: false,
            source: Some(&source),
        })
    }
}

/// A matrix of 16-bit floats, whose columns are vectors.
pub struct WidenedRows<M: Storage> {
    widen: unsafe fn(usize, *const M, *mut Compute<M>, isize),
    x: *const M,
    /// Elements from a row to the next.
    inc: isize,
}

impl<M: Storage> WidenedRows<M> {
    /// Returns the rows of a matrix whose vectors are columns in memory.
    pub fn new(level: Level, columns: RowMatrix<M>) -> Self {
        Self {
            widen: Kernels::<M>::new(level).widen(),
            x: columns.row(0),
            inc: columns.x.cs,
        }
    }

    /// Returns column j.
    pub fn column(&self, j: usize) -> StridedVector<M> {
        StridedVector::new(self.x.wrapping_add(j), self.inc)
    }
}

impl<M: Storage> RowSource for WidenedRows<M> {
    unsafe fn read(
        &self,
        [i, count]: [usize; 2],
        step: usize,
        [j, cols]: [usize; 2],
        to: *mut u8,
        pitch: usize,
    ) {
        let at = |i: usize| {
            self.x
                .wrapping_offset(i as isize * self.inc)
                .wrapping_add(j)
        };
        let to: *mut Compute<M> = to.cast();
        // SAFETY: as the caller's.
        unsafe {
            if step == 1 && pitch == cols && self.is_gapless(cols) {
                return (self.widen)(count * cols, at(i), to, CHUNK_AHEAD);
            }
            // Rows that follow each other are followed by as many.
            let ahead = if step == 1 { count as isize } else { 1 };
            let ahead = ahead * self.inc * size_of::<M>() as isize;
            for row in 0..count {
                (self.widen)(cols, at(i + row * step), to.add(row * pitch), ahead);
            }
        }
    }

    fn is_gapless(&self, cols: usize) -> bool {
        self.inc == cols as isize
    }
}
