//! Columns of any length, in runs of columns that fit the work area.
//!
//! The lanes of a chunk are folded four at a time (a quad): l, l + L/4, l + L/2 and l + 3L/4, for l in bit-reversed
//! order. The halving of the lanes then is a pairwise tree over the quads, and lanes and chunks share one tree. A
//! lane's rows are L apart and are read as up to eight streams, each as long as the run, which suits the hardware
//! prefetchers and the TLB.

use super::{Fold, Matrix, STEPS, WORK, chunk_len, load_acc, store_acc};
use crate::element::Element;
use crate::ops::reduce::fold::{Accumulators, combine, start};
use crate::ops::store;
use crate::simd::Simd;

/// A run of consecutive columns, and its work area.
struct QuadRun<T> {
    matrix: Matrix<T>,
    /// First column.
    j: usize,
    /// Columns.
    cols: usize,
    /// The four lanes of a quad, `pitch` elements each.
    acc: *mut T,
    /// The tree, a binary counter of quads: each 1 bit of `quads`, from the highest, is a digit of `pitch` elements
    /// that holds the result of as many quads as the bit is worth.
    digits: *mut T,
    pitch: usize,
    /// Elements from an accumulator to the next one of the same lane, or of the same digit.
    gap: usize,
    /// How many quads have been added to the tree.
    quads: usize,
}

/// Folds all columns.
///
/// # Safety
/// The matrix must have `rows` rows and `cols` columns, `out` must be valid for `cols` elements, and `base` for
/// [`WORK`] bytes.
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
    // A binary counter up to n has as many digits as n has bits.
    let digits = (usize::BITS - (chunks * quarter).leading_zeros()) as usize;
    let room = WORK / size_of::<S::T>() / (F::Acc::COUNT * (4 + digits)).max(1);
    let pitch = (room / S::N).min(cols.div_ceil(S::N)).max(1) * S::N;
    let mut j = 0;
    while j < cols {
        let mut run = QuadRun {
            matrix,
            j,
            cols: pitch.min(cols - j),
            acc: base,
            digits: base.wrapping_add(4 * pitch),
            pitch,
            gap: (4 + digits) * pitch,
            quads: 0,
        };
        // SAFETY: the run lies in the matrix; four lanes and `digits` digits of each accumulator fit the
        // work area.
        unsafe {
            for chunk in 0..chunks {
                let from = chunk * chunk_len::<S::T>();
                let count = chunk_len::<S::T>().min(rows - from);
                for quad in 0..quarter {
                    let lane = quad.reverse_bits() >> (usize::BITS - quarter.trailing_zeros());
                    run.quad::<S, F>(s, from, count, lane);
                }
            }
            run.finish::<S, F>(s, rows, out.add(j));
        }
        j += pitch;
    }
}

impl<T: Element> QuadRun<T> {
    /// Folds the quad of lanes l, l + L/4, l + L/2, l + 3L/4 of the chunk of `count` rows at `from`.
    ///
    /// # Safety
    /// The rows of the chunk must lie in the matrix; the work area must hold four lanes and the digits.
    #[inline(always)]
    unsafe fn quad<S: Simd<T = T>, F: Fold<S>>(
        &mut self,
        s: S,
        from: usize,
        count: usize,
        lane: usize,
    ) {
        let quarter = T::LANES / 4;
        // Lanes without a row are left out; these are always the last ones.
        let present = count.saturating_sub(lane).div_ceil(quarter).min(4);
        let steps = |q: usize| (count - lane - q * quarter).div_ceil(T::LANES);
        // SAFETY: rows from + lane + q * quarter + step * L lie in the chunk, for step < steps(q); the
        // lanes that are present have been written before they are combined.
        unsafe {
            for q in 0..present {
                let first = from + lane + q * quarter;
                let mut done = 0;
                while done < steps(q) {
                    let taken = STEPS.min(steps(q) - done);
                    self.accumulate::<S, F>(s, q, first + done * T::LANES, taken, done == 0);
                    done += taken;
                }
            }
            self.push::<S, F>(s, present);
        }
    }

