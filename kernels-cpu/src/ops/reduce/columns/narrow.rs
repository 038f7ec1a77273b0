//! Few columns: all lanes of all of them are accumulated at once, row after row, so that memory is
//! read in order.

use super::{Fold, Matrix, chunk_len, load, store};
use crate::element::Element;
use crate::simd::Simd;

/// Folds `cols` columns, which fit `REGS` registers.
///
/// # Safety
/// The matrix must have these rows and columns, `out` as many; `base` must have room for L lanes and
/// the digits of a counter of chunks, of `REGS` registers each.
#[inline(always)]
pub unsafe fn narrow<S: Simd, F: Fold<S>, const REGS: usize>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) {
    let lanes = <S::T as Element>::LANES;
    let pitch = REGS * S::N;
    let digits = base.wrapping_add(lanes * pitch);
    // SAFETY: rows and columns lie in the matrix, the lanes and the digits in the work area.
    unsafe {
        let mut params = [s.splat(S::T::ZERO); REGS];
        for (r, slot) in params.iter_mut().enumerate() {
            *slot = m.param::<S, F>(s, r * S::N, cols - r * S::N);
        }
        let chunks = rows.div_ceil(chunk_len::<S::T>());
        for chunk in 0..chunks {
            let from = chunk * chunk_len::<S::T>();
            let count = chunk_len::<S::T>().min(rows - from);
            for row in 0..count {
                let acc = base.add(row % lanes * pitch);
                for (r, &param) in params.iter().enumerate() {
                    let x = load(s, m.at(from + row, r * S::N), cols - r * S::N);
                    let second = if F::PAIR {
                        s.splat(m.second(from + row))
                    } else {
                        param
                    };
                    let old = if row < lanes {
                        s.splat(F::START)
                    } else {
                        s.load(acc.add(r * S::N))
                    };
                    s.store(acc.add(r * S::N), F::step(s, old, x, second));
                }
            }
            let mut w = lanes / 2;
            while w > 0 {
                for l in 0..w.min(count.saturating_sub(w)) {
                    combine_into::<S, F>(s, REGS, base.add(l * pitch), base.add((l + w) * pitch));
                }
                w /= 2;
            }
            let (top, carries) = (chunk.count_ones(), chunk.trailing_ones());
            for d in 1..=carries {
                let digit = digits.add((top - d) as usize * pitch);
                combine_into::<S, F>(s, REGS, digit, base);
                base.copy_from_nonoverlapping(digit, pitch);
            }
            digits
                .add((top - carries) as usize * pitch)
                .copy_from_nonoverlapping(base, pitch);
        }
        for d in (1..chunks.count_ones() as usize).rev() {
            combine_into::<S, F>(s, REGS, digits.add((d - 1) * pitch), digits.add(d * pitch));
        }
        for r in 0..REGS {
            let at = r * S::N;
            store(s, out.add(at), cols - at, s.load(digits.add(at)));
        }
    }
}

/// a = combine(a, b) for `regs` registers.
#[inline(always)]
unsafe fn combine_into<S: Simd, F: Fold<S>>(s: S, regs: usize, a: *mut S::T, b: *const S::T) {
    for r in 0..regs {
        // SAFETY: the caller vouches for the registers.
        unsafe {
            let (p, q) = (a.add(r * S::N), b.add(r * S::N));
            s.store(p, F::combine(s, s.load(p), s.load(q)));
        }
    }
}
