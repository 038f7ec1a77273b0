//! argmin and argmax: the index of the first NaN, else of the first extreme by value (-0 equals +0).

mod columns;

pub use columns::{argmax_columns, argmin_columns};

use core::marker::PhantomData;

use super::chunk::chunk;
use super::source::{Source, buffer};
use super::streams::{self, CHUNKS, two_streams};
use super::{Fold, Max, Min, chunk_len};
use crate::detect::is_from_memory;
use crate::element::Element;
use crate::ops::load;
use crate::simd::{Outlined, Simd};

/// Returns argmin of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmin<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    search::<S, Min>(s, n, Source { p: x, inc: incx }, |a, b| a < b)
}

/// Returns argmax of n > 0 elements.
///
/// # Safety
/// `x` must be valid at `n` elements of its stride.
#[inline(always)]
pub unsafe fn argmax<S: Simd>(s: S, n: usize, x: *const S::T, incx: isize) -> usize {
    search::<S, Max>(s, n, Source { p: x, inc: incx }, |a, b| a > b)
}

/// Returns the index of the first NaN, else of the first extreme, of `n` > 0 elements. `better` compares the results of
/// chunks.
///
/// # Safety
/// `x` must be valid at `n` elements.
#[inline(always)]
unsafe fn search<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: Source<S::T>,
    better: impl Fn(S::T, S::T) -> bool,
) -> usize {
    if x.inc == 1 && n <= chunk_len::<S::T>() {
        let extreme = chunk::<S, F>(s, n, x.p, x.p, s.splat(S::T::ZERO));
        return first_match::<S, F>(s, n, x.p, s.first(extreme.as_ref()[0]));
    }
    s.outlined(Search {
        n,
        x,
        better,
        fold: PhantomData::<F>,
    })
}

/// A search through a vector of any length and stride.
struct Search<T, F, B> {
    n: usize,
    x: Source<T>,
    better: B,
    fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>, B: Fn(S::T, S::T) -> bool> Outlined<S> for Search<S::T, F, B> {
    type Output = usize;

    /// Finds the first chunk that has the extreme of all elements, or a NaN, and then the index in it. All elements are
    /// folded once, and only that chunk is read again.
    ///
    /// # Safety
    /// As [`search`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> usize {
        let Self { n, x, better, .. } = self;
        let len = chunk_len::<S::T>();
        let zero = s.splat(S::T::ZERO);
        let (mut best, mut best_from) = (F::START, 0);
        let mut buffer = buffer();
        let buffer = buffer.as_mut_ptr().cast();
        let from_memory = is_from_memory::<S::T>(n);
        let mut from = 0;
        if streams::pays::<S, F>(n, x.inc) {
            while n - from >= CHUNKS * len && !best.is_nan() {
                // SAFETY: the chunks lie in 0..n.
                let [extremes, _] = unsafe { two_streams::<S, F>(s, x.skip(from).p, S::T::ZERO) };
                for (c, extreme) in extremes.into_iter().enumerate() {
                    if !best.is_nan() && (extreme.is_nan() || better(extreme, best)) {
                        (best, best_from) = (extreme, from + c * len);
                    }
                }
                from += CHUNKS * len;
            }
        }
        while from < n && !best.is_nan() {
            let count = len.min(n - from);
            if from_memory {
                x.prefetch(s, from);
            }
            // SAFETY: the chunk lies in 0..n.
            let extreme = unsafe {
                let part = x.contiguous(from, count, buffer);
                s.first(chunk::<S, F>(s, count, part, part, zero).as_ref()[0])
            };
            if extreme.is_nan() || better(extreme, best) {
                (best, best_from) = (extreme, from);
            }
            from += count;
        }
        let count = len.min(n - best_from);
        // SAFETY: the chunk lies in 0..n.
        best_from
            + unsafe { first_match::<S, F>(s, count, x.contiguous(best_from, count, buffer), best) }
    }
}

/// Returns the index of the first element equal to `value`, which is the extreme of all elements, or of the first NaN
/// if `value` is NaN; 0 if there is none.
///
/// # Safety
/// `x` must be valid for `n` elements.
#[inline(always)]
unsafe fn first_match<S: Simd, F: Fold<S>>(s: S, n: usize, x: *const S::T, value: S::T) -> usize {
    /// Registers whose common extreme is compared with `value` at once: comparing one register takes as long as folding
    /// two.
    const UNROLL: usize = 8;
    // SAFETY: every access lies in 0..n.
    unsafe {
        if value.is_nan() {
            return first_match_from::<S, true>(s, 0, n, x, value);
        }
        let target = s.splat(value);
        let mut i = 0;
        while i + UNROLL * S::N <= n {
            let mut extreme = s.load(x.add(i));
            for r in 1..UNROLL {
                extreme =
                    <F::NonzeroResult as Fold<S>>::combine(s, s.load(x.add(i + r * S::N)), extreme);
            }
            if matches::<S, false>(s, extreme, target) != 0 {
                break;
            }
            i += UNROLL * S::N;
        }
        first_match_from::<S, false>(s, i, n, x, value)
    }
}

