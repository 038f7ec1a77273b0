//! `mse_grad` and `lsq_grad` of 16-bit floats, computed in `f32` and rounded once.

use crate::api::reduce::{ChunkTree, FoldKernels, StridedVector};
use crate::api::widen::{CHUNK, WidenedChunk, widen_strided};
use crate::dispatch::{Compute, Kernels};
use crate::element::{Element, Storage};
use crate::exec::Shared;
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::ops::reduce::Dot;
use crate::recipe::Folded;

/// [`mse_grad_part`](super::mse_grad_part) of such elements.
///
/// # Safety
/// As there.
#[inline(never)]
pub unsafe fn mse_grad<T: Storage>(
    level: Level,
    n: usize,
    pred: *const T,
    target: *const T,
    grad: *mut T,
) -> Compute<T> {
    let kernels = Kernels::<T>::new(level);
    let (widen, round) = (kernels.widen(), kernels.round());
    let kernel = Kernels::<Compute<T>>::new(level).mse_grad();
    let mut buffers = [const { WidenedChunk::new() }; 2];
    let [p, q] = buffers.each_mut().map(WidenedChunk::start);
    let mut sums = ChunkTree::EMPTY;
    for from in (0..n).step_by(CHUNK) {
        let len = CHUNK.min(n - from);
        // SAFETY: as the caller's; a chunk fits a buffer. The gradient may replace the prediction.
        unsafe {
            widen(len, pred.add(from), p, CHUNK_AHEAD);
            widen(len, target.add(from), q, CHUNK_AHEAD);
            sums.push(kernel(len, p, q, p, false), |a, b| a + b);
            round(len, p, grad.add(from));
        }
    }
    let sum = sums.finish(|a, b| a + b);
    sum.unwrap_or(Compute::<T>::ZERO)
}

/// Rows of a least-squares problem.
pub struct LsqRows<T: Storage> {
    pub rows: usize,
    pub n: usize,
    pub a: *const T,
    pub a_rs: isize,
    pub a_cs: isize,
    pub x: StridedVector<T>,
    /// A copy of x in the type of arithmetic.
    pub widened_x: Option<Shared<Compute<T>>>,
    pub y: *const Compute<T>,
}

impl<T: Storage> LsqRows<T> {
    /// Computes what [`lsq_block`](crate::ops::reduce::lsq_block) does: row by row, chunk by chunk.
    ///
    /// # Safety
    /// As there; the machine must have the kernels' level.
    #[inline(never)]
    pub unsafe fn block(
        &self,
        k: Kernels<Compute<T>>,
        from: usize,
        cols: usize,
        out: *mut Compute<T>,
    ) {
        let mut buffers = [const { WidenedChunk::new() }; 2];
        let [row, x] = buffers.each_mut().map(WidenedChunk::start);
        // SAFETY: as the caller's; a chunk fits a buffer.
        unsafe {
            (k.fill())(cols, Compute::<T>::ZERO, out, false);
            for i in 0..self.rows {
                let a = self.a.wrapping_offset(i as isize * self.a_rs);
                let a = StridedVector::new(a, self.a_cs);
                let dot = self.dot(k.level(), a, row, x);
                let residual = dot + Compute::<T>::ZERO - *self.y.add(i);
                let mut at = 0;
                while at < cols {
                    let len = CHUNK.min(cols - at);
                    // The only chunk of a short row is there already.
                    if self.n > CHUNK || cols != self.n {
                        widen_strided(k.level(), len, a.from(from + at), row);
                    }
                    (k.axpy())(len, residual, row, out.add(at), false);
                    at += len;
                }
            }
        }
    }

    /// Returns the dot product of a row and x, and leaves the last chunk of the row in `row`.
    ///
    /// # Safety
    /// As [`LsqRows::block`]; both buffers must have room for a chunk.
    unsafe fn dot(
        &self,
        level: Level,
        a: StridedVector<T>,
        row: *mut Compute<T>,
        buffer: *mut Compute<T>,
    ) -> Compute<T> {
        let dot = FoldKernels::of::<Dot>(level);
        let mut sums = ChunkTree::EMPTY;
        for from in (0..self.n).step_by(CHUNK) {
            let len = CHUNK.min(self.n - from);
            // SAFETY: as the caller's.
            unsafe {
                widen_strided(level, len, a.from(from), row);
                let x = match self.widened_x {
                    Some(x) => x.get().wrapping_add(from),
                    None => {
                        widen_strided(level, len, self.x.from(from), buffer);
                        buffer
                    }
                };
                let [row, x] = [row, x].map(|p| StridedVector::new(p, 1));
                let Folded(sum, _) = dot.run(len, row, x, Compute::<T>::ZERO);
                sums.push(sum, |a, b| a + b);
            }
        }
        let sum = sums.finish(|a, b| a + b);
        sum.unwrap_or(Compute::<T>::ZERO)
    }
}