    /// Adds a quad's result for the register of columns at c to the tree.
    ///
    /// # Safety
    /// The digits in use must have been written, and there must be room for one more.
    #[inline(always)]
    unsafe fn carry<S: Simd<T = T>, F: Fold<S>>(&self, s: S, c: usize, leaf: F::Acc) {
        let used = self.quads.count_ones() as usize;
        let carries = self.quads.trailing_ones() as usize;
        let digit = |d: usize| self.digits.wrapping_add(d * self.pitch + c);
        let mut v = leaf;
        // SAFETY: the digits have whole registers at c; these have been written.
        unsafe {
            for d in 1..=carries {
                let older = load_acc::<S, F>(s, digit(used - d), self.gap, S::N);
                v = combine::<S, F>(s, older, v);
            }
            store_acc(s, digit(used - carries), self.gap, S::N, v);
        }
    }

    /// Folds rows i, i + L, ..., `steps` of them, into lane q of the quad.
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
        let ys = unsafe { self.matrix.ys_at::<S, F>(s, i, steps) };
        let mut c = 0;
        while c < self.cols {
            // SAFETY: these columns of the rows lie in the matrix; the lane has whole registers.
            unsafe {
                let v = if first {
                    start::<S, F>(s)
                } else {
                    load_acc::<S, F>(s, acc.add(c), self.gap, S::N)
                };
                let (j, len) = (self.j + c, self.cols - c);
                let v = self.matrix.steps::<S, F>(s, v, i, steps, j, len, &ys);
                store_acc(s, acc.add(c), self.gap, S::N, v);
            }
            c += S::N;
        }
    }

    /// Combines the first `present` lanes of the quad, and adds the result to the tree.
    ///
    /// # Safety
    /// These lanes must have been written.
    #[inline(always)]
    unsafe fn push<S: Simd<T = T>, F: Fold<S>>(&mut self, s: S, present: usize) {
        let (acc, pitch) = (self.acc, self.pitch);
        let mut c = 0;
        while c < self.cols {
            // SAFETY: the lanes and digits have whole registers at c; these have been written.
            unsafe {
                let lane = |q: usize| load_acc::<S, F>(s, acc.add(q * pitch + c), self.gap, S::N);
                let v = match present {
                    0 => start::<S, F>(s),
                    1 => lane(0),
                    2 => combine::<S, F>(s, lane(0), lane(1)),
                    3 => combine::<S, F>(s, combine::<S, F>(s, lane(0), lane(2)), lane(1)),
                    _ => {
                        let even = combine::<S, F>(s, lane(0), lane(2));
                        combine::<S, F>(s, even, combine::<S, F>(s, lane(1), lane(3)))
                    }
                };
                self.carry::<S, F>(s, c, v);
            }
            c += S::N;
        }
        self.quads += 1;
    }

    /// Combines the digits in use, from the newest, and writes the results of `rows` rows.
    ///
    /// # Safety
    /// The digits in use must have been written; `out` must have room for the run's columns.
    #[inline(always)]
    unsafe fn finish<S: Simd<T = T>, F: Fold<S>>(&self, s: S, rows: usize, out: *mut T) {
        let top = self.quads.count_ones() as usize - 1;
        let mut c = 0;
        while c < self.cols {
            // SAFETY: the digits have been written; these columns lie in `out`.
            unsafe {
                let digit = |d: usize| {
                    load_acc::<S, F>(s, self.digits.add(d * self.pitch + c), self.gap, S::N)
                };
                let mut v = digit(top);
                for d in (0..top).rev() {
                    v = combine::<S, F>(s, digit(d), v);
                }
                store(s, out.add(c), self.cols - c, F::result(s, v, rows));
            }
            c += S::N;
        }
    }
}