/// Returns the index of the first match of `value` from element `from` on; `NAN` says whether `value` is NaN.
///
/// # Safety
/// As [`first_match`].
#[inline(always)]
unsafe fn first_match_from<S: Simd, const NAN: bool>(
    s: S,
    from: usize,
    n: usize,
    x: *const S::T,
    value: S::T,
) -> usize {
    /// Registers that are compared before a branch; their lanes must fit the bits of a `u64`.
    const UNROLL: usize = 4;
    let target = s.splat(value);
    let mut i = from;
    // SAFETY: every access lies in 0..n.
    unsafe {
        while i + UNROLL * S::N <= n {
            let mut matched = [0; UNROLL];
            for (r, slot) in matched.iter_mut().enumerate() {
                *slot = matches::<S, NAN>(s, s.load(x.add(i + r * S::N)), target);
            }
            if matched.iter().fold(0, |any, bits| any | bits) != 0 {
                let all = matched.iter().rev();
                let lanes = all.fold(0, |lanes, &bits| lanes << S::N | u64::from(bits));
                return i + lanes.trailing_zeros() as usize;
            }
            i += UNROLL * S::N;
        }
        while i < n {
            let len = (n - i).min(S::N);
            let matched = matches::<S, NAN>(s, load(s, x.add(i), len), target);
            let matched = matched & s.bits(s.first_lanes(len));
            if matched != 0 {
                return i + matched.trailing_zeros() as usize;
            }
            i += len;
        }
    }
    0
}

/// Returns a bit for each lane that is equal to `target` or, with `NAN`, is NaN.
#[inline(always)]
fn matches<S: Simd, const NAN: bool>(s: S, v: S::V, target: S::V) -> u32 {
    s.bits(if NAN {
        s.unordered(v, v)
    } else {
        s.eq(v, target)
    })
}

/// Writes the index of the first element of row i that equals `values\[i\]`, or of the first NaN if that is NaN, to
/// out\[i * inc_out\]. Rows are contiguous.
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
    // SAFETY: as the caller's.
    unsafe {
        match n.div_ceil(S::N) {
            1 => return first_in_short::<S, 1>(s, rows, n, x, inc, values, out, inc_out),
            2 => return first_in_short::<S, 2>(s, rows, n, x, inc, values, out, inc_out),
            3 => return first_in_short::<S, 3>(s, rows, n, x, inc, values, out, inc_out),
            4 => return first_in_short::<S, 4>(s, rows, n, x, inc, values, out, inc_out),
            _ => {}
        }
    }
    for i in 0..rows {
        let p = x.wrapping_offset(i as isize * inc);
        // SAFETY: the caller vouches for the row, its value and its element of `out`.
        unsafe {
            let value = *values.add(i);
            let index = if value.is_nan() {
                first_match_from::<S, true>(s, 0, n, p, value)
            } else {
                first_match_from::<S, false>(s, 0, n, p, value)
            };
            out.wrapping_offset(i as isize * inc_out)
                .write(index as i64);
        }
    }
}

/// [`first_in_rows`] for rows of `REGS` registers, the last of which may be partial. Does not branch on the index,
/// because that would be unpredictable.
///
/// # Safety
/// As [`first_in_rows`], for rows of `REGS` registers; each row must contain its value.
#[inline(always)]
unsafe fn first_in_short<S: Simd, const REGS: usize>(
    s: S,
    rows: usize,
    n: usize,
    x: *const S::T,
    inc: isize,
    values: *const S::T,
    out: *mut i64,
    inc_out: isize,
) {
    let rest = n - (REGS - 1) * S::N;
    let last = s.bits(s.first_lanes(rest));
    for i in 0..rows {
        let p = x.wrapping_offset(i as isize * inc);
        // SAFETY: the caller vouches for the row, its value and its element of `out`.
        unsafe {
            let value = *values.add(i);
            let target = s.splat(value);
            let mut matched = 0u64;
            for r in 0..REGS {
                let len = if r + 1 == REGS { rest } else { S::N };
                let v = load(s, p.add(r * S::N), len);
                let bits = if value.is_nan() {
                    matches::<S, true>(s, v, target)
                } else {
                    matches::<S, false>(s, v, target)
                };
                let bits = if r + 1 == REGS { bits & last } else { bits };
                matched |= u64::from(bits) << (r * S::N);
            }
            out.wrapping_offset(i as isize * inc_out)
                .write(i64::from(matched.trailing_zeros()));
        }
    }
}
