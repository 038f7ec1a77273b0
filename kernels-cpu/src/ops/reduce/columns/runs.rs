//! Columns from memory with at most one element per lane but many rows: reading a register of each row in turn would be
//! more streams than a CPU prefetches, and rows a power of two apart would compete for the same sets of the caches. So
//! rows are read in runs, four at a time, and the lanes that they are combined to are kept in L1.

use super::short::leaf;
use super::{Matrix, WORK};
use crate::element::Element;
use crate::ops::reduce::Fold;
use crate::ops::reduce::fold::{self, Accumulators, start};
use crate::simd::Simd;

/// Bytes of a run.
const RUN: usize = 1536;
/// How many lanes are kept. Lane l of them is the combination of lanes l, l + KEPT, l + 2 KEPT and l + 3 KEPT of the
/// canonical order.
const KEPT: usize = 16;
/// Rows for which this does not pay yet: where most groups of four rows have but two. So it is for f32 only.
pub const MIN_ROWS: usize = 2 * KEPT;
/// About how many rows ahead is prefetched.
const ROWS_AHEAD: usize = 128;
const _: () = assert!(KEPT * RUN <= WORK);

/// Folds the columns but for the last few, and returns how many.
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
    if <S::T as Element>::LANES != 4 * KEPT {
        return 0;
    }
    let width = Runs::<S::T>::width::<S, F>();
    let cols = cols / S::N * S::N;
    let mut j = 0;
    while j < cols {
        let runs = Runs {
            m: m.at_column(j),
            rows,
            count: width.min(cols - j),
            base,
        };
        // SAFETY: these columns lie in the matrix and in `out`; there is room for the lanes.
        unsafe {
            runs.combine_rows::<S, F>(s);
            runs.halve::<S, F>(s, out.add(j));
        }
        j += runs.count;
    }
    cols
}

/// Some columns, and their lanes.
#[derive(Clone, Copy)]
struct Runs<T> {
    m: Matrix<T>,
    rows: usize,
    /// Columns: a multiple of N, and no more than a run has.
    count: usize,
    /// The lanes that are kept: for each of them a run for each accumulator of the fold.
    base: *mut T,
}

impl<T: Element> Runs<T> {
    /// Elements of a run: a whole number of registers.
    #[inline(always)]
    const fn width<S: Simd<T = T>, F: Fold<S>>() -> usize {
        RUN / size_of::<T>() / F::Acc::COUNT / S::N * S::N
    }

    /// Where accumulator `q` of lane `l` is kept.
    #[inline(always)]
    fn kept<S: Simd<T = T>, F: Fold<S>>(self, l: usize, q: usize) -> *mut T {
        self.base
            .wrapping_add((l * F::Acc::COUNT + q) * Self::width::<S, F>())
    }

    /// Writes the lanes that are kept.
    ///
    /// # Safety
    /// The columns must lie in the matrix, and `base` have room for the lanes.
    #[inline(always)]
    unsafe fn combine_rows<S: Simd<T = T>, F: Fold<S>>(self, s: S) {
        let Self { m, rows, .. } = self;
        for l in 0..KEPT {
            let ahead = l + ROWS_AHEAD / rows;
            let next = m.at(ahead % KEPT, ahead / KEPT * Self::width::<S, F>());
            let mut c = 0;
            while c < self.count {
                for quarter in 0..4 {
                    let row = next.wrapping_offset(quarter * KEPT as isize * m.inc);
                    s.prefetch(row.wrapping_add(c));
                }
                // SAFETY: as the caller's; rows from `rows` on are not read.
                unsafe {
                    let param = m.param::<S, F>(s, c, S::N);
                    let lane0 = leaf::<S, F>(s, m, l, rows, c, S::N, param);
                    let lane1 = leaf::<S, F>(s, m, l + KEPT, rows, c, S::N, param);
                    let lane2 = leaf::<S, F>(s, m, l + 2 * KEPT, rows, c, S::N, param);
                    let lane3 = leaf::<S, F>(s, m, l + 3 * KEPT, rows, c, S::N, param);
                    let even = fold::combine::<S, F>(s, lane0, lane2);
                    let odd = fold::combine::<S, F>(s, lane1, lane3);
                    let lane = fold::combine::<S, F>(s, even, odd);
                    for (q, &v) in lane.as_ref().iter().enumerate() {
                        s.store(self.kept::<S, F>(l, q).add(c), v);
                    }
                }
                c += S::N;
            }
        }
    }

    /// Halves the lanes that are kept, and writes the results to `out`.
    ///
    /// # Safety
    /// The lanes must be written, and `out` valid for `count` elements.
    #[inline(always)]
    unsafe fn halve<S: Simd<T = T>, F: Fold<S>>(self, s: S, out: *mut T) {
        let mut c = 0;
        while c < self.count {
            let mut acc = start::<S, F>(s);
            for (q, slot) in acc.as_mut().iter_mut().enumerate() {
                // SAFETY: the lanes are the caller's.
                *slot = unsafe { self.halve_register::<S, F>(s, q, c) };
            }
            // SAFETY: the results are the caller's.
            unsafe { s.store(out.add(c), F::result(s, acc, self.rows)) };
            c += S::N;
        }
    }

    /// Halves accumulator `q` of one register of columns, from `c` on.
    ///
    /// # Safety
    /// The lanes must be written.
    #[inline(always)]
    unsafe fn halve_register<S: Simd<T = T>, F: Fold<S>>(self, s: S, q: usize, c: usize) -> S::V {
        const HALF: usize = KEPT / 2;
        let mut lanes = [s.splat(F::START); HALF];
        for (l, lane) in lanes.iter_mut().enumerate() {
            let at = |l: usize| self.kept::<S, F>(l, q).wrapping_add(c);
            // SAFETY: as the caller's.
            let (low, high) = unsafe { (s.load(at(l)), s.load(at(l + HALF))) };
            *lane = F::combine(s, low, high);
        }
        let mut w = HALF / 2;
        while w > 0 {
            for l in 0..w {
                lanes[l] = F::combine(s, lanes[l], lanes[l + w]);
            }
            w /= 2;
        }
        lanes[0]
    }
}
