//! Folds many columns at once with all their lanes in a work area, so that whole rows are read in order. Each column is
//! folded in the [canonical order](crate::ops::reduce):
//!
//! ```text
//! strip(rows, cols):
//!     for each chunk of rows:                 # row i of a chunk belongs to lane i mod L
//!         if in_blocks:                       # a matrix larger than L2, with long rows
//!             for 8 rows of each lane at a time: for each lane: for each block of 4 or 8 registers of columns:
//!                 fold the rows into the lane
//!         else:
//!             if all lanes fit registers: fold the rows of all lanes there    # in_registers
//!             while each lane has more rows than are left for by_groups:
//!                 fold one row of each lane after the other       # in_order: the matrix is in the LLC
//!                 or 4 or 8 rows of one lane after the other      # lane_by_lane, or by_groups where rows are long
//!             fold the last rows of one lane of each of 8 groups at a time    # by_groups
//!             combine the groups: L/8 lanes are left                          # in registers
//!         halve the lanes: lane l with lane l + w, for w = lanes/2, ..., 1    # CombineChunk
//!         push the result to the tree over chunks, a binary counter
//!     combine the digits of the counter, newest first
//! ```
//!
//! Rows without gaps between them are folded like a single long row, so that short rows cost no more than long ones.
//! Min and max do not depend on the order: they have one chunk, any number of lanes, and no groups.

mod blocks;
mod combine;
mod in_order;
mod plan;
mod walk;

use core::marker::PhantomData;
use core::ptr::null_mut;

use super::{Fold, Matrix, STEPS};
use crate::element::Element;
use crate::ops::reduce::fold::Accumulators;
use crate::ops::reduce::leaf::has_nan;
use crate::ops::{load, store};
use crate::simd::Simd;
use combine::{CombineChunk, results};
pub use plan::LaneAssignment;
use plan::{StripPlan, StripShape};

/// Groups of consecutive lanes into which a chunk's lanes are divided. [`Strip::by_groups`] folds one lane of each
/// group at a time.
const GROUPS: usize = 8;
/// Independent NaN accumulators, enough to hide the latency of an addition.
const NAN_ACCS: usize = 4;
/// Most registers in which all lanes are held, on every level.
const MAX_ACCS: usize = 8;
/// The same where registers have 64 bytes, and the level therefore 32 of them.
const MAX_ACCS_WIDE: usize = 16;
/// Half of [`STEPS`].
const HALF_STEPS: usize = STEPS / 2;
/// Bytes of a page, and the distance of addresses that share an L1 set.
const PAGE: usize = 4 << 10;

/// Columns that are folded together, and their work area: the lanes of a chunk, `pitch` elements each.
struct Strip<S: Simd> {
    m: Matrix<S::T>,
    lanes: usize,
    cols: usize,
    pitch: usize,
    base: *mut S::T,
    /// Elements from an accumulator to the next one of the same lane.
    gap: usize,
    /// Whether rows, and lanes, have no gaps between them and are folded like one long row.
    is_contiguous: bool,
    /// Whether rows are folded in memory order, see [`Strip::in_order`].
    is_in_order: bool,
    /// Whether the matrix is small enough to be in a cache.
    may_be_cached: bool,
    /// Whether the matrix is in memory and one row of each lane fits a page, where hardware prefetching stops.
    needs_prefetch: bool,
    /// For folds with [`Fold::CHECKS_NAN`]: some lane is NaN if an element was.
    nan_accs: [S::V; NAN_ACCS],
}

/// Consecutive rows of a chunk that are folded into its lanes. The first is row `i` of the matrix, and row `row` of the
/// chunk.
#[derive(Clone, Copy)]
struct RowSpan {
    i: usize,
    row: usize,
    /// Rows for every lane.
    steps: usize,
    /// How many lanes, from the first on, take one row more.
    extra: usize,
    /// Whether these are the last rows of the chunk.
    is_last: bool,
}

