//! From the sums of a segment to C.

use super::Gemm;
use super::tile::Target;
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

/// How the tiles of one segment go to C.
pub struct Flush<'a, S: Simd> {
    p: &'a Gemm<S::T>,
    mode: Mode,
    /// Whether bias and clamp follow.
    last: bool,
}

impl<'a, S: Simd> Flush<'a, S> {
    #[inline(always)]
    pub fn new(p: &'a Gemm<S::T>, first: bool, last: bool) -> Self {
        let mode = match (first, p.beta == S::T::ZERO) {
            (false, _) => Mode::Accumulate,
            (true, true) => Mode::Set,
            (true, false) if p.k == 0 => Mode::Scale,
            (true, false) => Mode::Blend,
        };
        Self {
            p,
            mode,
            last: last && p.epilogue.is_some(),
        }
    }

    #[inline(always)]
    fn at(&self, i: usize, j: usize) -> *mut S::T {
        self.p
            .c
            .wrapping_offset(i as isize * self.p.c_rs + j as isize * self.p.c_cs)
    }

    /// How a tile of `width` columns at (i, j) can go to C by itself; `None` where its sums must
    /// come through [`Flush::any`].
    #[inline(always)]
    pub fn direct(
        &self,
        (i, j): (usize, usize),
        width: usize,
    ) -> Option<(Target, *mut S::T, isize)> {
        let target = match self.mode {
            Mode::Set => Target::Set,
            Mode::Accumulate => Target::Accumulate,
            Mode::Blend | Mode::Scale => return None,
        };
        let whole = width.is_multiple_of(S::N) && self.p.c_cs == 1 && !self.last;
        whole.then(|| (target, self.at(i, j), self.p.c_rs))
    }

    /// Takes the sums of `rows` rows of whole registers to the tile of `width` columns at (i, j), in
    /// every mode, for every width and stride.
    ///
    /// # Safety
    /// The tile must lie in C.
    #[inline(always)]
    pub unsafe fn any(
        &self,
        s: S,
        sums: *const S::T,
        rows: usize,
        (i, j): (usize, usize),
        width: usize,
    ) {
        let padded = width.div_ceil(S::N) * S::N;
        for r in 0..rows {
            let mut column = 0;
            while column < width {
                let len = S::N.min(width - column);
                // SAFETY: the sums are there, and these columns of row r lie in C.
                unsafe {
                    let sum = s.load(sums.add(r * padded + column));
                    self.register(s, sum, i + r, j + column, len);
                }
                column += S::N;
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
        let (alpha, beta) = (s.splat(self.p.alpha), s.splat(self.p.beta));
        c = match self.mode {
            Mode::Set => s.mul(alpha, sum),
            Mode::Blend => s.fma(alpha, sum, s.mul(beta, c)),
            Mode::Accumulate => s.fma(alpha, sum, c),
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
                c = s.add(
                    c,
                    s.splat(*e.row_bias.wrapping_offset(i as isize * e.row_inc)),
                );
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
