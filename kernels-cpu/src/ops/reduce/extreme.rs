//! argmin and argmax: the index of the first NaN, else of the first extreme by value.

use super::{Fold, Max, Min, chunk};
use super::{Source, buffer, chunk_len, load};
use crate::element::Element;
use crate::simd::Simd;

/// argmin of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmin<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    // SAFETY: as the caller's.
    unsafe { search::<S, Min>(s, n, Source { p: x, inc: incx }, |a, b| a < b) }
}

/// argmax of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmax<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    // SAFETY: as the caller's.
    unsafe { search::<S, Max>(s, n, Source { p: x, inc: incx }, |a, b| a > b) }
}

/// Finds the first chunk with the extreme of all (or with a NaN), then the place in it: all
/// elements are folded, one chunk is read again. `better` is called once a chunk.
///
/// # Safety
/// `x` must be valid at `n` > 0 elements.
#[inline(always)]
unsafe fn search<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: Source<S::T>,
    better: impl Fn(S::T, S::T) -> bool,
) -> usize {
    let len = chunk_len::<S::T>();
    let zero = s.splat(S::T::ZERO);
    let (mut best, mut best_from) = (F::START, 0);
    let mut buffer = buffer();
    let mut from = 0;
    while from < n {
        let count = len.min(n - from);
        // SAFETY: the chunk lies in 0..n.
        let extreme = unsafe {
            let part = x.contiguous(from, count, &mut buffer);
            s.first(chunk::<S, F>(s, count, part, part, zero))
        };
        if extreme.is_nan() || better(extreme, best) {
            (best, best_from) = (extreme, from);
        }
        if extreme.is_nan() {
            break;
        }
        from += count;
    }
    let count = len.min(n - best_from);
    // SAFETY: the chunk lies in 0..n.
    best_from + unsafe { first(s, count, x.contiguous(best_from, count, &mut buffer), best) }
}

/// The first element equal to `value`, or the first NaN where it is one; 0 where there is none.
///
/// # Safety
/// `x` must be valid for `n` elements.
#[inline(always)]
unsafe fn first<S: Simd>(s: S, n: usize, x: *const S::T, value: S::T) -> usize {
    // SAFETY: as the caller's.
    unsafe {
        if value.is_nan() {
            first_hit::<S, true>(s, n, x, value)
        } else {
            first_hit::<S, false>(s, n, x, value)
        }
    }
}

/// As [`first`], for a NaN or for none.
///
/// # Safety
/// As [`first`].
#[inline(always)]
unsafe fn first_hit<S: Simd, const NAN: bool>(
    s: S,
    n: usize,
    x: *const S::T,
    value: S::T,
) -> usize {
    /// Registers that are looked at before a branch.
    const UNROLL: usize = 4;
    let wanted = s.splat(value);
    let mut i = 0;
    // SAFETY: every access lies in 0..n.
    unsafe {
        while i + UNROLL * S::N <= n {
            let mut hits = [0; UNROLL];
            for (r, slot) in hits.iter_mut().enumerate() {
                *slot = hit::<S, NAN>(s, s.load(x.add(i + r * S::N)), wanted);
            }
            if hits.iter().fold(0, |all, bits| all | bits) != 0 {
                break;
            }
            i += UNROLL * S::N;
        }
        while i < n {
            let len = (n - i).min(S::N);
            let hits = hit::<S, NAN>(s, load(s, x.add(i), len), wanted);
            let hits = hits & s.bits(s.first_lanes(len));
            if hits != 0 {
                return i + hits.trailing_zeros() as usize;
            }
            i += len;
        }
    }
    0
}

/// A bit for each lane that is wanted.
#[inline(always)]
fn hit<S: Simd, const NAN: bool>(s: S, v: S::V, wanted: S::V) -> u32 {
    s.bits(if NAN {
        s.unordered(v, v)
    } else {
        s.eq(v, wanted)
    })
}

