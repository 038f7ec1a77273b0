//! Rows folded in memory order, into lanes that stay in L1.

use super::{Fold, RowSpan, Strip};
use crate::element::Element;
use crate::ops::reduce::columns::{load_acc, store_acc};
use crate::ops::reduce::fold::start;
use crate::simd::Simd;

impl<S: Simd> Strip<S> {
    /// Folds the rows of `span` into all lanes of a contiguous strip, in memory order: one stream, and lanes that
    /// stay in L1.
    ///
    /// # Safety
    /// As [`Strip::lane_by_lane`]; the fold must have no parameters.
    #[inline(always)]
    pub(super) unsafe fn in_order<F: Fold<S>>(&self, s: S, span: RowSpan) {
        let first = usize::from(span.row == 0);
        self.in_order_steps::<F, true>(s, self.m.at(span.i, 0), first);
        let rest = self.m.at(span.i + first * self.lanes, 0);
        self.in_order_steps::<F, false>(s, rest, span.steps - first);
    }

    /// [`Strip::in_order`] for `steps` rows of each lane, from `x` on. With `FIRST`, lanes begin with the start value.
    ///
    /// # Safety
    /// As [`Strip::in_order`].
    #[inline(always)]
    unsafe fn in_order_steps<F: Fold<S>, const FIRST: bool>(
        &self,
        s: S,
        mut x: *const S::T,
        steps: usize,
    ) {
        /// Registers per iteration.
        const UNROLL: usize = 4;
        const { assert!(S::R.is_multiple_of(UNROLL), "lanes would be left over") };
        let zero = s.splat(S::T::ZERO);
        for _ in 0..steps {
            let mut acc = self.base;
            // SAFETY: as the caller's.
            unsafe {
                for _ in 0..self.lanes * self.cols / (UNROLL * S::N) {
                    for r in 0..UNROLL {
                        let acc = acc.add(r * S::N);
                        let v = if FIRST {
                            start::<S, F>(s)
                        } else {
                            load_acc::<S, F>(s, acc, self.gap, S::N)
                        };
                        let v = F::step(s, v, s.load(x.add(r * S::N)), zero);
                        store_acc(s, acc, self.gap, S::N, v);
                    }
                    (x, acc) = (x.add(UNROLL * S::N), acc.add(UNROLL * S::N));
                }
            }
        }
    }
}
