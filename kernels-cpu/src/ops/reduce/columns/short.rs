//! Columns with at most an element per lane.

use super::{Fold, Matrix, load, store};
use crate::element::Element;
use crate::simd::Simd;

/// A quarter of the lanes of any type, at most.
const MAX_QUARTER: usize = 16;

/// The tree straight from the loads.
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
    let quarter = <S::T as Element>::LANES / 4;
    let mut j = 0;
    while j < cols {
        let len = S::N.min(cols - j);
        let start = s.splat(F::START);
        let mut lanes = [start; MAX_QUARTER];
        // SAFETY: rows i < rows and these columns lie in the matrix.
        unsafe {
            let param = m.param::<S, F>(s, j, len);
            for (l, lane) in lanes.iter_mut().enumerate().take(quarter) {
                *lane = leaf::<S, F>(s, m, l, rows, j, len, param);
                if rows > quarter {
                    let far = leaf::<S, F>(s, m, l + 2 * quarter, rows, j, len, param);
                    let near = leaf::<S, F>(s, m, l + quarter, rows, j, len, param);
                    let last = leaf::<S, F>(s, m, l + 3 * quarter, rows, j, len, param);
                    let even = F::combine(s, *lane, far);
                    *lane = F::combine(s, even, F::combine(s, near, last));
                }
            }
            let mut w = quarter / 2;
            while w > 0 {
                for l in 0..w {
                    lanes[l] = F::combine(s, lanes[l], lanes[l + w]);
                }
                w /= 2;
            }
            store(s, out.add(j), len, lanes[0]);
        }
        j += len;
    }
}

/// A lane of one element, row i, or of none.
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
        F::step(s, start, load(s, m.at(i, j), len), second)
    }
}
