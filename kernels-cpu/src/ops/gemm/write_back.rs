//! Writes the sums of a segment to C where a microkernel cannot do so itself: for any strides, with bias and clamp.

use core::mem::MaybeUninit;

use super::product::{Gemm, Rule};
use super::routines::Routines;
use super::shapes::{MAX_MR, MAX_NR};
use super::transpose::{MAX_LANES, transpose};
use crate::element::Element;
use crate::ops::{load, store};
use crate::scalar;
use crate::simd::{Register, Simd};

/// How the micro-tiles of one segment of k are written to C.
pub struct WriteBack<'a, T> {
    p: &'a Gemm<T>,
    /// Whether this is the first segment.
    is_first: bool,
    /// Whether bias or clamp follow: in the last segment, if the product has any.
    has_epilogue: bool,
    /// The distance between the rows of the sums that are written.
    pitch: usize,
    /// Whether the sums have not been multiplied by [`WriteBack::microkernel_scalars`].
    unscaled_sums: bool,
}

impl<'a, T: Element> WriteBack<'a, T> {
    #[inline(always)]
    pub fn new(p: &'a Gemm<T>, first: bool, last: bool) -> Self {
        Self {
            p,
            is_first: first,
            has_epilogue: last && p.epilogue.is_some(),
            pitch: MAX_NR,
            unscaled_sums: false,
        }
    }

    /// For sums whose rows are `pitch` apart, instead of [`MAX_NR`].
    #[inline(always)]
    pub fn with_pitch(self, pitch: usize) -> Self {
        Self { pitch, ..self }
    }

    /// For sums that no microkernel has multiplied by alpha.
    #[inline(always)]
    pub fn of_unscaled_sums(self) -> Self {
        Self {
            unscaled_sums: true,
            ..self
        }
    }

    /// The factor of C: the product's beta in the first segment, then 1, which is exact.
    #[inline(always)]
    pub fn beta(&self) -> T {
        if self.is_first { self.p.beta } else { T::ONE }
    }

    /// The alpha and beta that the microkernel applies. [`write_back`] applies what these leave out.
    #[inline(always)]
    pub fn microkernel_scalars(&self) -> (T, T) {
        if self.is_direct() {
            (self.p.alpha, self.beta())
        } else if self.only_moves() {
            (self.p.alpha, T::ZERO)
        } else {
            (T::ONE, T::ZERO)
        }
    }

    /// Whether C is read.
    #[inline(always)]
    pub fn reads_c(&self) -> bool {
        self.beta() != T::ZERO
    }

    #[inline(always)]
    pub fn at(&self, (i, j): (usize, usize)) -> *mut T {
        self.p.c.at(i, j)
    }

    /// Whether microkernels write to C directly; otherwise their sums go through [`write_back`].
    #[inline(always)]
    pub fn is_direct(&self) -> bool {
        self.p.c.cs == 1 && !self.has_epilogue && self.p.k > 0
    }

    /// Whether [`write_back`] only moves the sums to C, because the microkernel has multiplied them by alpha and
    /// nothing else is to be done.
    #[inline(always)]
    pub fn only_moves(&self) -> bool {
        let contiguous = self.p.c.rs == 1 || self.p.c.cs == 1;
        let scaled = !self.unscaled_sums || self.p.alpha == T::ONE;
        contiguous && scaled && !self.has_epilogue && !self.reads_c() && self.p.k > 0
    }
}

/// Runs a microkernel into a buffer, and writes its sums to C with [`write_back()`].
///
/// # Safety
/// As [`write_back()`]; the machine must have the routines' level; `run` must write a micro-tile of `mr` by `nr`, its
/// rows [`MAX_NR`] apart.
#[inline(never)]
pub unsafe fn through_sums<T: Element>(
    routines: &Routines<T>,
    to: &WriteBack<'_, T>,
    run: impl FnOnce(*mut T),
    (mr, nr): (usize, usize),
    at: (usize, usize),
) {
    let mut sums = [const { MaybeUninit::<T>::uninit() }; MAX_MR * MAX_NR];
    run(sums.as_mut_ptr().cast());
    // SAFETY: the micro-tile has been written.
    unsafe { (routines.write_back)(to, sums.as_ptr().cast(), mr, at, nr) };
}

/// Writes `rows` rows of sums to the micro-tile of `columns` columns at (i, j) of C. Handles all
/// strides, sizes and epilogues.
///
/// # Safety
/// The micro-tile must lie in C, and `sums` must be valid for it.
#[inline(always)]
pub unsafe fn write_back<S: Simd>(
    s: S,
    f: &WriteBack<'_, S::T>,
    sums: *const S::T,
    rows: usize,
    (i, j): (usize, usize),
    columns: usize,
) {
    if f.p.c.rs == 1 && f.p.c.cs != 1 {
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
                let sum = load(s, sums.add(r * f.pitch + column), len);
                f.write_register(s, sum, i + r, j + column, len);
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
    let mut block = [const { MaybeUninit::<S::T>::uninit() }; MAX_LANES * MAX_LANES];
    let block = block.as_mut_ptr().cast::<S::T>();
    for r in (0..rows).step_by(S::N) {
        for column in (0..columns).step_by(S::N) {
            let (height, len) = (S::N.min(rows - r), S::N.min(columns - column));
            let from = (sums.wrapping_add(r * f.pitch + column), f.pitch as isize);
            // SAFETY: the sums are there, and these rows of each column lie in C.
            unsafe {
                if f.only_moves() {
                    let to = (f.at((i + column, j + r)), f.p.c.rs);
                    transpose(s, from, (height, len), to, height);
                    continue;
                }
                transpose(s, from, (height, len), (block, S::N as isize), S::N);
                for c in 0..len {
                    let sum = s.load(block.add(c * S::N));
                    f.write_register(s, sum, i + column + c, j + r, height);
                }
            }
        }
    }
}

impl<T: Element> WriteBack<'_, T> {
    /// Updates `len` elements of row i of C, from column j on, with their sums.
    ///
    /// # Safety
    /// C must have these elements, and the biases must have row i and these columns; len <= S::N.
    #[inline(always)]
    unsafe fn write_register<S: Simd<T = T>>(
        &self,
        s: S,
        sum: S::V,
        i: usize,
        j: usize,
        len: usize,
    ) {
        let (p, inc) = (self.at((i, j)), self.p.c.cs);
        let alpha = s.splat(self.p.alpha);
        let mut c = if self.reads_c() {
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
        if self.has_epilogue {
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

    /// Adds the biases of row i and of `len` columns from j on, and clamps.
    ///
    /// # Safety
    /// The biases must have this row and these columns; len <= S::N.
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

/// Loads `len` elements at `p`, `inc` apart; at most a register of them.
///
/// # Safety
/// `p` must be valid for these elements.
#[inline(always)]
unsafe fn load_any<S: Simd>(s: S, p: *const S::T, inc: isize, len: usize) -> S::V {
    if inc == 1 {
        load(s, p, len)
    } else {
        s.load_strided(p, inc, len)
    }
}
