//! Columns from memory with at most one element per lane but many rows: reading a register of each row in turn would be
//! more streams than a CPU prefetches, and rows a power of two apart would compete for the same sets of the caches. So
//! rows are read in runs, two or three at a time.
//!
//! The halving of the lanes is a pairwise tree over the rows in bit-reversed order. Rows that are read together are
//! neighbours in this order, and what they are combined to is kept in L1.

use core::hint::black_box;
use core::marker::PhantomData;

use super::{LINE, Matrix, WORK, load_acc, store_acc};
use crate::element::Element;
use crate::ops::reduce::Fold;
use crate::ops::reduce::fold::{Accumulators, combine};
use crate::simd::{Outlined, Simd};

/// Bytes of a run: a page, because the hardware prefetchers stop at the end of one.
const RUN: usize = 4096;
/// Rows for which this does not pay yet.
pub const MIN_ROWS: usize = 16;
/// Most digits of a binary counter of pairs that are in use: a pair is the last one if all bits are set.
const MAX_DIGITS: usize = 5;

/// Whether the fold is for columns from memory, and fast enough: extremes that handle NaN take too long in small
/// registers, and a fold with two accumulators follows one that brings the columns to a cache.
pub const fn pay<S: Simd, F: Fold<S>>() -> bool {
    let is_fast = !F::IS_COMPACT && (!F::ANY_ORDER || S::N * size_of::<S::T>() == 64);
    S::HAS_SHAPE_LOOPS && is_fast && F::Acc::COUNT == 1
}

/// Folds all columns except a few last ones, and returns how many. A function of its own, which leaves the compiler's
/// limits on optimisation to the code around it.
///
/// # Safety
/// The matrix must have `cols` columns of [`MIN_ROWS`] < `rows` <= L rows; `out` must be valid for `cols` elements, and
/// `base` for [`WORK`] bytes.
#[inline(always)]
pub unsafe fn runs<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) -> usize {
    const {
        assert!(MAX_DIGITS * RUN <= WORK);
        assert!(<S::T as Element>::LANES <= 2 << MAX_DIGITS);
    }
    let fold = PhantomData::<F>;
    let cols = cols / PairRun::<S::T>::TURN * PairRun::<S::T>::TURN;
    // SAFETY: as the caller's.
    unsafe {
        s.outlined(Runs {
            m,
            rows,
            cols,
            out,
            base,
            fold,
        })
    };
    cols
}

/// The arguments of [`runs`].
struct Runs<T, F> {
    m: Matrix<T>,
    rows: usize,
    /// A multiple of [`PairRun::TURN`].
    cols: usize,
    out: *mut T,
    base: *mut T,
    fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>> Outlined<S> for Runs<S::T, F> {
    type Output = ();

    /// # Safety
    /// As [`runs`].
    #[inline(always)]
    unsafe fn run(self, s: S) {
        let Self { m, rows, cols, .. } = self;
        let pairs = rows.next_power_of_two() / 2;
        let mut j = 0;
        while j < cols {
            let run = PairRun {
                m: m.at_column(j),
                rows,
                pairs,
                count: PairRun::<S::T>::width::<S, F>().min(cols - j),
                base: self.base,
                turn: black_box(PairRun::<S::T>::TURN),
                zero: black_box(0),
            };
            let mut step = Step::new(0, rows, pairs);
            let mut next = Step::new(step.end, rows, pairs);
            while step.first < pairs {
                let ahead = Step::new(next.end, rows, pairs);
                // SAFETY: these columns lie in the matrix and in `out`; there is room for the digits.
                unsafe { run.take::<S, F>(s, step, ahead, self.out.add(j)) };
                (step, next) = (next, ahead);
            }
            j += run.count;
        }
    }
}

/// Some columns, and what their rows are combined to.
#[derive(Clone, Copy)]
struct PairRun<T> {
    m: Matrix<T>,
    rows: usize,
    /// Pairs of rows, the second of which may be missing: rows i and i + `pairs`. A power of two.
    pairs: usize,
    /// Columns: a multiple of `TURN`, and no more than a run has.
    count: usize,
    /// The tree, a binary counter of pairs: each 1 bit of the number of a pair, from the highest, is a digit that holds
    /// what as many pairs before it as the bit is worth are combined to.
    base: *mut T,
    /// `TURN`, hidden from the compiler, which would unroll a loop with a known count.
    turn: usize,
    /// 0, which the compiler cannot know.
    zero: usize,
}

impl<T: Element> PairRun<T> {
    /// Columns of two cache lines.
    const TURN: usize = 2 * LINE / size_of::<T>();

