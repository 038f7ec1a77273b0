//! Chunks of columns of 16-bit floats that are too long to be widened as a whole.

use super::gathered::{Chunks, MAX_GATHERED};
use super::rows::RowMatrix;
use crate::api::widen::CHUNK;
use crate::dispatch::{Compute, Kernels};
use crate::element::Storage;
use crate::level::Level;

/// Bytes of a cache line.
const LINE: usize = 64;

/// Columns whose chunks are widened and transposed, all of them together so that memory is read along its lines.
pub struct TallColumns<M: Storage> {
    pub level: Level,
    pub part: RowMatrix<M>,
    /// Room for the rows of a chunk, then for its columns.
    pub p: *mut Compute<M>,
}

impl<M: Storage> TallColumns<M> {
    /// Elements from one column's chunk to the next: different sets of a cache.
    const PITCH: usize = CHUNK + LINE / size_of::<Compute<M>>();
    /// Bytes of the room.
    pub const BYTES: usize = MAX_GATHERED * (CHUNK + Self::PITCH) * size_of::<Compute<M>>() + LINE;
}

impl<M: Storage> Chunks for TallColumns<M> {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        let kernels = Kernels::<M>::new(self.level);
        let (widen, transpose) = (
            kernels.widen(),
            Kernels::<Compute<M>>::new(self.level).transpose_block(),
        );
        let (count, x) = (self.part.m, self.part.x);
        let columns = self.p.wrapping_add(MAX_GATHERED * CHUNK);
        // SAFETY: the caller vouches for the elements; there is room for a chunk of each column.
        unsafe {
            if x.cs == count as isize {
                widen(len * count, x.at(0, from), self.p, true);
            } else {
                for i in 0..len {
                    widen(count, x.at(0, from + i), self.p.add(i * count), false);
                }
            }
            let step = count as isize;
            transpose(len, count, self.p, step, columns, Self::PITCH as isize);
        }
        let step = Self::PITCH * size_of::<Compute<M>>();
        (columns.cast_const().cast(), step as isize)
    }
}
