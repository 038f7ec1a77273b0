//! Reductions of the columns of a row-major matrix, many columns at once. Each column is folded in the
//! [canonical order](crate::ops::reduce) ("CANONICAL ORDERS" in `include/diptych.h`), with L lanes, by one of four
//! algorithms, which give the same bits:
//!
//! ```text
//! columns(rows, cols):
//!     if the columns are in memory and 16 < rows <= L:            # and runs are fast for this fold
//!         runs:   for each page of columns: for pairs of rows, in the order of the tree over the lanes:
//!                     combine the pair, and push the result to the tree
//!         go on with the last few columns
//!     if rows <= L:                                               # min and max in strips: rows <= 16
//!         short:  for each register of columns: load the rows, and combine them in the tree over the lanes
//!     else if registers are large and the fold's steps short:     # all lanes of a strip fit the work area
//!         for each strip of columns:
//!             strip:  for each chunk: fold the rows into the lanes, halve the lanes, push the result to the tree
//!     else, and if a min or max met a NaN or had too many lanes for the work area:
//!         long:   for each run of columns: for each chunk:        # four lanes of a run fit the work area
//!                     for each quad of lanes, in the order of the tree: fold the rows, and push the result to the tree
//! ```
//!
//! The tree is a binary counter: a digit of weight w holds the result of w leaves.

mod long;
mod runs;
mod short;
mod strip;
mod widened;

use super::fold::{Accumulators, start};
use super::{Fold, chunk_len};
use crate::aligned::AlignedBytes;
use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;
use strip::{LaneAssignment, strip};
pub use widened::{PADDING, can_widen_into_lanes, widen_into_lanes};

/// A matrix whose columns are folded. Consecutive columns are consecutive elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    x: *const T,
    /// Elements from a row to the next.
    inc: isize,
    /// The second vector of a fold of two: one element per row.
    y: *const T,
    incy: isize,
    /// The parameter of each column, or null.
    param: *const T,
}

impl<T: Element> Matrix<T> {
    /// Element i of the second vector.
    ///
    /// # Safety
    /// It must have an element i.
    #[inline(always)]
    unsafe fn y_at(self, i: usize) -> T {
        // SAFETY: the caller vouches for an element per row.
        unsafe { *self.y.wrapping_offset(i as isize * self.incy) }
    }

    /// The parameters of `len` columns from j.
    ///
    /// # Safety
    /// There must be a parameter for each of these columns, or none at all.
    #[inline(always)]
    unsafe fn param<S: Simd<T = T>, F: Fold<S>>(self, s: S, j: usize, len: usize) -> S::V {
        if F::PAIR || self.param.is_null() {
            return s.splat(T::ZERO);
        }
        // SAFETY: the caller vouches for a parameter per column.
        unsafe { load(s, self.param.add(j), len) }
    }

    /// The second operand of a step in row i: the element of the second vector, or `param`.
    ///
    /// # Safety
    /// As [`Matrix::y_at`], for folds of two.
    #[inline(always)]
    unsafe fn operand<S: Simd<T = T>, F: Fold<S>>(self, s: S, i: usize, param: S::V) -> S::V {
        if F::PAIR {
            s.splat(self.y_at(i))
        } else {
            param
        }
    }

