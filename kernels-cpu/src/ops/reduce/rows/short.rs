//! Rows of at most four registers, N of them at a time.

use super::{Rows, write_checked};
use crate::element::Element;
use crate::ops::reduce::Fold;
use crate::ops::reduce::fold::{combine, select, start};
use crate::simd::Simd;

/// [`group`](super::group) for N rows of `REGS` registers each, the last of which may be partial.
///
/// # Safety
/// As [`group`], for N rows of `REGS` registers.
#[inline(always)]
pub unsafe fn short<S: Simd, F: Fold<S>, const REGS: usize>(
    s: S,
    m: Rows<S::T>,
    i: usize,
    out: *mut S::T,
) -> bool {
    if m.n == REGS * S::N {
        short_rows::<S, F, REGS, true>(s, m, i, out)
    } else {
        short_rows::<S, F, REGS, false>(s, m, i, out)
    }
}

/// [`short`], where `WHOLE` says whether the last register is not partial. The tree over the rows is written out, so that
/// everything stays in registers.
///
/// # Safety
/// As [`short`].
#[inline(always)]
unsafe fn short_rows<S: Simd, F: Fold<S>, const REGS: usize, const WHOLE: bool>(
    s: S,
    m: Rows<S::T>,
    i: usize,
    out: *mut S::T,
) -> bool {
    let mut group = Short::<S, REGS, WHOLE> {
        m,
        i,
        x: m.row(i),
        nan_acc: s.splat(S::T::ZERO),
    };
    // SAFETY: the rows are the caller's.
    unsafe {
        let v = match S::N {
            16 => {
                let v = group.eight::<F>(s, 0);
                join::<S, F>(s, v, group.eight::<F>(s, 8), 16)
            }
            8 => group.eight::<F>(s, 0),
            _ => group.four::<F>(s, 0),
        };
        write_checked::<S, F>(s, v, m.n, group.nan_acc, S::N, out)
    }
}

/// N rows from i on, of `REGS` registers each.
struct Short<S: Simd, const REGS: usize, const WHOLE: bool> {
    m: Rows<S::T>,
    i: usize,
    /// Row i.
    x: *const S::T,
    nan_acc: S::V,
}

impl<S: Simd, const REGS: usize, const WHOLE: bool> Short<S, REGS, WHOLE> {
    /// Combines the rows in slots p..p + 8, see [`Simd::unzip_row`].
    ///
    /// # Safety
    /// The rows must lie in the matrix.
    #[inline(always)]
    unsafe fn eight<F: Fold<S>>(&mut self, s: S, p: usize) -> F::Acc {
        let (a, b) = (self.four::<F>(s, p), self.four::<F>(s, p + 4));
        join::<S, F>(s, a, b, 8)
    }

    /// Combines the rows in slots p..p + 4.
    ///
    /// # Safety
    /// As [`Short::eight`].
    #[inline(always)]
    unsafe fn four<F: Fold<S>>(&mut self, s: S, p: usize) -> F::Acc {
        let (a, b) = (self.two::<F>(s, p), self.two::<F>(s, p + 2));
        join::<S, F>(s, a, b, 4)
    }

    /// Combines the rows in slots p and p + 1.
    ///
    /// # Safety
    /// As [`Short::eight`].
    #[inline(always)]
    unsafe fn two<F: Fold<S>>(&mut self, s: S, p: usize) -> F::Acc {
        let (a, b) = (self.row::<F>(s, p), self.row::<F>(s, p + 1));
        join::<S, F>(s, a, b, 2)
    }

    /// Folds the row in slot p into its lanes, halved down to one register.
    ///
    /// # Safety
    /// As [`Short::eight`].
    #[inline(always)]
    unsafe fn row<F: Fold<S>>(&mut self, s: S, p: usize) -> F::Acc {
        let (r, start) = (s.unzip_row(p), start::<S, F>(s));
        let rest = self.m.n - (REGS - 1) * S::N;
        let row = self.x.wrapping_offset(r as isize * self.m.inc);
        let mut v = [start; REGS];
        // SAFETY: as above.
        unsafe {
            let param = s.splat(self.m.param::<S, F>(self.i + r));
            for (q, slot) in v.iter_mut().enumerate() {
                let (x, y) = (
                    row.wrapping_add(q * S::N),
                    self.m.y.p.wrapping_add(q * S::N),
                );
                let is_whole = WHOLE || q + 1 < REGS;
                let x = if is_whole {
                    s.load(x)
                } else {
                    s.load_partial(x, rest)
                };
                let second = match (F::PAIR, is_whole) {
                    (false, _) => param,
                    (true, true) => s.load(y),
                    (true, false) => s.load_partial(y, rest),
                };
                let next = F::first(s, x, second);
                *slot = if is_whole || F::ZERO_IS_NEUTRAL {
                    next
                } else {
                    select(s, s.first_lanes(rest), next, start)
                };
                if F::CHECKS_NAN {
                    self.nan_acc = s.accumulate_nan(self.nan_acc, x);
                }
            }
        }
        let mut w = REGS.next_power_of_two() / 2;
        while w > 0 {
            for l in 0..w.min(REGS - w) {
                v[l] = combine::<S, F>(s, v[l], v[l + w]);
            }
            w /= 2;
        }
        v[0]
    }
}

/// Halves the lanes of two registers, of `rows` / 2 rows each, into one register of `rows` rows.
#[inline(always)]
fn join<S: Simd, F: Fold<S>>(s: S, mut a: F::Acc, b: F::Acc, rows: usize) -> F::Acc {
    for (a, b) in a.as_mut().iter_mut().zip(b.as_ref()) {
        let (low, high) = s.unzip(*a, *b, S::N / rows);
        *a = F::combine(s, low, high);
    }
    a
}