/// Folds `cols` columns. Returns false, with nothing written to `out`, if the fold has [`Fold::CHECKS_NAN`] and an
/// element may be NaN.
///
/// # Safety
/// The matrix must have `rows` rows and `cols` columns, and `out` must be valid for `cols` elements. `base` must have
/// room for [`LaneAssignment::work_per_column`] elements for each column, with `cols` rounded up to whole registers.
#[inline(always)]
pub unsafe fn strip<S: Simd, F: Fold<S>>(
    s: S,
    mut m: Matrix<S::T>,
    assignment: LaneAssignment,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) -> bool {
    let plan = StripPlan::new(StripShape {
        rows,
        cols,
        lanes: assignment.lanes,
        size: size_of::<S::T>(),
        register: S::N * size_of::<S::T>(),
        is_gapless: m.inc == cols as isize && !F::PAIR,
        has_params: !m.param.is_null(),
    });
    let in_blocks = !F::ANY_ORDER && plan.in_blocks;
    let is_contiguous = !F::PAIR && plan.is_contiguous && !in_blocks;
    let padded = cols.div_ceil(S::N) * S::N;
    let digits = base.wrapping_add(assignment.lanes * padded);
    let gap = (assignment.lanes + assignment.digits(rows)) * padded;
    // SAFETY: rows and columns lie in the matrix; lanes, digits and parameters in the work area.
    unsafe {
        if is_contiguous && !m.param.is_null() {
            let params = base.wrapping_add(F::Acc::COUNT * gap);
            for lane in 0..assignment.lanes / GROUPS {
                let mut c = 0;
                while c < cols {
                    let (to, len) = (params.add(lane * cols + c), cols - c);
                    store(s, to, len, load(s, m.param.add(c), len));
                    c += S::N;
                }
            }
            m.param = params;
        }
        let mut strip = Strip {
            m,
            lanes: assignment.lanes,
            cols,
            pitch: if is_contiguous { cols } else { padded },
            base,
            gap,
            is_contiguous,
            is_in_order: !F::ANY_ORDER && !F::PAIR && plan.is_in_order,
            may_be_cached: plan.may_be_cached,
            needs_prefetch: is_contiguous && plan.needs_prefetch,
            nan_accs: [s.splat(S::T::ZERO); NAN_ACCS],
        };
        let chunks = rows.div_ceil(assignment.chunk);
        for chunk in 0..chunks {
            let from = chunk * assignment.chunk;
            let count = assignment.chunk.min(rows - from);
            let lanes = if in_blocks {
                strip.blocks::<F>(s, from, count);
                assignment.lanes
            } else {
                strip.chunk::<F>(s, from, count)
            };
            let is_last = chunk + 1 == chunks;
            let [a, b, c, d] = strip.nan_accs;
            if F::CHECKS_NAN && is_last && has_nan(s, s.add(s.add(a, b), s.add(c, d))) {
                return false;
            }
            for k in 0..F::Acc::COUNT {
                let base = base.wrapping_add(k * gap);
                s.outlined(CombineChunk {
                    base,
                    pitch: strip.pitch,
                    lanes,
                    chunk,
                    digits: digits.wrapping_add(k * gap),
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
        if F::Acc::COUNT > 1 {
            results::<S, F>(s, rows, cols, base.wrapping_add(gap), out);
        }
    }
    true
}

impl<S: Simd> Strip<S> {
    /// Elements from those being read to those being prefetched, in memory order.
    const PREFETCH_DISTANCE: usize = (24 << 10) / size_of::<S::T>();

    /// Folds the chunk of `count` rows at `from`. Returns how many lanes, from the first on, hold its partial results.
    ///
    /// # Safety
    /// The rows must lie in the matrix.
    #[inline(always)]
    unsafe fn chunk<F: Fold<S>>(&mut self, s: S, from: usize, count: usize) -> usize {
        let lanes = self.lanes;
        let (max_steps, final_steps) = (self.max_steps::<F>(), self.final_steps::<F>());
        let in_groups = !F::ANY_ORDER
            && final_steps >= STEPS / 2
            && self.group_stride() >= 4 * PAGE
            && self.may_be_cached;
        let mut span = RowSpan {
            i: from,
            row: 0,
            steps: 0,
            extra: 0,
            is_last: false,
        };
        // SAFETY: the rows lie in the matrix; all lanes that are halved have been written.
        unsafe {
            span.row = self.in_registers::<F>(s, from, count / lanes) * lanes;
            span.i = from + span.row;
            loop {
                let rest = count - span.row;
                let steps = match rest / lanes {
                    _ if rest <= final_steps * lanes => 0,
                    _ if self.is_in_order => (rest - 1) / lanes,
                    steps if steps >= STEPS && span.row == 0 && !self.needs_prefetch => STEPS,
                    steps if steps >= max_steps => max_steps,
                    steps if steps >= HALF_STEPS => HALF_STEPS,
                    steps if F::ANY_ORDER => steps.max(1),
                    _ => 0,
                };
                if steps > 0 {
                    span.steps = steps;
                } else if F::ANY_ORDER {
                    return lanes;
                } else {
                    (span.steps, span.extra, span.is_last) = (rest / lanes, rest % lanes, true);
                }
                if self.is_in_order && !span.is_last {
                    self.in_order::<F>(s, span);
                } else if in_groups || span.is_last {
                    self.by_groups::<F>(s, span);
                } else {
                    self.lane_by_lane::<F>(s, span, lanes.min(rest));
                }
                if span.is_last {
                    return lanes / GROUPS;
                }
                span.row += span.steps * lanes.min(rest);
                span.i = from + span.row;
            }
        }
    }

    /// Bytes from the row of a lane to the row of the same lane in the next group.
    #[inline(always)]
    fn group_stride(&self) -> usize {
        self.lanes / GROUPS * self.m.inc.unsigned_abs() * size_of::<S::T>()
    }

    /// Most rows of a lane that are folded at once, each a stream of its own. Half as many where these rows are at most
    /// a page apart, because each stream ends where the next begins.
    #[inline(always)]
    fn max_steps<F: Fold<S>>(&self) -> usize {
        if !F::PAIR && self.lanes * self.cols * size_of::<S::T>() <= PAGE {
            HALF_STEPS
        } else {
            STEPS
        }
    }

    /// Rows of a lane that [`Strip::by_groups`] folds at the end of a chunk: fewer where its streams would share L1
    /// sets, or come from memory, which is faster for few streams.
    #[inline(always)]
    fn final_steps<F: Fold<S>>(&self) -> usize {
        if F::ANY_ORDER {
            return 0;
        }
        if self.is_in_order {
            return 1;
        }
        let sets = PAGE >> self.group_stride().trailing_zeros().min(PAGE.ilog2());
        // Steps that `by_groups` takes load and store no lanes.
        let most = if F::Acc::COUNT > 1 && S::R <= 4 {
            2 * STEPS
        } else {
            STEPS
        };
        sets.clamp(1, if self.may_be_cached { most } else { 2 })
    }
}
