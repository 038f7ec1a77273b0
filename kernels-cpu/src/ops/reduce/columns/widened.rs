//! Columns of 16-bit floats, which are widened as they are loaded.

use core::marker::PhantomData;
use core::ptr::null_mut;

use super::super::fold::{Accumulators, combine, start};
use super::strip::{CombineChunk, LaneAssignment, results};
use super::{Fold, LINE, load_acc, store_acc};
use crate::element::{Element, Storage};
use crate::level::Level;
use crate::ops::store;
use crate::simd::{Access, Simd};

/// Rows of a lane that are folded at once.
const STEPS: usize = 4;
/// Columns to which lanes and parameters are padded: a cache line of `f32`.
pub const PADDING: usize = 16;

/// Whether the portable level has [`widened_columns`]. Not on x86-64, where only CPUs without AVX2 run it: for less code.
const HAS_PORTABLE: bool = cfg!(not(target_arch = "x86_64"));

/// Returns whether a level has [`widened_columns`].
pub const fn has_widened_columns(level: Level) -> bool {
    HAS_PORTABLE || !matches!(level, Level::Portable)
}

/// Returns the bytes of the work area of [`widened_columns`], which begins at a cache line. `accs` is the number of
/// accumulators of a lane.
pub fn widened_work_bytes<T: Element>(rows: usize, cols: usize, accs: usize) -> usize {
    let each = LaneAssignment::canonical::<T>().work_per_column(rows, accs);
    (each * cols.next_multiple_of(PADDING) * size_of::<T>()).next_multiple_of(LINE)
}

/// Writes the fold of column j, with its last step, to out\[j\] for columns 0..cols. `param` holds an element per column for
/// folds with a parameter, or is null. Row i of a chunk is folded into lane i mod L, and the lanes lie in the work area.
///
/// For elements that are widened, folds of one vector, and levels that [have it](has_widened_columns).
///
/// # Safety
/// `x` must point to elements of the type `M` and be valid at `rows` by `cols` of them, `out` for `cols` elements, `param`, unless
/// it is null, for as many, padded to whole registers, and `base` for [`widened_work_bytes`].
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
    if const { F::PAIR || size_of::<M>() == size_of::<S::T>() || !HAS_PORTABLE && !S::HAS_SHAPE_LOOPS }
    {
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
    if F::ANY_ORDER {
        // SAFETY: as the caller's.
        unsafe {
            columns.chunk::<F>(s, 0, rows);
            columns.any_order::<F>(s, out);
        }
        return;
    }
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
                unsafe { self.lane::<F>(s, from + row + lane, steps, lane) };
            }
            row += steps * self.lanes;
        }
    }

    /// Folds rows i, i + L, ..., `steps` of them, into a lane.
    ///
    /// # Safety
    /// As [`Columns::chunk`].
    #[inline(always)]
    unsafe fn lane<F: Fold<S>>(&self, s: S, i: usize, steps: usize, lane: usize) {
        let stride = self.lanes as isize * self.inc;
        let row = self.x.wrapping_offset(i as isize * self.inc);
        let acc = self.base.wrapping_add(lane * self.pitch);
        for c in (0..self.cols).step_by(S::N) {
            let (acc, mut p, len) = (acc.wrapping_add(c), row.wrapping_add(c), self.cols - c);
            // SAFETY: these columns of the rows are valid, and lane and parameters have whole registers.
            unsafe {
                let mut v = load_acc::<S, F>(s, acc, self.gap, S::N);
                let param = if self.param.is_null() {
                    s.splat(S::T::ZERO)
                } else {
                    Access::<S::T>::load(s, self.param.wrapping_add(c))
                };
                for _ in 0..steps {
                    let x = if len >= S::N {
                        Access::<M>::load(s, p)
                    } else {
                        Access::<M>::load_partial(s, p, len)
                    };
                    v = F::step(s, v, x, param);
                    p = p.wrapping_offset(stride);
                }
                store_acc(s, acc, self.gap, S::N, v);
            }
        }
    }

    /// Combines the lanes of a fold in any order, and writes the results.
    ///
    /// # Safety
    /// The lanes must have been written; `out` must be valid for the columns.
    #[inline(always)]
    unsafe fn any_order<F: Fold<S>>(&self, s: S, out: *mut S::T) {
        for c in (0..self.cols).step_by(S::N) {
            let mut v = start::<S, F>(s);
            for lane in 0..self.lanes {
                let acc = self.base.wrapping_add(lane * self.pitch + c);
                // SAFETY: lanes have whole registers.
                v = combine::<S, F>(s, v, unsafe { load_acc::<S, F>(s, acc, self.gap, S::N) });
            }
            // SAFETY: as the caller's.
            unsafe { store(s, out.add(c), self.cols - c, F::result(s, v, 1)) };
        }
    }
}
