//! Columns of any length, in runs that fit the work area.
//!
//! The lanes of a chunk are visited four at a time, l, l + L/4, l + L/2, l + 3L/4, for l in
//! bit-reversed order: then the halving of the lanes is a pairwise tree over the visits, and lanes
//! and chunks share one tree. A lane's rows are L apart; they are read as up to eight streams, each
//! as long as the run, which is what the hardware's prefetchers and the TLB need.

use super::{Fold, Matrix, STEPS, WORK, chunk_len, finish};
use crate::element::Element;
use crate::ops::store;
use crate::simd::Simd;

/// A run of columns, and its place in the work area.
struct Run<T> {
    matrix: Matrix<T>,
    /// First column, and columns.
    j: usize,
    cols: usize,
    /// The four lanes of a visit, `pitch` elements each; then the digits of the tree, which is a
    /// binary counter of visits.
    acc: *mut T,
    digits: *mut T,
    pitch: usize,
    visits: usize,
}

/// Folds all columns.
///
/// # Safety
/// The matrix must have these rows and columns, `out` as many; `base` must have room for [`WORK`]
/// bytes.
#[inline(always)]
pub unsafe fn long<S: Simd, F: Fold<S>>(
    s: S,
    matrix: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) {
    let quarter = <S::T as Element>::LANES / 4;
    let chunks = rows.div_ceil(chunk_len::<S::T>());
    // A counter up to n has as many digits as n has bits.
    let digits = (usize::BITS - (chunks * quarter).leading_zeros()) as usize;
    let room = WORK / size_of::<S::T>() / (4 + digits).max(1);
    let pitch = (room / S::N).min(cols.div_ceil(S::N)).max(1) * S::N;
    let mut j = 0;
    while j < cols {
        let mut run = Run {
            matrix,
            j,
            cols: pitch.min(cols - j),
            acc: base,
            digits: base.wrapping_add(4 * pitch),
            pitch,
            visits: 0,
        };
        // SAFETY: the run lies in the matrix; four lanes and `digits` digits fit the work area.
        unsafe {
            for chunk in 0..chunks {
                let from = chunk * chunk_len::<S::T>();
                let count = chunk_len::<S::T>().min(rows - from);
                for visit in 0..quarter {
                    let lane = visit.reverse_bits() >> (usize::BITS - quarter.trailing_zeros());
                    run.visit::<S, F>(s, from, count, lane);
                }
            }
            run.finish::<S, F>(s, out.add(j));
        }
        j += pitch;
    }
}

impl<T: Element> Run<T> {
    /// Lanes l, l + L/4, l + L/2, l + 3L/4 of the chunk of `count` rows at `from`.
    ///
    /// # Safety
    /// The rows of the chunk must lie in the matrix, and the work area hold four lanes and the digits.
    #[inline(always)]
    unsafe fn visit<S: Simd<T = T>, F: Fold<S>>(
        &mut self,
        s: S,
        from: usize,
        count: usize,
        lane: usize,
    ) {
        let quarter = T::LANES / 4;
        // Lanes without a row are left out; they are the last ones.
        let present = count.saturating_sub(lane).div_ceil(quarter).min(4);
        let steps = |q: usize| (count - lane - q * quarter).div_ceil(T::LANES);
        // SAFETY: rows from + lane + q * quarter + step * L lie in the chunk, step < steps(q); the
        // lanes that are present have been written before they are pushed.
        unsafe {
            for q in 0..present {
                let first = from + lane + q * quarter;
                let mut done = 0;
                while done < steps(q) {
                    let some = STEPS.min(steps(q) - done);
                    self.accumulate::<S, F>(s, q, first + done * T::LANES, some, done == 0);
                    done += some;
                }
            }
            self.push::<S, F>(s, present);
        }
    }

    /// Pushes a visit's result for the columns at c on the tree.
    ///
    /// # Safety
    /// The digits in use must have been written, and there must be room for one more.
    #[inline(always)]
    unsafe fn carry<S: Simd<T = T>, F: Fold<S>>(&self, s: S, c: usize, visit: S::V) {
        let top = self.visits.count_ones() as usize;
        let carries = self.visits.trailing_ones() as usize;
        let digit = |d: usize| self.digits.wrapping_add(d * self.pitch + c);
        let mut v = visit;
        // SAFETY: the digits have whole registers at c; these have been written.
        unsafe {
            for d in 1..=carries {
                v = F::combine(s, s.load(digit(top - d)), v);
            }
            s.store(digit(top - carries), v);
        }
    }

    /// Lane q takes rows i, i + L, ..., `steps` of them.
    ///
    /// # Safety
    /// The rows must lie in the matrix; unless `first`, the lane must have been written.
    #[inline(always)]
    unsafe fn accumulate<S: Simd<T = T>, F: Fold<S>>(
        &mut self,
        s: S,
        q: usize,
        i: usize,
        steps: usize,
        first: bool,
    ) {
        let acc = self.acc.wrapping_add(q * self.pitch);
        // SAFETY: the rows lie in the matrix.
        let seconds = unsafe { self.matrix.seconds::<S, F>(s, i, steps) };
        let mut c = 0;
        while c < self.cols {
            // SAFETY: these columns of the rows lie in the matrix; the lane has whole registers.
            unsafe {
                let v = if first {
                    s.splat(F::START)
                } else {
                    s.load(acc.add(c))
                };
                let (j, len) = (self.j + c, self.cols - c);
                let v = self.matrix.steps::<S, F>(s, v, i, steps, j, len, &seconds);
                s.store(acc.add(c), v);
            }
            c += S::N;
        }
    }

    /// Combines the lanes that are present, and pushes the result on the tree.
    ///
    /// # Safety
    /// The lanes that are present must have been written.
    #[inline(always)]
    unsafe fn push<S: Simd<T = T>, F: Fold<S>>(&mut self, s: S, present: usize) {
        let (acc, pitch) = (self.acc, self.pitch);
        let mut c = 0;
        while c < self.cols {
            // SAFETY: the lanes and digits have whole registers at c; these have been written.
            unsafe {
                let lane = |q: usize| s.load(acc.add(q * pitch + c));
                let v = match present {
                    0 => s.splat(F::START),
                    1 => lane(0),
                    2 => F::combine(s, lane(0), lane(1)),
                    3 => F::combine(s, F::combine(s, lane(0), lane(2)), lane(1)),
                    _ => {
                        let even = F::combine(s, lane(0), lane(2));
                        F::combine(s, even, F::combine(s, lane(1), lane(3)))
                    }
                };
                self.carry::<S, F>(s, c, v);
            }
            c += S::N;
        }
        self.visits += 1;
    }

    /// Folds the digits that are left, from the newest, and writes the results.
    ///
    /// # Safety
    /// The digits in use must have been written; `out` must have room for the run's columns.
    #[inline(always)]
    unsafe fn finish<S: Simd<T = T>, F: Fold<S>>(&self, s: S, out: *mut T) {
        let top = self.visits.count_ones() as usize - 1;
        let mut c = 0;
        while c < self.cols {
            // SAFETY: the digits have been written; these columns lie in `out`.
            unsafe {
                let mut v = s.load(self.digits.add(top * self.pitch + c));
                for d in (0..top).rev() {
                    v = F::combine(s, s.load(self.digits.add(d * self.pitch + c)), v);
                }
                store(s, out.add(c), self.cols - c, finish::<S, F>(s, v));
            }
            c += S::N;
        }
    }
}
