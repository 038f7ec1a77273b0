//! Lanes one after the other, each in blocks of some registers: memory and the last-level cache are read fast
//! where few streams take turns, and each gives some lines of its page at once.

use super::{Fold, STEPS, Strip};
use crate::ops::load;
use crate::simd::Simd;

/// Registers of a block; and where there are 32 registers.
const NARROW: usize = 4;
const WIDE: usize = 8;

/// A block's part of a lane.
#[derive(Clone, Copy)]
struct Block {
    /// First row in the matrix, and rows.
    i: usize,
    steps: usize,
    lane: usize,
    /// First column, and columns.
    c: usize,
    len: usize,
    /// Whether the lane has rows already.
    goes_on: bool,
}

impl<S: Simd> Strip<S> {
    /// As [`Strip::chunk`], in blocks; all lanes are left.
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
                let block = Block {
                    i: from + row + lane,
                    steps: rows.div_ceil(lanes).min(STEPS),
                    lane,
                    c: 0,
                    len: self.cols,
                    goes_on: row > 0,
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
                        self.block::<F, 1, false>(s, Block { c, len, ..block });
                        c += len;
                    }
                }
            }
            row += STEPS * lanes;
        }
    }

    /// The columns of `all` that fill `COUNT` registers, so many at once; returns how many columns those are.
    /// Its rows are [`STEPS`] where `ALL`.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn row<F: Fold<S>, const COUNT: usize, const ALL: bool>(
        &mut self,
        s: S,
        all: Block,
    ) -> usize {
        let mut c = 0;
        // SAFETY: as the caller's.
        unsafe {
            while c + COUNT * S::N <= all.len {
                let len = COUNT * S::N;
                self.block::<F, COUNT, ALL>(s, Block { c, len, ..all });
                c += len;
            }
        }
        c
    }

    /// One block, of `COUNT` registers, of [`STEPS`] rows where `ALL`.
    ///
    /// # Safety
    /// As [`Strip::row`].
    #[inline(always)]
    unsafe fn block<F: Fold<S>, const COUNT: usize, const ALL: bool>(
        &mut self,
        s: S,
        block: Block,
    ) {
        let Block { c, len, .. } = block;
        // Written out where there are all: a loop that turns so seldom holds up the loads behind it.
        let steps = if ALL { STEPS } else { block.steps };
        let (m, lanes) = (self.m, self.lanes);
        let acc = self.base.wrapping_add(block.lane * self.pitch + c);
        let mut v = [s.splat(F::START); COUNT];
        let mut params = v;
        let far = lanes as isize * m.inc;
        let mut i = block.i;
        let mut p = m.at(i, c);
        // SAFETY: as the caller's; a lane has room for whole registers.
        unsafe {
            for (r, (v, param)) in v.iter_mut().zip(&mut params).enumerate() {
                *param = m.param::<S, F>(s, c + r * S::N, len - r * S::N);
                if block.goes_on {
                    *v = s.load(acc.add(r * S::N));
                }
            }
            for _ in 0..steps {
                for (r, (v, &param)) in v.iter_mut().zip(&params).enumerate() {
                    let x = load(s, p.wrapping_add(r * S::N), len - r * S::N);
                    *v = F::step(s, *v, x, m.operand::<S, F>(s, i, param));
                }
                p = p.wrapping_offset(far);
                i += lanes;
            }
            for (r, &v) in v.iter().enumerate() {
                s.store(acc.add(r * S::N), v);
            }
        }
    }
}
