//! Few columns: all lanes of all of them are accumulated at once, row after row, so that memory is
//! read in order.

use super::{Fold, Matrix, chunk_len, finish, load, store};
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
            let mut row = 0;
            while row < count {
                let block = Block {
                    from,
                    row,
                    base,
                    params,
                };
                row += if count - row >= 8 * lanes {
                    steps::<S, F, REGS, 8>(s, m, cols, block)
                } else if count - row >= lanes {
                    steps::<S, F, REGS, 1>(s, m, cols, block)
                } else {
                    let rest = count - row;
                    for l in 0..rest {
                        lane::<S, F, REGS, 1>(s, m, cols, block, l);
                    }
                    rest
                };
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
            let v = finish::<S, F>(s, s.load(digits.add(at)));
            store(s, out.add(at), cols - at, v);
        }
    }
}

/// Rows of a chunk from `row` on, which is a whole number of steps.
#[derive(Clone, Copy)]
struct Block<S: Simd, const REGS: usize> {
    from: usize,
    row: usize,
    base: *mut S::T,
    params: [S::V; REGS],
}

/// All lanes take `STEPS` rows each; returns how many rows those are.
#[inline(always)]
unsafe fn steps<S: Simd, F: Fold<S>, const REGS: usize, const STEPS: usize>(
    s: S,
    m: Matrix<S::T>,
    cols: usize,
    block: Block<S, REGS>,
) -> usize {
    for l in 0..<S::T as Element>::LANES {
        // SAFETY: as the caller's.
        unsafe { lane::<S, F, REGS, STEPS>(s, m, cols, block, l) };
    }
    STEPS * <S::T as Element>::LANES
}

/// Lane l takes `STEPS` rows.
#[inline(always)]
unsafe fn lane<S: Simd, F: Fold<S>, const REGS: usize, const STEPS: usize>(
    s: S,
    m: Matrix<S::T>,
    cols: usize,
    block: Block<S, REGS>,
    l: usize,
) {
    let acc = block.base.wrapping_add(l * REGS * S::N);
    for (r, &param) in block.params.iter().enumerate() {
        let at = r * S::N;
        // SAFETY: the rows lie in the matrix, the lane in the work area; it has been written unless
        // these are its first rows.
        unsafe {
            let mut v = if block.row == 0 {
                s.splat(F::START)
            } else {
                s.load(acc.add(at))
            };
            for step in 0..STEPS {
                let i = block.from + block.row + l + step * <S::T as Element>::LANES;
                let second = if F::PAIR { s.splat(m.second(i)) } else { param };
                v = F::step(s, v, load(s, m.at(i, at), cols - at), second);
            }
            s.store(acc.add(at), v);
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
