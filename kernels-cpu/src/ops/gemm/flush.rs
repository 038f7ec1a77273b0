//! From the sums of a segment to C.

use core::mem::MaybeUninit;

use super::Gemm;
use crate::element::Element;
use crate::scalar;
use crate::simd::Simd;

/// What a segment's sum s does to c.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// c = alpha s; C is not read.
    Set,
    /// c = fma(alpha, s, beta c).
    Blend,
    /// c = fma(alpha, s, c).
    Accumulate,
    /// c = beta c.
    Scale,
}

/// The sums of a tile on their way through memory.
pub type Sums<S> = [MaybeUninit<<S as Simd>::V>; MAX_REGISTERS];
/// Registers of the largest tile.
pub const MAX_REGISTERS: usize = 24;

/// How the tiles of one segment go to C.
pub struct Flush<'a, S: Simd> {
    p: &'a Gemm<S::T>,
    mode: Mode,
    alpha: S::V,
    /// Whether bias and clamp follow.
    last: bool,
}

impl<'a, S: Simd> Flush<'a, S> {
    #[inline(always)]
    pub fn new(s: S, p: &'a Gemm<S::T>, first: bool, last: bool) -> Self {
        let mode = match (first, p.beta == S::T::ZERO) {
            (false, _) => Mode::Accumulate,
            (true, true) => Mode::Set,
            (true, false) if p.k == 0 => Mode::Scale,
            (true, false) => Mode::Blend,
        };
        Self { p, mode, alpha: s.splat(p.alpha), last: last && p.epilogue.is_some() }
    }

    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> *mut S::T {
        self.p.c.wrapping_offset(i as isize * self.p.c_rs + j as isize * self.p.c_cs)
    }

    /// Hints at the rows of a tile.
    #[inline(always)]
    pub fn prefetch(&self, s: S, (i, j): (usize, usize), rows: usize) {
        for r in 0..rows {
            s.prefetch(self.at(i + r, j));
        }
    }

    /// Takes the sums `acc` of the whole tile at (i, j) to C; false where [`Flush::any`] must.
    ///
    /// # Safety
    /// The tile must lie in C.
    #[inline(always)]
    pub unsafe fn whole<const MR: usize, const NV: usize>(
        &self,
        s: S,
        acc: &[[S::V; NV]; MR],
        (i, j): (usize, usize),
    ) -> bool {
        if self.p.c_cs != 1 || self.last {
            return false;
        }
        for (r, row) in acc.iter().enumerate() {
            let c = self.at(i + r, j);
            for (v, &sum) in row.iter().enumerate() {
                let p = c.wrapping_add(v * S::N);
                // SAFETY: row r and its registers lie in C.
                unsafe {
                    match self.mode {
                        Mode::Set => s.store(p, s.mul(self.alpha, sum)),
                        Mode::Accumulate => s.store(p, s.fma(self.alpha, sum, s.load(p))),
                        _ => return false,
                    }
                }
            }
        }
        true
    }

    /// Takes `rows` by `vectors` sums to C, in every mode, for every width and stride.
    ///
    /// # Safety
    /// The tile must lie in C.
    #[inline(always)]
    pub unsafe fn any(
        &self,
        s: S,
        sums: &Sums<S>,
        (rows, vectors): (usize, usize),
        (i, j): (usize, usize),
        width: usize,
    ) {
        for r in 0..rows {
            for v in 0..vectors {
                let column = v * S::N;
                let len = S::N.min(width - column);
                // SAFETY: the tile has written rows by vectors registers; these columns of row r lie in C.
                unsafe {
                    let sum = sums.get_unchecked(r * vectors + v).assume_init();
                    self.register(s, sum, i + r, j + column, len);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn register(&self, s: S, sum: S::V, i: usize, j: usize, len: usize) {
        let (p, inc) = (self.at(i, j), self.p.c_cs);
        let mut c = s.splat(S::T::ZERO);
        if self.mode != Mode::Set {
            // SAFETY: the caller vouches for these elements of C.
            c = unsafe { load(s, p, inc, len) };
        }
        let beta = s.splat(self.p.beta);
        c = match self.mode {
            Mode::Set => s.mul(self.alpha, sum),
            Mode::Blend => s.fma(self.alpha, sum, s.mul(beta, c)),
            Mode::Accumulate => s.fma(self.alpha, sum, c),
            Mode::Scale => s.mul(beta, c),
        };
        if self.last {
            // SAFETY: the caller vouches for row i and these columns.
            c = unsafe { self.epilogue(s, c, i, j, len) };
        }
        // SAFETY: the caller vouches for these elements of C.
        unsafe {
            if inc != 1 {
                s.store_strided(p, inc, len, c);
            } else if len == S::N {
                s.store(p, c);
            } else {
                s.store_partial(p, len, c);
            }
        }
    }

    #[inline(always)]
    unsafe fn epilogue(&self, s: S, mut c: S::V, i: usize, j: usize, len: usize) -> S::V {
        let e = &self.p.epilogue;
        // SAFETY: the caller vouches for a bias per row or column.
        unsafe {
            if !e.row_bias.is_null() {
                c = s.add(c, s.splat(*e.row_bias.wrapping_offset(i as isize * e.row_inc)));
            }
            if !e.column_bias.is_null() {
                let bias = e.column_bias.wrapping_offset(j as isize * e.column_inc);
                c = s.add(c, load(s, bias, e.column_inc, len));
            }
        }
        match e.clamp {
            Some((lo, hi)) if lo.is_nan() || hi.is_nan() => s.splat(S::T::CANONICAL_NAN),
            Some((lo, hi)) => scalar::clamp(s, c, s.splat(lo), s.splat(hi)),
            None => c,
        }
    }
}

#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, inc: isize, len: usize) -> S::V {
    // SAFETY: the caller vouches for `len` elements.
    unsafe {
        if inc != 1 {
            s.load_strided(p, inc, len)
        } else if len == S::N {
            s.load(p)
        } else {
            s.load_partial(p, len)
        }
    }
}
