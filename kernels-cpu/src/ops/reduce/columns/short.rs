//! Columns with at most one element per lane: loads feed the tree directly.

use super::{Fold, Matrix};
use crate::element::Element;
use crate::ops::reduce::fold::{self, start};
use crate::ops::reduce::leaf::has_nan;
use crate::ops::{load, store};
use crate::simd::Simd;

/// A quarter of the lanes, for the type with the most.
const MAX_QUARTER: usize = 16;
/// Most rows for which [`RegisterBlock`] is used: a quarter of the lanes of f32.
pub const FEW_ROWS: usize = 16;
/// Registers of columns of a [`RegisterBlock`].
const REGS: usize = 2;

/// Folds all columns.
///
/// # Safety
/// The matrix must have `rows` <= L rows and `cols` columns; `out` must be valid for `cols` elements.
#[inline(always)]
pub unsafe fn short<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
) {
    let mut fix_zeros_after = S::FIX_ZEROS_AFTER && <F::NonzeroResult as Fold<S>>::CHECKS_ZERO;
    let mut j = 0;
    // SAFETY: these columns lie in the matrix and in `out`.
    unsafe {
        if rows <= FEW_ROWS && !F::IS_COMPACT && S::HAS_SHAPE_LOOPS {
            while cols - j >= REGS * S::N {
                let mut block = RegisterBlock {
                    m,
                    rows,
                    j,
                    params: [
                        m.param::<S, F>(s, j, S::N),
                        m.param::<S, F>(s, j + S::N, S::N),
                    ],
                    nan_accs: [s.splat(S::T::ZERO); REGS],
                };
                let mut results = [start::<S, F>(s); REGS];
                fix_zeros_after =
                    fix_zeros_after && block.try_all::<S, F::NonzeroResult>(s, &mut results);
                if !(fix_zeros_after || block.try_all::<S, F::NanFree>(s, &mut results)) {
                    results = block.all::<S, F>(s);
                }
                for (r, v) in results.into_iter().enumerate() {
                    s.store(out.add(j + r * S::N), F::result(s, v, rows));
                }
                j += REGS * S::N;
            }
        }
        while j < cols {
            let len = S::N.min(cols - j);
            // With so few rows, the upper half of the lanes would be empty.
            let v = if rows <= 4 * MAX_QUARTER / 2 && !F::IS_COMPACT {
                register::<S, F, { MAX_QUARTER / 2 }>(s, m, rows, j, len)
            } else {
                register::<S, F, MAX_QUARTER>(s, m, rows, j, len)
            };
            store(s, out.add(j), len, F::result(s, v, rows));
            j += len;
        }
    }
}

/// The fold of `len` <= N columns from j.
///
/// # Safety
/// The rows and columns must lie in the matrix.
#[inline(always)]
unsafe fn register<S: Simd, F: Fold<S>, const QUARTER: usize>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    j: usize,
    len: usize,
) -> F::Acc {
    let mut lanes = [start::<S, F>(s); QUARTER];
    // SAFETY: rows i < rows and these columns lie in the matrix.
    unsafe {
        let param = m.param::<S, F>(s, j, len);
        // For less code, a loop that the compiler does not unroll.
        let present = if F::IS_COMPACT { rows } else { QUARTER };
        for (l, lane) in lanes.iter_mut().enumerate().take(present) {
            *lane = leaf::<S, F>(s, m, l, rows, j, len, param);
            if rows > QUARTER {
                let lane2 = leaf::<S, F>(s, m, l + 2 * QUARTER, rows, j, len, param);
                let lane1 = leaf::<S, F>(s, m, l + QUARTER, rows, j, len, param);
                let lane3 = leaf::<S, F>(s, m, l + 3 * QUARTER, rows, j, len, param);
                let even = fold::combine::<S, F>(s, *lane, lane2);
                let odd = fold::combine::<S, F>(s, lane1, lane3);
                *lane = fold::combine::<S, F>(s, even, odd);
            }
        }
        let mut w = QUARTER / 2;
        while w > 0 {
            for l in 0..w {
                lanes[l] = fold::combine::<S, F>(s, lanes[l], lanes[l + w]);
            }
            w /= 2;
        }
    }
    lanes[0]
}

/// The lane of row i: its only element folded into the start value, or the start value if there is no row i.
///
/// # Safety
/// As [`register`].
#[inline(always)]
unsafe fn leaf<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    i: usize,
    rows: usize,
    j: usize,
    len: usize,
    param: S::V,
) -> F::Acc {
    if i >= rows {
        return start::<S, F>(s);
    }
    // SAFETY: row i and these columns lie in the matrix.
    unsafe {
        let y = if F::PAIR { s.splat(m.y_at(i)) } else { param };
        F::first(s, load(s, m.at(i, j), len), y)
    }
}