/// out\[i * inc_out\] = the index of the first element of row i that is equal to `values\[i\]`, or of the
/// first NaN where that is one. Rows are contiguous.
///
/// # Safety
/// `x` must be valid at `rows` by `n` elements, `values` for `rows`, `out` at `rows`.
#[inline(always)]
pub unsafe fn first_in_rows<S: Simd>(
    s: S,
    rows: usize,
    n: usize,
    x: *const S::T,
    inc: isize,
    values: *const S::T,
    out: *mut i64,
    inc_out: isize,
) {
    for i in 0..rows {
        let p = x.wrapping_offset(i as isize * inc);
        // SAFETY: the caller vouches for the row, its value and its place in `out`.
        unsafe {
            let place = first(s, n, p, *values.add(i));
            out.wrapping_offset(i as isize * inc_out)
                .write(place as i64);
        }
    }
}

/// The extremes of columns, where they first are, and what tells NaN: an element of each per column,
/// with room for whole registers.
#[derive(Clone, Copy)]
pub struct Found<T> {
    /// The extreme.
    pub values: *mut T,
    /// The row, as an element.
    pub places: *mut T,
    /// NaN if an element is, and perhaps without one: then the other two do not count.
    pub suspects: *mut T,
}

/// The first least elements by value of columns 0..cols.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, the arrays of `found` for `cols` rounded up to
/// whole registers; `rows` must be exact as an element.
#[inline(always)]
pub unsafe fn argmin_columns<S: Simd>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    found: Found<S::T>,
) {
    // SAFETY: as the caller's.
    unsafe { search_columns::<S, false>(s, rows, cols, x, inc, found) }
}

/// The first greatest elements by value of columns 0..cols.
///
/// # Safety
/// As [`argmin_columns`].
#[inline(always)]
pub unsafe fn argmax_columns<S: Simd>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    found: Found<S::T>,
) {
    // SAFETY: as the caller's.
    unsafe { search_columns::<S, true>(s, rows, cols, x, inc, found) }
}

/// # Safety
/// As [`argmin_columns`].
#[inline(always)]
unsafe fn search_columns<S: Simd, const GREATEST: bool>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    found: Found<S::T>,
) {
    let mut i = 0;
    while i < rows {
        let row = x.wrapping_offset(i as isize * inc);
        // SAFETY: the rows lie in the matrix.
        unsafe {
            i += if rows - i >= 8 {
                search_rows::<S, GREATEST, 8>(s, i, cols, row, inc, found)
            } else {
                search_rows::<S, GREATEST, 1>(s, i, cols, row, inc, found)
            };
        }
    }
}

/// Goes on with `ROWS` rows from row i, at `row`; returns how many those are.
///
/// # Safety
/// As [`argmin_columns`], for rows that lie in the matrix.
#[inline(always)]
unsafe fn search_rows<S: Simd, const GREATEST: bool, const ROWS: usize>(
    s: S,
    i: usize,
    cols: usize,
    row: *const S::T,
    inc: isize,
    found: Found<S::T>,
) -> usize {
    let start = if GREATEST {
        S::T::NEG_INFINITY
    } else {
        S::T::INFINITY
    };
    let mut c = 0;
    while c < cols {
        // SAFETY: these columns lie in the matrix; the arrays have whole registers.
        unsafe {
            let (mut best, mut place, mut suspect) = if i == 0 {
                let zero = s.splat(S::T::ZERO);
                (s.splat(start), zero, zero)
            } else {
                (
                    s.load(found.values.add(c)),
                    s.load(found.places.add(c)),
                    s.load(found.suspects.add(c)),
                )
            };
            for r in 0..ROWS {
                let p = row.wrapping_offset(r as isize * inc).wrapping_add(c);
                let x = load(s, p, cols - c);
                let stays = if GREATEST {
                    s.le(x, best)
                } else {
                    s.le(best, x)
                };
                best = s.select(stays, best, x);
                place = s.select(stays, place, s.splat(S::T::from_count(i + r)));
                suspect = s.mark(suspect, x);
            }
            s.store(found.values.add(c), best);
            s.store(found.places.add(c), place);
            s.store(found.suspects.add(c), suspect);
        }
        c += S::N;
    }
    ROWS
}
