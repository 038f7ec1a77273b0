//! Columns of 16-bit floats, which are widened as they are loaded.

use core::marker::PhantomData;
use core::ptr::null_mut;

use super::super::fold::{Accumulators, start};
use super::strip::{CombineChunk, LaneAssignment, results};
use super::{Fold, LINE, load_acc, store_acc};
use crate::element::{Element, Storage};
use crate::ops::load;
use crate::simd::{Access, Simd};

/// Rows of a lane that are folded at once.
const STEPS: usize = 4;
/// Columns to which rows of lanes are padded: a cache line of `f32`.
const PADDING: usize = 16;

/// Returns the bytes of the work area of [`widened_columns`], which begins at a cache line. `accs` is the number of
/// accumulators of a lane.
pub fn widened_work_bytes<T: Element>(rows: usize, cols: usize, accs: usize) -> usize {
    let each = LaneAssignment::canonical::<T>().work_per_column(rows, accs);
    (each * cols.next_multiple_of(PADDING) * size_of::<T>()).next_multiple_of(LINE)
}

/// Writes the fold of column j, with its last step, to out\[j\] for columns 0..cols. `param` holds an element per column for
/// folds with a parameter, or is null. Row i of a chunk is folded into lane i mod L, and the lanes lie in the work area.
///
/// For elements that are widened, and folds of one vector.
///
/// # Safety
/// `x` must point to elements of the type `M` and be valid at `rows` by `cols` of them, `param` as far as the fold reads it,
/// `out` for `cols` elements, and `base` for [`widened_work_bytes`].
#[inline(always)]
pub unsafe fn widened_columns<S: Simd + Access<M>, M: Storage, F: Fold<S>>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const u8,
    inc: isize,
    param: *const S::T,
    out: *mut S::T,
    base: *mut S::T,
) {
    if const { F::PAIR || size_of::<M>() == size_of::<S::T>() } {
        return;
    }
    let assignment = LaneAssignment::canonical::<S::T>();
    let (lanes, pitch) = (assignment.lanes(), cols.next_multiple_of(PADDING));
    let digits = base.wrapping_add(lanes * pitch);
    let columns = Columns::<S, M> {
        x: x.cast(),
        inc,
        cols,
        param,
        base,
        pitch,
        lanes,
        gap: (lanes + assignment.digits(rows)) * pitch,
    };
    let chunks = rows.div_ceil(assignment.rows()).max(1);
    for chunk in 0..chunks {
        let from = chunk * assignment.rows();
        let is_last = chunk + 1 == chunks;
        // SAFETY: as the caller's; the lanes have been written when they are combined.
        unsafe {
            columns.chunk::<F>(s, from, assignment.rows().min(rows - from));
            for k in 0..F::Acc::COUNT {
                let base = base.wrapping_add(k * columns.gap);
                s.outlined(CombineChunk {
                    base,
                    pitch,
                    lanes,
                    chunk,
                    digits: digits.wrapping_add(k * columns.gap),
                    out: match (is_last, k) {
                        (false, _) => null_mut(),
                        (true, 0) => out,
                        (true, _) => base,
                    },
                    cols,
                    fold: PhantomData::<F::Tree>,
                });
            }
        }
    }
    if F::Acc::COUNT > 1 {
        // SAFETY: the finished accumulators are in `out` and in the second one's first lane.
        unsafe { results::<S, F>(s, rows, cols, base.wrapping_add(columns.gap), out) };
    }
}

/// Columns and their lanes.
struct Columns<S: Simd, M> {
    x: *const M,
    /// Elements from a row to the next.
    inc: isize,
    cols: usize,
    /// The parameter of each column, or null.
    param: *const S::T,
    /// The lanes of a chunk, `pitch` elements each.
    base: *mut S::T,
    pitch: usize,
    lanes: usize,
    /// Elements from an accumulator to the next one of the same lane.
    gap: usize,
}

impl<S: Simd + Access<M>, M: Storage> Columns<S, M> {
    /// Folds the chunk of `count` rows at `from` into the lanes.
    ///
    /// # Safety
    /// The rows must be valid, and the work area have room for the lanes.
    #[inline(always)]
    unsafe fn chunk<F: Fold<S>>(&self, s: S, from: usize, count: usize) {
        for c in (0..self.lanes * self.pitch).step_by(S::N) {
            store_acc(
                s,
                self.base.wrapping_add(c),
                self.gap,
                S::N,
                start::<S, F>(s),
            );
        }
        let mut row = 0;
        while row < count {
            let rest = count - row;
            let steps = if rest >= STEPS * self.lanes { STEPS } else { 1 };
            for lane in 0..self.lanes.min(rest) {
                // SAFETY: as the caller's.
                unsafe {
                    if steps == STEPS {
                        self.lane::<F, STEPS>(s, from + row + lane, lane);
                    } else {
                        self.lane::<F, 1>(s, from + row + lane, lane);
                    }
                }
            }
            row += steps * self.lanes;
        }
    }

    /// Folds rows i, i + L, ..., `COUNT` of them, into a lane.
    ///
    /// # Safety
    /// As [`Columns::chunk`].
    #[inline(always)]
    unsafe fn lane<F: Fold<S>, const COUNT: usize>(&self, s: S, i: usize, lane: usize) {
        let stride = self.lanes as isize * self.inc;
        let mut row = self.x.wrapping_offset(i as isize * self.inc);
        let mut acc = self.base.wrapping_add(lane * self.pitch);
        let mut rest = self.cols;
        let mut param = self.param;
        while rest > 0 {
            // SAFETY: these columns of the rows are valid, and the lane has whole registers.
            unsafe {
                let mut v = load_acc::<S, F>(s, acc, self.gap, S::N);
                let operand = if param.is_null() {
                    s.splat(S::T::ZERO)
                } else {
                    load(s, param, rest)
                };
                for step in 0..COUNT as isize {
                    let p = row.wrapping_offset(step * stride);
                    let x = if rest >= S::N {
                        Access::<M>::load(s, p)
                    } else {
                        Access::<M>::load_partial(s, p, rest)
                    };
                    v = F::step(s, v, x, operand);
                }
                store_acc(s, acc, self.gap, S::N, v);
            }
            (row, acc) = (row.wrapping_add(S::N), acc.wrapping_add(S::N));
            if !param.is_null() {
                param = param.wrapping_add(S::N);
            }
            rest = rest.saturating_sub(S::N);
        }
    }
}
