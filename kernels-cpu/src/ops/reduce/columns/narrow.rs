//! Few columns: all lanes of all of them are accumulated at once, row after row, so that memory is
//! read in order.

use super::{Fold, Matrix, STEPS, chunk_len, finish, store};
use crate::element::Element;
use crate::simd::Simd;

/// The columns, and the lanes of a chunk, `pitch` elements each.
#[derive(Clone, Copy)]
struct Narrow<T> {
    m: Matrix<T>,
    cols: usize,
    pitch: usize,
    base: *mut T,
}

/// Folds `cols` columns.
///
/// # Safety
/// The matrix must have these rows and columns, `out` as many; `base` must have room for L lanes and
/// the digits of a counter of chunks, each as long as `cols` in whole registers.
#[inline(always)]
pub unsafe fn narrow<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) {
    let lanes = <S::T as Element>::LANES;
    let pitch = cols.div_ceil(S::N) * S::N;
    let narrow = Narrow {
        m,
        cols,
        pitch,
        base,
    };
    let digits = base.wrapping_add(lanes * pitch);
    let chunks = rows.div_ceil(chunk_len::<S::T>());
    // SAFETY: rows and columns lie in the matrix, the lanes and the digits in the work area.
    unsafe {
        for chunk in 0..chunks {
            let from = chunk * chunk_len::<S::T>();
            let count = chunk_len::<S::T>().min(rows - from);
            let mut row = 0;
            while row < count {
                narrow.steps::<S, F>(s, from, row, count - row);
                row += STEPS * lanes;
            }
            narrow.halve::<S, F>(s, count);
            narrow.push::<S, F>(s, chunk, digits);
        }
        for d in (1..chunks.count_ones() as usize).rev() {
            combine_into::<S, F>(s, pitch, digits.add((d - 1) * pitch), digits.add(d * pitch));
        }
        let mut c = 0;
        while c < cols {
            let v = finish::<S, F>(s, s.load(digits.add(c)));
            store(s, out.add(c), cols - c, v);
            c += S::N;
        }
    }
}

impl<T: Element> Narrow<T> {
    /// Halves the lanes of a chunk of `count` rows down to the first.
    ///
    /// # Safety
    /// The lanes that have a row must have been written.
    #[inline(always)]
    unsafe fn halve<S: Simd<T = T>, F: Fold<S>>(self, s: S, count: usize) {
        let mut w = T::LANES / 2;
        while w > 0 {
            let some = w.min(count.saturating_sub(w));
            let upper = self.base.wrapping_add(w * self.pitch);
            // SAFETY: as the caller's.
            unsafe { combine_into::<S, F>(s, some * self.pitch, self.base, upper) };
            w /= 2;
        }
    }

    /// Pushes the first lane, which is the result of chunk number `chunk`, on the tree, a binary counter
    /// of chunks at `digits`.
    ///
    /// # Safety
    /// The digits in use must have been written, and there must be room for one more.
    #[inline(always)]
    unsafe fn push<S: Simd<T = T>, F: Fold<S>>(self, s: S, chunk: usize, digits: *mut T) {
        let Self { base, pitch, .. } = self;
        let (top, carries) = (chunk.count_ones(), chunk.trailing_ones());
        let digit = |down: u32| digits.wrapping_add((top - down) as usize * pitch);
        // SAFETY: as the caller's.
        unsafe {
            for d in 1..=carries {
                combine_into::<S, F>(s, pitch, digit(d), base);
                base.copy_from_nonoverlapping(digit(d), pitch);
            }
            digit(carries).copy_from_nonoverlapping(base, pitch);
        }
    }

    /// Each lane takes up to [`STEPS`] rows of the chunk at `from`, from row `row` on, where `rest`
    /// rows are left.
    ///
    /// # Safety
    /// The rows must lie in the matrix, the lanes in the work area.
    #[inline(always)]
    unsafe fn steps<S: Simd<T = T>, F: Fold<S>>(self, s: S, from: usize, row: usize, rest: usize) {
        for l in 0..T::LANES.min(rest) {
            let steps = (rest - l).div_ceil(T::LANES).min(STEPS);
            let i = from + row + l;
            // SAFETY: the rows lie in the matrix.
            let seconds = unsafe { self.m.seconds::<S, F>(s, i, steps) };
            let mut c = 0;
            while c < self.pitch {
                let acc = self.base.wrapping_add(l * self.pitch + c);
                // SAFETY: the rows lie in the matrix, the lane in the work area; it has been written
                // unless these are its first rows.
                unsafe {
                    let v = if row == 0 {
                        s.splat(F::START)
                    } else {
                        s.load(acc)
                    };
                    let v = self
                        .m
                        .steps::<S, F>(s, v, i, steps, c, self.cols - c, &seconds);
                    s.store(acc, v);
                }
                c += S::N;
            }
        }
    }
}

/// a = combine(a, b) for `len` elements, whole registers.
///
/// # Safety
/// `a` and `b` must be valid for `len` elements in whole registers.
#[inline(always)]
unsafe fn combine_into<S: Simd, F: Fold<S>>(s: S, len: usize, a: *mut S::T, b: *const S::T) {
    let mut c = 0;
    while c < len {
        // SAFETY: the caller vouches for the registers.
        unsafe {
            let (p, q) = (a.add(c), b.add(c));
            s.store(p, F::combine(s, s.load(p), s.load(q)));
        }
        c += S::N;
    }
}
