//! From the sums of a segment to C, where a microkernel cannot go there by itself: any strides, bias, clamp.

use core::mem::MaybeUninit;

use super::product::{Gemm, Rule};
use super::routines::Routines;
use super::shapes::{MAX_MR, MAX_NR};
use super::transpose::{LANES, transpose};
use crate::element::Element;
use crate::ops::{load, store};
use crate::scalar;
use crate::simd::{Register, Simd};

/// How the micro-tiles of one segment go to C.
pub struct WriteBack<'a, T> {
    p: &'a Gemm<T>,
    /// Whether this is the first segment, and whether bias and clamp follow.
    first: bool,
    last: bool,
}

impl<'a, T: Element> WriteBack<'a, T> {
    #[inline(always)]
    pub fn new(p: &'a Gemm<T>, first: bool, last: bool) -> Self {
        Self {
            p,
            first,
            last: last && p.epilogue.is_some(),
        }
    }

    /// What C is multiplied by: after the first segment by 1, which changes nothing.
    #[inline(always)]
    pub fn beta(&self) -> T {
        if self.first { self.p.beta } else { T::ONE }
    }

    /// The alpha and beta that microkernels apply; what is left to be done comes after.
    #[inline(always)]
    pub fn in_microkernel(&self) -> (T, T) {
        if self.direct() {
            (self.p.alpha, self.beta())
        } else if self.moves() {
            (self.p.alpha, T::ZERO)
        } else {
            (T::ONE, T::ZERO)
        }
    }

    /// Whether C is read.
    #[inline(always)]
    pub fn reads(&self) -> bool {
        self.beta() != T::ZERO
    }

    #[inline(always)]
    pub fn at(&self, (i, j): (usize, usize)) -> *mut T {
        self.p
            .c
            .wrapping_offset(i as isize * self.p.c_rs + j as isize * self.p.c_cs)
    }

    /// Whether a microkernel can go to its place in C by itself, or its sums must come through [`write_back`].
    #[inline(always)]
    pub fn direct(&self) -> bool {
        self.p.c_cs == 1 && !self.last && self.p.k > 0
    }

    /// Whether the sums, multiplied by alpha already, have only to be moved.
    #[inline(always)]
    pub fn moves(&self) -> bool {
        let contiguous = self.p.c_rs == 1 || self.p.c_cs == 1;
        contiguous && !self.last && !self.reads() && self.p.k > 0
    }
}

/// Runs a microkernel whose sums go to C by [`write_back()`].
///
/// # Safety
/// As [`write_back()`]; the machine must have the routines' level; `run` must write the micro-tile of this size to rows [`MAX_NR`] apart.
#[inline(never)]
pub unsafe fn through_sums<T: Element>(
    k: &Routines<T>,
    to: &WriteBack<'_, T>,
    run: impl FnOnce(*mut T),
    (mr, nr): (usize, usize),
    at: (usize, usize),
) {
    let mut sums = [const { MaybeUninit::<T>::uninit() }; MAX_MR * MAX_NR];
    run(sums.as_mut_ptr().cast());
    // SAFETY: the micro-tile has been written.
    unsafe { (k.write_back)(to, sums.as_ptr().cast(), mr, at, nr) };
}

/// Takes `rows` rows of sums, [`MAX_NR`] apart, to the micro-tile of `columns` columns at (i, j), in every mode, for
/// every width and stride.
///
/// # Safety
/// The micro-tile must lie in C, and the sums be there.
#[inline(always)]
pub unsafe fn write_back<S: Simd>(
    s: S,
    f: &WriteBack<'_, S::T>,
    sums: *const S::T,
    rows: usize,
    (i, j): (usize, usize),
    columns: usize,
) {
    if f.p.c_rs == 1 && f.p.c_cs != 1 {
        let transposed = f.p.transposed();
        let f = WriteBack {
            p: &transposed,
            ..*f
        };
        let to = (j, i);
        // SAFETY: the same micro-tile, transposed.
        return unsafe {
            if <S::Half as Register>::N < S::N && rows <= <S::Half as Register>::N {
                write_back_transposed(s.half(), &f, sums, (rows, columns), to);
            } else {
                write_back_transposed(s, &f, sums, (rows, columns), to);
            }
        };
    }
    for r in 0..rows {
        let mut column = 0;
        while column < columns {
            let len = S::N.min(columns - column);
            // SAFETY: the sums are there, and these columns of row r lie in C.
            unsafe {
                let sum = load(s, sums.add(r * MAX_NR + column), len);
                f.register(s, sum, i + r, j + column, len);
            }
            column += S::N;
        }
    }
}

