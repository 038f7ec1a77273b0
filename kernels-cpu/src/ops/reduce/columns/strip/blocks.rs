//! Rows folded lane by lane, each lane in blocks of a few registers of columns: memory and the LLC deliver most where
//! few streams alternate and each is read for several cache lines of a page at a time.

use super::{Fold, STEPS, Strip};
use crate::element::Element;
use crate::ops::load;
use crate::ops::reduce::columns::{load_acc, store_acc};
use crate::ops::reduce::fold::start;
use crate::simd::Simd;

/// Registers of a block.
const NARROW: usize = 4;
/// The same where registers have 64 bytes, and the level therefore 32 of them.
const WIDE: usize = 8;

/// A block of columns, and the rows of one lane that are folded in it.
#[derive(Clone, Copy)]
struct LaneBlock {
    /// First row, counted in the matrix.
    i: usize,
    /// Rows of the lane, from `i` on.
    steps: usize,
    lane: usize,
    /// First column.
    c: usize,
    /// Columns.
    len: usize,
    /// Whether rows have been folded into the lane before.
    continues: bool,
}

impl<S: Simd> Strip<S> {
    /// Folds the chunk of `count` rows at `from` in blocks. All lanes hold partial results afterwards.
    ///
    /// # Safety
    /// As [`Strip::chunk`].
    #[inline(always)]
    pub(super) unsafe fn blocks<F: Fold<S>>(&mut self, s: S, from: usize, count: usize) {
        let lanes = self.lanes;
        let mut row = 0;
        while row < count {
            for lane in 0..lanes {
                let rows = (count - row).saturating_sub(lane);
                let block = LaneBlock {
                    i: from + row + lane,
                    steps: rows.div_ceil(lanes).min(STEPS),
                    lane,
                    c: 0,
                    len: self.cols,
                    continues: row > 0,
                };
                // SAFETY: as the caller's.
                unsafe {
                    let mut c = match (S::N * size_of::<S::T>(), block.steps) {
                        (64, STEPS) => self.row::<F, WIDE, true>(s, block),
                        (64, _) => self.row::<F, WIDE, false>(s, block),
                        (_, STEPS) => self.row::<F, NARROW, true>(s, block),
                        (_, _) => self.row::<F, NARROW, false>(s, block),
                    };
                    while c < block.len {
                        let len = S::N.min(block.len - c);
                        self.block::<F, 1, false>(s, LaneBlock { c, len, ..block });
                        c += len;
                    }
                }
            }
            row += STEPS * lanes;
        }
    }

    /// Folds `row` in blocks of `COUNT` registers, and returns how many columns these fill. With `FULL`, `row` has
    /// [`STEPS`] rows.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn row<F: Fold<S>, const COUNT: usize, const FULL: bool>(
        &mut self,
        s: S,
        row: LaneBlock,
    ) -> usize {
        let mut c = 0;
        // SAFETY: as the caller's.
        unsafe {
            while c + COUNT * S::N <= row.len {
                let len = COUNT * S::N;
                self.block::<F, COUNT, FULL>(s, LaneBlock { c, len, ..row });
                c += len;
            }
        }
        c
    }

    /// Folds one block of `COUNT` registers. With `FULL`, it has [`STEPS`] rows.
    ///
    /// # Safety
    /// As [`Strip::row`].
    #[inline(always)]
    unsafe fn block<F: Fold<S>, const COUNT: usize, const FULL: bool>(
        &mut self,
        s: S,
        block: LaneBlock,
    ) {
        let LaneBlock { c, len, .. } = block;
        // Unrolled for a full count, because a loop of so few iterations holds up the loads after it.
        let steps = if FULL { STEPS } else { block.steps };
        let (m, lanes) = (self.m, self.lanes);
        let acc = self.base.wrapping_add(block.lane * self.pitch + c);
        let mut v = [start::<S, F>(s); COUNT];
        let mut params = [s.splat(S::T::ZERO); COUNT];
        let stride = lanes as isize * m.inc;
        let mut i = block.i;
        let mut p = m.at(i, c);
        // SAFETY: as the caller's; a lane has room for whole registers.
        unsafe {
            for (r, (v, param)) in v.iter_mut().zip(&mut params).enumerate() {
                *param = m.param::<S, F>(s, c + r * S::N, len - r * S::N);
                if block.continues {
                    *v = load_acc::<S, F>(s, acc.add(r * S::N), self.gap, S::N);
                }
            }
            for _ in 0..steps {
                for (r, (v, &param)) in v.iter_mut().zip(&params).enumerate() {
                    let x = load(s, p.wrapping_add(r * S::N), len - r * S::N);
                    *v = F::step(s, *v, x, m.operand::<S, F>(s, i, param));
                }
                p = p.wrapping_offset(stride);
                i += lanes;
            }
            for (r, &v) in v.iter().enumerate() {
                store_acc(s, acc.add(r * S::N), self.gap, S::N, v);
            }
        }
    }
}
