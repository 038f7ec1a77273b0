//! Chunks of vectors of 16-bit floats, widened to `f32` on the stack.

use core::marker::PhantomData;

use super::fold::{FoldKernels, StridedVector};
use super::gathered::Chunks;
use super::tree::ChunkTree;
use crate::api::widen::{CHUNK, WidenedChunk, widen_strided};
use crate::dispatch::{Compute, Kernels};
use crate::element::{Element, Storage};
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::recipe::Folded;

/// Folds a vector: widens it chunk by chunk, and builds the tree over the chunks.
///
/// # Safety
/// `x`, and `y` if it is another vector, must be valid at `n` elements.
#[inline(always)]
pub unsafe fn fold_widened<M: Storage>(
    fold: FoldKernels<Compute<M>>,
    n: usize,
    x: StridedVector<M>,
    y: StridedVector<M>,
    param: Compute<M>,
) -> Folded<Compute<M>> {
    // SAFETY: as the caller's.
    unsafe {
        if x.at(0) == y.at(0) && x.inc == y.inc {
            fold_one(fold, n, x, param)
        } else {
            fold_pair(fold, n, x, y, param)
        }
    }
}

/// [`fold_widened`] of one vector. A function of its own, like the next, because of its stack.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn fold_one<M: Storage>(
    fold: FoldKernels<Compute<M>>,
    n: usize,
    x: StridedVector<M>,
    param: Compute<M>,
) -> Folded<Compute<M>> {
    let mut buffer = WidenedChunk::new();
    let p = buffer.start();
    fold_chunks(fold, n, |from, len| {
        // SAFETY: as the caller's; a chunk fits the buffer.
        unsafe {
            widen_strided(fold.level, len, x.from(from), p);
            (fold.vector)(len, p, 1, p, 1, param)
        }
    })
}

/// [`fold_widened`] of two vectors.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn fold_pair<M: Storage>(
    fold: FoldKernels<Compute<M>>,
    n: usize,
    x: StridedVector<M>,
    y: StridedVector<M>,
    param: Compute<M>,
) -> Folded<Compute<M>> {
    let mut buffers = [const { WidenedChunk::new() }; 2];
    let [p, q] = buffers.each_mut().map(WidenedChunk::start);
    fold_chunks(fold, n, |from, len| {
        // SAFETY: as the caller's; a chunk fits a buffer.
        unsafe {
            widen_strided(fold.level, len, x.from(from), p);
            widen_strided(fold.level, len, y.from(from), q);
            (fold.vector)(len, p, 1, q, 1, param)
        }
    })
}

/// Returns the tree over the chunks of `n` elements; `chunk` folds one, from its first element and its length.
#[inline(always)]
fn fold_chunks<T: Element>(
    fold: FoldKernels<T>,
    n: usize,
    mut chunk: impl FnMut(usize, usize) -> Folded<T>,
) -> Folded<T> {
    let join = |a, b| fold.join.both(a, b);
    let mut tree = ChunkTree::EMPTY;
    for from in (CHUNK..n).step_by(CHUNK) {
        tree.push(chunk(from - CHUNK, CHUNK), join);
    }
    let last = n.saturating_sub(1) / CHUNK * CHUNK;
    let folded = chunk(last, n - last);
    if last == 0 {
        return folded;
    }
    tree.push(folded, join);
    tree.finish(join).unwrap_or(folded)
}

/// A vector that is widened chunk by chunk.
pub struct WidenedVector<M: Storage> {
    level: Level,
    x: StridedVector<M>,
    widened: WidenedChunk,
}

impl<M: Storage> WidenedVector<M> {
    pub fn new(level: Level, x: StridedVector<M>) -> Self {
        let widened = WidenedChunk::new();
        Self { level, x, widened }
    }
}

impl<M: Storage> Chunks for WidenedVector<M> {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        let to = self.widened.start();
        // SAFETY: the caller's vector has these elements, and there is room for a chunk.
        unsafe { widen_strided(self.level, len, self.x.from(from), to) };
        (to.cast_const().cast(), 0)
    }
}

/// Vectors that are widened chunk by chunk.
pub struct WidenedChunks<'a, M: Storage> {
    level: Level,
    chunks: &'a mut dyn Chunks,
    /// The chunk of one vector.
    widened: WidenedChunk,
    of: PhantomData<M>,
}

impl<'a, M: Storage> WidenedChunks<'a, M> {
    /// Widens the elements of `chunks`.
    pub fn new(level: Level, chunks: &'a mut dyn Chunks) -> Self {
        Self {
            level,
            chunks,
            widened: WidenedChunk::new(),
            of: PhantomData,
        }
    }
}

impl<M: Storage> Chunks for WidenedChunks<'_, M> {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        // SAFETY: as the caller's.
        unsafe { self.chunks.chunk(from, len) }
    }

    unsafe fn computed(&mut self, x: *const u8, len: usize) -> *const u8 {
        let to: *mut Compute<M> = self.widened.start();
        // SAFETY: the caller vouches for the elements, and there is room for a chunk.
        unsafe { Kernels::<M>::new(self.level).widen()(len, x.cast(), to, CHUNK_AHEAD) };
        to.cast_const().cast()
    }
}