/// [`write_back`] of the transpose of a micro-tile of `rows` rows and `columns` columns.
///
/// # Safety
/// As [`write_back`].
#[inline(always)]
unsafe fn write_back_transposed<S: Simd>(
    s: S,
    f: &WriteBack<'_, S::T>,
    sums: *const S::T,
    (rows, columns): (usize, usize),
    (i, j): (usize, usize),
) {
    let mut block = [const { MaybeUninit::<S::T>::uninit() }; LANES * LANES];
    let block = block.as_mut_ptr().cast::<S::T>();
    for r in (0..rows).step_by(S::N) {
        for column in (0..columns).step_by(S::N) {
            let (height, len) = (S::N.min(rows - r), S::N.min(columns - column));
            let from = (sums.wrapping_add(r * MAX_NR + column), MAX_NR as isize);
            // SAFETY: the sums are there, and these rows of each column lie in C.
            unsafe {
                if f.moves() {
                    let to = (f.at((i + column, j + r)), f.p.c_rs);
                    transpose(s, from, (height, len), to, height);
                    continue;
                }
                transpose(s, from, (height, len), (block, S::N as isize), S::N);
                for c in 0..len {
                    let sum = s.load(block.add(c * S::N));
                    f.register(s, sum, i + column + c, j + r, height);
                }
            }
        }
    }
}

impl<T: Element> WriteBack<'_, T> {
    /// # Safety
    /// C must have these `len` elements from (i, j) on, and the biases theirs; len <= S::N.
    #[inline(always)]
    unsafe fn register<S: Simd<T = T>>(&self, s: S, sum: S::V, i: usize, j: usize, len: usize) {
        let (p, inc) = (self.at((i, j)), self.p.c_cs);
        let alpha = s.splat(self.p.alpha);
        let mut c = if self.reads() {
            // SAFETY: the caller vouches for these elements of C.
            let scaled = s.mul(s.splat(self.beta()), unsafe { load_any(s, p, inc, len) });
            if self.p.k == 0 {
                scaled
            } else {
                s.fma(alpha, sum, scaled)
            }
        } else {
            s.mul(alpha, sum)
        };
        if self.last {
            // SAFETY: the caller vouches for row i and these columns.
            c = unsafe { self.epilogue(s, c, i, j, len) };
        }
        // SAFETY: the caller vouches for these elements of C.
        unsafe {
            if inc == 1 {
                store(s, p, len, c);
            } else {
                s.store_strided(p, inc, len, c);
            }
        }
    }

    /// # Safety
    /// The biases must have row i and these `len` columns from j on; len <= S::N.
    #[inline(always)]
    unsafe fn epilogue<S: Simd<T = T>>(
        &self,
        s: S,
        mut c: S::V,
        i: usize,
        j: usize,
        len: usize,
    ) -> S::V {
        let e = &self.p.epilogue;
        // SAFETY: the caller vouches for a bias per row or column.
        unsafe {
            if !e.row_bias.is_null() {
                c = s.add(
                    c,
                    s.splat(*e.row_bias.wrapping_offset(i as isize * e.row_inc)),
                );
            }
            if !e.column_bias.is_null() {
                let bias = e.column_bias.wrapping_offset(j as isize * e.column_inc);
                c = s.add(c, load_any(s, bias, e.column_inc, len));
            }
        }
        let (lo, hi) = e.clamp.bounds();
        match e.clamp.rule() {
            Rule::Keep => c,
            Rule::Limit => scalar::clamp(s, c, s.splat(lo), s.splat(hi)),
            Rule::Nan => s.splat(T::CANONICAL_NAN),
        }
    }
}

/// `len` elements at `p`, `inc` apart, a register of them at most.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load_any<S: Simd>(s: S, p: *const S::T, inc: isize, len: usize) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if inc == 1 {
            load(s, p, len)
        } else {
            s.load_strided(p, inc, len)
        }
    }
}