    /// Elements i, i + L, ... of the second vector, `steps` of them, for [`Matrix::steps`]; zeros for folds of one
    /// vector.
    ///
    /// # Safety
    /// The second vector must have these elements, for folds of two.
    #[inline(always)]
    unsafe fn ys_at<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        i: usize,
        steps: usize,
    ) -> [S::V; STEPS] {
        let mut all = [s.splat(T::ZERO); STEPS];
        if F::PAIR {
            for (step, slot) in all.iter_mut().enumerate() {
                if step < steps {
                    // SAFETY: the caller vouches for the rows, L apart.
                    *slot = s.splat(unsafe { self.y_at(i + step * T::LANES) });
                }
            }
        }
        all
    }

    /// Folds rows i, i + L, ..., `steps` <= [`STEPS`] of them, into the lane `v`: columns j..j + len, or as many of
    /// them as a register holds. `ys` is [`Matrix::ys_at`] of the same rows.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn steps<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        mut v: F::Acc,
        i: usize,
        steps: usize,
        j: usize,
        len: usize,
        ys: &[S::V; STEPS],
    ) -> F::Acc {
        // SAFETY: the caller vouches for the rows, L apart, and the columns.
        unsafe {
            let param = self.param::<S, F>(s, j, len);
            for (step, &y) in ys.iter().enumerate().take(steps) {
                let x = load(s, self.at(i + step * T::LANES, j), len);
                v = F::step(s, v, x, if F::PAIR { y } else { param });
            }
        }
        v
    }

    /// The matrix without its first j columns.
    #[inline(always)]
    fn at_column(self, j: usize) -> Self {
        let param = if self.param.is_null() {
            self.param
        } else {
            self.param.wrapping_add(j)
        };
        Self {
            x: self.x.wrapping_add(j),
            param,
            ..self
        }
    }

    #[inline(always)]
    fn at(self, i: usize, j: usize) -> *const T {
        self.x
            .wrapping_offset(i as isize * self.inc)
            .wrapping_add(j)
    }
}

/// Loads a lane's accumulators, which are `gap` elements apart: the first min(`len`, N) elements of each.
///
/// # Safety
/// The accumulators must be valid for these elements.
#[inline(always)]
unsafe fn load_acc<S: Simd, F: Fold<S>>(s: S, p: *const S::T, gap: usize, len: usize) -> F::Acc {
    let mut acc = start::<S, F>(s);
    for (k, v) in acc.as_mut().iter_mut().enumerate() {
        *v = load(s, p.wrapping_add(k * gap), len);
    }
    acc
}

/// Stores a lane's accumulators, as [`load_acc`] loads them.
///
/// # Safety
/// As [`load_acc`].
#[inline(always)]
unsafe fn store_acc<S: Simd, A: Accumulators<S>>(
    s: S,
    p: *mut S::T,
    gap: usize,
    len: usize,
    acc: A,
) {
    for (k, &v) in acc.as_ref().iter().enumerate() {
        store(s, p.wrapping_add(k * gap), len, v);
    }
}

/// Most rows of a lane that are folded at once.
const STEPS: usize = 8;

/// Bytes of the work area on the stack, for lanes and the tree over chunks.
const WORK: usize = 20 << 10;

/// Scratch memory for a kernel, of any alignment, and what the caller knows of the matrix.
#[derive(Clone, Copy)]
pub struct WorkArea {
    /// Its first byte.
    pub p: *mut u8,
    /// Its size; 0 for none.
    pub bytes: usize,
    /// Whether the columns are expected in memory rather than in a cache.
    pub from_memory: bool,
}

