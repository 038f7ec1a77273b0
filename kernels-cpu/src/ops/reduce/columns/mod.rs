//! Reductions down the columns of a row-major matrix: each column in the canonical order, many
//! columns at once. Three ways, for the same bits: `short` columns, `narrow` matrices, and `long`
//! columns of wide matrices.

mod long;
mod narrow;
mod short;

use core::mem::MaybeUninit;

use super::{Fold, chunk_len, finish, load, store};
use crate::element::Element;
use crate::simd::Simd;

/// A matrix whose columns are folded. Consecutive columns are consecutive elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    x: *const T,
    /// From a row to the next.
    inc: isize,
    /// The second vector of a fold of two, an element per row.
    y: *const T,
    incy: isize,
    /// The parameter of each column, or null.
    param: *const T,
}

impl<T: Element> Matrix<T> {
    /// Element i of the second vector.
    #[inline(always)]
    unsafe fn second(self, i: usize) -> T {
        // SAFETY: the caller vouches for an element per row.
        unsafe { *self.y.wrapping_offset(i as isize * self.incy) }
    }

    /// The parameters of `len` columns from j.
    #[inline(always)]
    unsafe fn param<S: Simd<T = T>, F: Fold<S>>(self, s: S, j: usize, len: usize) -> S::V {
        if F::PAIR || self.param.is_null() {
            return s.splat(T::ZERO);
        }
        // SAFETY: the caller vouches for a parameter per column.
        unsafe { load(s, self.param.add(j), len) }
    }

    /// A lane, `v`, goes on with `steps` <= [`STEPS`] of its rows, from row i on, in columns j..j + len
    /// or as many of them as a register holds.
    #[inline(always)]
    unsafe fn steps<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        mut v: S::V,
        i: usize,
        steps: usize,
        j: usize,
        len: usize,
    ) -> S::V {
        // SAFETY: the caller vouches for the rows, L apart, and the columns.
        unsafe {
            let param = self.param::<S, F>(s, j, len);
            if S::MANY_LOOPS && steps == STEPS {
                for step in 0..STEPS {
                    v = self.step::<S, F>(s, v, i + step * T::LANES, j, len, param);
                }
            } else {
                for step in 0..steps {
                    v = self.step::<S, F>(s, v, i + step * T::LANES, j, len, param);
                }
            }
        }
        v
    }

    #[inline(always)]
    unsafe fn step<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        v: S::V,
        i: usize,
        j: usize,
        len: usize,
        param: S::V,
    ) -> S::V {
        // SAFETY: as the caller's.
        unsafe {
            let second = if F::PAIR {
                s.splat(self.second(i))
            } else {
                param
            };
            F::step(s, v, load(s, self.at(i, j), len), second)
        }
    }

    #[inline(always)]
    fn at(self, i: usize, j: usize) -> *const T {
        self.x
            .wrapping_offset(i as isize * self.inc)
            .wrapping_add(j)
    }
}

/// Rows that a lane takes at once, at most.
const STEPS: usize = 8;

/// Bytes of stack for accumulators and the tree.
const WORK: usize = 24 << 10;

/// out\[j\] = the fold of column j, with its last step, for columns 0..cols. `y` holds an
/// element per row for folds of two vectors, `param` one per column for folds with a parameter.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, `y` and `param` as far as the fold reads them,
/// `out` for `cols` elements.
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
    let matrix = Matrix {
        x,
        inc,
        y,
        incy,
        param,
    };
    // SAFETY: as the caller's.
    unsafe {
        if rows <= <S::T as Element>::LANES {
            return short::short::<S, F>(s, matrix, rows, cols, out);
        }
        let mut work = [MaybeUninit::<u64>::uninit(); WORK / 8];
        let base = work.as_mut_ptr().cast::<S::T>();
        // Few enough columns for all lanes of them, with digits for the tree over the chunks.
        let chunks = rows.div_ceil(chunk_len::<S::T>());
        let digits = (usize::BITS - chunks.leading_zeros()) as usize;
        let most = WORK / size_of::<S::T>() / (<S::T as Element>::LANES + digits);
        let pitch = cols.div_ceil(S::N) * S::N;
        if S::MANY_LOOPS && pitch <= most.min(4 * S::N) {
            narrow::narrow::<S, F>(s, matrix, rows, cols, out, base);
        } else {
            long::long::<S, F>(s, matrix, rows, cols, out, base);
        }
    }
}
