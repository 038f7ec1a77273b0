//! Columns with at most an element per lane: the tree straight from the loads.

use super::{Fold, Matrix, finish};
use crate::element::Element;
use crate::ops::reduce::leaf::has_nan;
use crate::ops::{load, store};
use crate::simd::Simd;

/// A quarter of the lanes of any type, at most.
const MAX_QUARTER: usize = 16;
/// Rows that are few: those of a quarter of the lanes of f32.
pub const FEW: usize = 16;
/// Registers of columns at once where there are few rows.
const WIDE: usize = 2;

/// Folds all columns.
///
/// # Safety
/// The matrix must have `rows` <= L rows and `cols` columns, `out` as many.
#[inline(always)]
pub unsafe fn short<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
) {
    let mut fix_zeros_after = S::FIX_ZEROS_AFTER && <F::Nonzero as Fold<S>>::ZERO_APART;
    let mut j = 0;
    // SAFETY: these columns lie in the matrix and in `out`.
    unsafe {
        if rows <= FEW && !F::IS_LONG && S::MANY_LOOPS {
            while cols - j >= WIDE * S::N {
                let mut block = Block {
                    m,
                    rows,
                    j,
                    params: [
                        m.param::<S, F>(s, j, S::N),
                        m.param::<S, F>(s, j + S::N, S::N),
                    ],
                    nan_accs: [s.splat(S::T::ZERO); WIDE],
                };
                let mut results = [s.splat(F::START); WIDE];
                fix_zeros_after = fix_zeros_after && block.stands::<S, F::Nonzero>(s, &mut results);
                if !(fix_zeros_after || block.stands::<S, F::Finite>(s, &mut results)) {
                    results = block.all::<S, F>(s);
                }
                for (r, v) in results.into_iter().enumerate() {
                    s.store(out.add(j + r * S::N), finish::<S, F>(s, v));
                }
                j += WIDE * S::N;
            }
        }
        while j < cols {
            let len = S::N.min(cols - j);
            // Lanes from the next power of two on are empty, and need not be there.
            let v = if rows <= 4 * MAX_QUARTER / 2 && !F::IS_LONG {
                register::<S, F, { MAX_QUARTER / 2 }>(s, m, rows, j, len)
            } else {
                register::<S, F, MAX_QUARTER>(s, m, rows, j, len)
            };
            store(s, out.add(j), len, finish::<S, F>(s, v));
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
) -> S::V {
    let mut lanes = [s.splat(F::START); QUARTER];
    // SAFETY: rows i < rows and these columns lie in the matrix.
    unsafe {
        let param = m.param::<S, F>(s, j, len);
        // A loop that is not unrolled when a step is long.
        let present = if F::IS_LONG { rows } else { QUARTER };
        for (l, lane) in lanes.iter_mut().enumerate().take(present) {
            *lane = leaf::<S, F>(s, m, l, rows, j, len, param);
            if rows > QUARTER {
                let far = leaf::<S, F>(s, m, l + 2 * QUARTER, rows, j, len, param);
                let near = leaf::<S, F>(s, m, l + QUARTER, rows, j, len, param);
                let last = leaf::<S, F>(s, m, l + 3 * QUARTER, rows, j, len, param);
                let even = F::combine(s, *lane, far);
                *lane = F::combine(s, even, F::combine(s, near, last));
            }
        }
        let mut w = QUARTER / 2;
        while w > 0 {
            for l in 0..w {
                lanes[l] = F::combine(s, lanes[l], lanes[l + w]);
            }
            w /= 2;
        }
    }
    lanes[0]
}

/// A lane of one element, row i, or of none.
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
) -> S::V {
    let start = s.splat(F::START);
    if i >= rows {
        return start;
    }
    // SAFETY: row i and these columns lie in the matrix.
    unsafe {
        let second = if F::PAIR { s.splat(m.second(i)) } else { param };
        F::first(s, load(s, m.at(i, j), len), second)
    }
}

/// Whole registers of columns from j, of at most [`FEW`] rows: lanes without a row change nothing.
#[derive(Clone, Copy)]
struct Block<T, V> {
    m: Matrix<T>,
    rows: usize,
    j: usize,
    params: [V; WIDE],
    /// NaN if an element is, for folds that keep NaN apart.
    nan_accs: [V; WIDE],
}

/// Combines registers of two lanes.
#[inline(always)]
fn combine<S: Simd, F: Fold<S>>(s: S, mut a: [S::V; WIDE], b: [S::V; WIDE]) -> [S::V; WIDE] {
    for (a, b) in a.iter_mut().zip(b) {
        *a = F::combine(s, *a, b);
    }
    a
}

/// The halving of the lanes is a pairwise tree over lanes in bit-reversed order. Here it is written
/// out, so that a few registers hold what waits.
impl<T: Element, V: Copy> Block<T, V> {
    /// All rows, to `results`; false where one may have what the fold keeps apart.
    ///
    /// # Safety
    /// As [`Block::all`].
    #[inline(always)]
    unsafe fn stands<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        results: &mut [V; WIDE],
    ) -> bool {
        let zero = s.splat(T::ZERO);
        self.nan_accs = [zero; WIDE];
        // SAFETY: as the caller's.
        *results = unsafe { self.all::<S, F>(s) };
        let ([x, y], [a, b]) = (self.nan_accs, *results);
        let has_zero = F::ZERO_APART && (s.bits(s.eq(a, zero)) | s.bits(s.eq(b, zero))) != 0;
        !(has_zero || F::NAN_APART && has_nan(s, s.add(x, y)))
    }

    /// All rows.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn all<S: Simd<T = T, V = V>, F: Fold<S>>(&mut self, s: S) -> [V; WIDE] {
        // SAFETY: as the caller's, here and below.
        unsafe {
            if self.rows > 8 {
                let even = self.eight::<S, F>(s, 0, 2);
                combine::<S, F>(s, even, self.eight::<S, F>(s, 1, 2))
            } else {
                self.eight::<S, F>(s, 0, 1)
            }
        }
    }

    /// Lanes l, l + step, ..., eight of them.
    ///
    /// # Safety
    /// As [`Block::all`].
    #[inline(always)]
    unsafe fn eight<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        l: usize,
        step: usize,
    ) -> [V; WIDE] {
        // SAFETY: as above.
        unsafe {
            let even = self.four::<S, F>(s, l, 2 * step);
            combine::<S, F>(s, even, self.four::<S, F>(s, l + step, 2 * step))
        }
    }

    /// Lanes l, l + step, ..., four of them.
    ///
    /// # Safety
    /// As [`Block::all`].
    #[inline(always)]
    unsafe fn four<S: Simd<T = T, V = V>, F: Fold<S>>(
        &mut self,
        s: S,
        l: usize,
        step: usize,
    ) -> [V; WIDE] {
        // SAFETY: as above.
        unsafe {
            let (a, b) = (self.row::<S, F>(s, l), self.row::<S, F>(s, l + 2 * step));
            let even = combine::<S, F>(s, a, b);
            let (a, b) = (
                self.row::<S, F>(s, l + step),
                self.row::<S, F>(s, l + 3 * step),
            );
            combine::<S, F>(s, even, combine::<S, F>(s, a, b))
        }
    }

    /// A lane of one element, row i, or of none.
    ///
    /// # Safety
    /// As [`Block::all`].
    #[inline(always)]
    unsafe fn row<S: Simd<T = T, V = V>, F: Fold<S>>(&mut self, s: S, i: usize) -> [V; WIDE] {
        let mut v = [s.splat(F::START); WIDE];
        if i >= self.rows {
            return v;
        }
        for (r, slot) in v.iter_mut().enumerate() {
            // SAFETY: row i and these columns lie in the matrix.
            unsafe {
                let x = s.load(self.m.at(i, self.j + r * S::N));
                let second = if F::PAIR {
                    s.splat(self.m.second(i))
                } else {
                    self.params[r]
                };
                *slot = F::first(s, x, second);
                if F::NAN_APART {
                    self.nan_accs[r] = s.accumulate_nan(self.nan_accs[r], x);
                }
            }
        }
        v
    }
}