impl WorkArea {
    /// No scratch memory.
    pub const NONE: Self = Self {
        p: core::ptr::null_mut(),
        bytes: 0,
        from_memory: false,
    };
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of scratch memory with which [`columns`] can read whole rows, or parts of rows as long as L2 holds the lanes
/// for; 0 if the stack suffices. `accs` is the number of accumulators of a lane.
pub fn work_bytes<T: Element>(rows: usize, cols: usize, accs: usize) -> usize {
    /// Columns whose lanes, of 256 bytes a column, fill L2.
    const MAX_COLS: usize = 4096;
    let strips = cols.div_ceil(MAX_COLS);
    let width = cols.div_ceil(strips.max(1)).next_multiple_of(T::LANES);
    let each = LaneAssignment::canonical::<T>().work_per_column(rows, accs);
    let bytes = each * width * size_of::<T>();
    if rows <= T::LANES || bytes <= WORK {
        return 0;
    }
    bytes + LINE
}

/// Writes the fold of column j, with its last step, to out\[j\] for columns 0..cols. `y` holds an element per row for
/// folds of two vectors, `param` one per column for folds with a parameter.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, `y` and `param` as far as the fold reads them,
/// `out` for `cols` elements.
#[inline(always)]
pub unsafe fn columns<S: Simd, F: Fold<S>>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    y: *const S::T,
    incy: isize,
    param: *const S::T,
    out: *mut S::T,
    work: WorkArea,
) {
    let matrix = Matrix {
        x,
        inc,
        y,
        incy,
        param,
    };
    const {
        // The stack area holds one register of columns in the canonical order, for any number of rows.
        let per_acc = <S::T as Element>::LANES + usize::BITS as usize;
        let per_column = F::Acc::COUNT * per_acc + <S::T as Element>::LANES / 8;
        assert!(per_column * S::N * size_of::<S::T>() <= WORK);
    }
    let in_strips = S::HAS_SHAPE_LOOPS && !F::IS_LONG;
    let max_short = if in_strips && F::ANY_ORDER {
        short::FEW_ROWS
    } else {
        <S::T as Element>::LANES
    };
    let mut stack = AlignedBytes::<WORK>::new();
    let base = stack.start::<S::T>();
    let can_run = const { runs::pay::<S, F>() };
    let run_rows = runs::MIN_ROWS + 1..=<S::T as Element>::LANES;
    let done = if can_run && work.from_memory && run_rows.contains(&rows) {
        runs::runs::<S, F>(s, matrix, rows, cols, out, base)
    } else {
        0
    };
    let (matrix, out, cols) = (matrix.at_column(done), out.add(done), cols - done);
    if rows <= max_short {
        return short::short::<S, F>(s, matrix, rows, cols, out);
    }
    let stack_area = WorkArea {
        p: base.cast(),
        bytes: WORK,
        ..work
    };
    let scratch = WorkArea {
        p: work.p.wrapping_add(work.p.align_offset(LINE)),
        bytes: work.bytes.saturating_sub(LINE),
        ..work
    };
    let areas = [stack_area, scratch];
    let done = in_strips
        && if F::ANY_ORDER {
            let assignment = LaneAssignment::any_order::<S>(rows, cols, inc);
            strips::<S, F::NanFree>(s, matrix, assignment, rows, cols, out, areas)
        } else {
            let assignment = LaneAssignment::canonical::<S::T>();
            strips::<S, F>(s, matrix, assignment, rows, cols, out, areas)
        };
    // In strips, only folds in any order may fail: with a NaN, or with more lanes than an area holds.
    if !done && (!in_strips || F::ANY_ORDER) {
        long::long::<S, F>(s, matrix, rows, cols, out, base);
    }
}

/// Returns the first of two work areas that holds `min_columns` columns of `bytes` each, else the larger one, and how
/// many columns it holds. Not inlined: all folds share one copy.
#[inline(never)]
fn choose(areas: &[WorkArea; 2], bytes: usize, min_columns: usize) -> (*mut u8, usize) {
    let capacities = || areas.iter().map(|area| (area.p, area.bytes / bytes.max(1)));
    let fitting = capacities().find(|&(_, capacity)| capacity >= min_columns);
    fitting.unwrap_or_else(|| {
        capacities().fold((core::ptr::null_mut(), 0), |largest, area| {
            if area.1 > largest.1 { area } else { largest }
        })
    })
}

/// Folds all columns, in strips as wide as one of two work areas allows. Returns false if neither has room for one
/// register of columns, or if [`strip()`] returns false; some results may then have been written.
///
/// # Safety
/// As [`columns`]; the areas must be as large as they say.
#[inline(always)]
unsafe fn strips<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    assignment: LaneAssignment,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    areas: [WorkArea; 2],
) -> bool {
    /// Bytes of a row for which a strip is wide enough.
    const MIN_ROW_BYTES: usize = 4096;
    let size = size_of::<S::T>();
    let min_columns = (cols.div_ceil(S::N) * S::N).min(MIN_ROW_BYTES / size);
    let (base, capacity) = choose(
        &areas,
        assignment.work_per_column(rows, F::Acc::COUNT) * size,
        min_columns,
    );
    let (base, width) = (base.cast(), capacity / S::N * S::N);
    if width == 0 {
        return false;
    }
    let mut j = 0;
    while j < cols {
        let count = width.min(cols - j);
        // SAFETY: as the caller's; the area has room for these columns.
        unsafe {
            if !strip::<S, F>(s, m.at_column(j), assignment, rows, count, out.add(j), base) {
                return false;
            }
        }
        j += count;
    }
    true
}
