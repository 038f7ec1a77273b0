//! Reductions down the columns of a row-major matrix: each column in the canonical order, many
//! columns at once.

use super::{Fold, Tree, chunk_len};
use crate::element::Element;
use crate::simd::Simd;

/// A matrix whose columns are folded. Consecutive columns are consecutive elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    /// Rows: the elements of each fold.
    rows: usize,
    x: *const T,
    /// From a row to the next.
    inc: isize,
    /// The second vector of a fold of two, an element per row.
    y: *const T,
    incy: isize,
}

/// out\[j\] = the fold of column j, without its last step, for columns 0..cols. `y` holds an
/// element per row for folds of two vectors, `param` one per column for folds with a parameter.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, `y` and `param` as far as the fold reads them,
/// `out` for `cols` elements.
#[allow(clippy::too_many_arguments)]
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
) {
    // Four lanes of C columns: 16 accumulators of 32 registers, or 8 of 16.
    let wide = if S::R == 4 { 4 } else { 2 };
    let matrix = Matrix { rows, x, inc, y, incy };
    let mut j = 0;
    // SAFETY: each group lies in 0..cols.
    unsafe {
        while j + wide * S::N <= cols {
            if S::R == 4 {
                group::<S, F, 4>(s, matrix, j, S::N, param, out);
            } else {
                group::<S, F, 2>(s, matrix, j, S::N, param, out);
            }
            j += wide * S::N;
        }
        while j < cols {
            let width = S::N.min(cols - j);
            group::<S, F, 1>(s, matrix, j, width, param, out);
            j += width;
        }
    }
}

/// `width` columns at `p`, where less than a register only the last of them.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, width: usize) -> S::V {
    // SAFETY: the caller vouches for `width` elements.
    unsafe { if width == S::N { s.load(p) } else { s.load_partial(p, width) } }
}

/// Columns j.. of one group: C registers of N columns, or one of fewer.
///
/// The lanes of a chunk are visited four at a time, l, l + L/4, l + L/2, l + 3L/4, for l in
/// bit-reversed order: then the halving of the lanes is a pairwise tree over the visits, and so
/// chunks and lanes share one tree.
#[inline(always)]
unsafe fn group<S: Simd, F: Fold<S>, const C: usize>(
    s: S,
    matrix: Matrix<S::T>,
    j: usize,
    width: usize,
    param: *const S::T,
    out: *mut S::T,
) {
    let quarter = <S::T as Element>::LANES / 4;
    let mut params = [s.splat(S::T::ZERO); C];
    if !F::PAIR && !param.is_null() {
        for (c, slot) in params.iter_mut().enumerate() {
            // SAFETY: the caller vouches for a parameter per column.
            *slot = unsafe { load(s, param.add(j + c * S::N), width) };
        }
    }
    let mut tree = Tree::<S, C>::new();
    let mut from = 0;
    loop {
        let rows = chunk_len::<S::T>().min(matrix.rows - from);
        for visit in 0..quarter {
            let lane = visit.reverse_bits() >> (usize::BITS - quarter.trailing_zeros());
            // SAFETY: rows from..from+rows lie in the matrix.
            let leaf = unsafe { lanes::<S, F, C>(s, matrix, j, width, from, rows, lane, &params) };
            tree.push::<F>(s, leaf);
        }
        from += rows;
        if from == matrix.rows {
            break;
        }
    }
    let result = tree.finish::<F>(s);
    for (c, &v) in result.iter().enumerate() {
        // SAFETY: the caller vouches for `out` at these columns.
        unsafe {
            if width == S::N {
                s.store(out.add(j + c * S::N), v);
            } else {
                s.store_partial(out.add(j + c * S::N), width, v);
            }
        }
    }
}

/// Lanes l, l + L/4, l + L/2, l + 3L/4 of the chunk of `rows` rows at `from`, combined.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn lanes<S: Simd, F: Fold<S>, const C: usize>(
    s: S,
    matrix: Matrix<S::T>,
    j: usize,
    width: usize,
    from: usize,
    rows: usize,
    lane: usize,
    params: &[S::V; C],
) -> [S::V; C] {
    let step = <S::T as Element>::LANES;
    let quarter = step / 4;
    let mut acc = [[s.splat(F::START); C]; 4];
    let mut row = lane;
    // SAFETY: the rows taken lie below `rows`, and these columns in the matrix.
    unsafe {
        while row + 3 * quarter < rows {
            for (q, lane_acc) in acc.iter_mut().enumerate() {
                take::<S, F, C>(s, matrix, j, width, from + row + q * quarter, params, lane_acc);
            }
            row += step;
        }
        // At the end of a chunk, the last of the four lanes may be short of an element.
        for lane_acc in &mut acc {
            if row < rows {
                take::<S, F, C>(s, matrix, j, width, from + row, params, lane_acc);
            }
            row += quarter;
        }
    }
    let [a, b, c, d] = acc;
    let even = super::combine_all::<S, F, C>(s, a, c);
    let odd = super::combine_all::<S, F, C>(s, b, d);
    super::combine_all::<S, F, C>(s, even, odd)
}

/// One lane takes row i.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn take<S: Simd, F: Fold<S>, const C: usize>(
    s: S,
    matrix: Matrix<S::T>,
    j: usize,
    width: usize,
    i: usize,
    params: &[S::V; C],
    acc: &mut [S::V; C],
) {
    let p = matrix.x.wrapping_offset(i as isize * matrix.inc).wrapping_add(j);
    let mut second = *params;
    if F::PAIR {
        // SAFETY: the caller vouches for an element of y per row.
        second = [s.splat(unsafe { *matrix.y.wrapping_offset(i as isize * matrix.incy) }); C];
    }
    for c in 0..C {
        // SAFETY: the caller vouches for row i and these columns.
        let x = unsafe { load(s, p.wrapping_add(c * S::N), width) };
        acc[c] = F::step(s, acc[c], x, second[c]);
    }
}