    /// Columns of a run.
    #[inline(always)]
    const fn width<S: Simd<T = T>, F: Fold<S>>() -> usize {
        RUN / size_of::<T>() / F::Acc::COUNT
    }

    /// Combines the rows of a step, and adds the result to the tree. Writes the results to `out` if the step is the
    /// last one. Prefetches the rows of the step `ahead`.
    ///
    /// # Safety
    /// The columns must lie in the matrix, the digits in use must have been written, and there must be room for one
    /// more; `out` must be valid for `count` elements.
    #[inline(always)]
    unsafe fn take<S: Simd<T = T>, F: Fold<S>>(self, s: S, step: Step, ahead: Step, out: *mut T) {
        let Self { m, pairs, .. } = self;
        let width = Self::width::<S, F>();
        let [row0, row1, row2] = step.rows;
        let has_third = row2 != row0;
        let digit = |d: usize| self.base.wrapping_add(d * F::Acc::COUNT * width);
        // A step of two pairs is a digit of twice the worth.
        let used = step.first.count_ones() as usize;
        let carries = (step.first >> (step.end - step.first - 1)).trailing_ones() as usize;
        let is_last = step.end == pairs;
        let column_ahead = if ahead.first < pairs { 0 } else { self.count };
        // The addresses depend on what has been read: reads that run ahead of memory fill the queue of L1 misses and
        // hold up the prefetches.
        let mut wait = 0;
        let mut c = 0;
        while c < self.count {
            for row in ahead.rows {
                let row = m.at(row, column_ahead + c);
                s.prefetch(row);
                s.prefetch(row.wrapping_byte_add(LINE));
            }
            let end = c + self.turn;
            // SAFETY: as the caller's.
            unsafe {
                let m = m.at_column(wait);
                while c < end {
                    let param = m.param::<S, F>(s, c, S::N);
                    let lane0 = m.lane::<S, F>(s, row0, c, param);
                    let lane1 = m.lane::<S, F>(s, row1, c, param);
                    let mut v = combine::<S, F>(s, lane0, lane1);
                    if has_third {
                        let lane2 = m.lane::<S, F>(s, row2, c, param);
                        v = combine::<S, F>(s, v, lane2);
                    }
                    for d in 1..=carries {
                        let older = load_acc::<S, F>(s, digit(used - d).add(c), width, S::N);
                        v = combine::<S, F>(s, older, v);
                    }
                    if is_last {
                        s.store(out.add(c), F::result(s, v, self.rows));
                    } else {
                        store_acc(s, digit(used - carries).add(c), width, S::N, v);
                    }
                    c += S::N;
                }
                let last = m.at(row1, c - 1).cast::<u8>();
                wait += usize::from(*last) & self.zero;
            }
        }
    }
}

impl<T: Element> Matrix<T> {
    /// A lane after its only element, in row i, for a register of columns from `j` on.
    ///
    /// # Safety
    /// Row i and these columns must lie in the matrix.
    #[inline(always)]
    unsafe fn lane<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        i: usize,
        j: usize,
        param: S::V,
    ) -> F::Acc {
        F::first(s, s.load(self.at(i, j)), self.operand::<S, F>(s, i, param))
    }
}

/// Rows that are read together: the two of one pair, or the two or three of two pairs.
#[derive(Clone, Copy)]
struct Step {
    /// The first pair.
    first: usize,
    /// The number after the last pair.
    end: usize,
    /// The third is the first again if there are only two.
    rows: [usize; 3],
}

impl Step {
    /// The step that begins with pair `k`, where the second row of a pair is `pairs` rows after the first. Pairs from
    /// `pairs` on belong to the next run. Not inlined: all folds share one copy.
    #[inline(never)]
    fn new(k: usize, rows: usize, pairs: usize) -> Self {
        // The bits of the pair's number in its run, reversed.
        let row =
            (2 * (k & (pairs - 1))).reverse_bits() >> (usize::BITS - 1 - pairs.trailing_zeros());
        let neighbour = row + pairs / 2;
        let (count, rows) = if k % 2 == 1 || neighbour + pairs < rows {
            (1, [row, row + pairs, row])
        } else if row + pairs < rows {
            (2, [row, row + pairs, neighbour])
        } else {
            (2, [row, neighbour, row])
        };
        Self {
            first: k,
            end: k + count,
            rows,
        }
    }
}