/// [`REGS`] whole registers of columns from j on, of at most [`FEW_ROWS`] rows.
#[derive(Clone, Copy)]
struct RegisterBlock<T, V> {
    m: Matrix<T>,
    rows: usize,
    j: usize,
    params: [V; REGS],
    /// For folds with [`Fold::CHECKS_NAN`]: some lane is NaN if an element was.
    nan_accs: [V; REGS],
}

/// Combines two lanes.
#[inline(always)]
fn combine<S: Simd, F: Fold<S>>(s: S, mut a: [F::Acc; REGS], b: [F::Acc; REGS]) -> [F::Acc; REGS] {
    for (a, b) in a.iter_mut().zip(b) {
        *a = fold::combine::<S, F>(s, *a, b);
    }
    a
}

/// The halving of the lanes is a pairwise tree over the lanes in bit-reversed order. It is written out here as a
/// depth-first traversal, so that few registers hold intermediate results.
impl<T: Element, V: Copy> RegisterBlock<T, V> {
    /// Folds all rows to `results`. Returns false if these may be wrong, because of a NaN or the sign of a zero that
    /// the fold does not handle.
    ///
    /// # Safety
    /// As [`RegisterBlock::all`].
    #[inline(always)]
    unsafe fn try_all<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        results: &mut [F::Acc; REGS],
    ) -> bool {
        let zero = s.splat(T::ZERO);
        self.nan_accs = [zero; REGS];
        *results = self.all::<S, F>(s);
        let ([x, y], [first, second]) = (self.nan_accs, results);
        let (a, b) = (first.as_ref()[0], second.as_ref()[0]);
        let has_zero = F::CHECKS_ZERO && (s.bits(s.eq(a, zero)) | s.bits(s.eq(b, zero))) != 0;
        !(has_zero || F::CHECKS_NAN && has_nan(s, s.add(x, y)))
    }

    /// Folds all rows.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn all<S: Simd<T = T, V = V>, F: Fold<S>>(&mut self, s: S) -> [F::Acc; REGS] {
        if self.rows > 8 {
            let even = self.eight::<S, F>(s, 0, 2);
            combine::<S, F>(s, even, self.eight::<S, F>(s, 1, 2))
        } else {
            self.eight::<S, F>(s, 0, 1)
        }
    }

    /// Combines the eight lanes l, l + step, ...
    ///
    /// # Safety
    /// As [`RegisterBlock::all`].
    #[inline(always)]
    unsafe fn eight<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        l: usize,
        step: usize,
    ) -> [F::Acc; REGS] {
        let even = self.four::<S, F>(s, l, 2 * step);
        combine::<S, F>(s, even, self.four::<S, F>(s, l + step, 2 * step))
    }

    /// Combines the four lanes l, l + step, ...
    ///
    /// # Safety
    /// As [`RegisterBlock::all`].
    #[inline(always)]
    unsafe fn four<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        l: usize,
        step: usize,
    ) -> [F::Acc; REGS] {
        let (a, b) = (self.row::<S, F>(s, l), self.row::<S, F>(s, l + 2 * step));
        let even = combine::<S, F>(s, a, b);
        let (a, b) = (
            self.row::<S, F>(s, l + step),
            self.row::<S, F>(s, l + 3 * step),
        );
        combine::<S, F>(s, even, combine::<S, F>(s, a, b))
    }

    /// The lane of row i: its only element folded into the start value, or the start value if there is no row i.
    ///
    /// # Safety
    /// As [`RegisterBlock::all`].
    #[inline(always)]
    unsafe fn row<S: Simd<T = T, V = V>, F: Fold<S>>(&mut self, s: S, i: usize) -> [F::Acc; REGS] {
        let mut v = [start::<S, F>(s); REGS];
        if i >= self.rows {
            return v;
        }
        for (r, slot) in v.iter_mut().enumerate() {
            // SAFETY: row i and these columns lie in the matrix.
            unsafe {
                let x = s.load(self.m.at(i, self.j + r * S::N));
                let y = if F::PAIR {
                    s.splat(self.m.y_at(i))
                } else {
                    self.params[r]
                };
                *slot = F::first(s, x, y);
                if F::CHECKS_NAN {
                    self.nan_accs[r] = s.accumulate_nan(self.nan_accs[r], x);
                }
            }
        }
        v
    }
}
