//! Matrix-vector products: the dot products of rows with one vector.

use super::halving::{MAX_LANES, halve_all, halve_registers};
use super::rows::rows;
use super::{Dot, Sum, chunk_len, finish};
use crate::array::from_fn;
use crate::detect::l2_bytes;
use crate::element::Element;
use crate::ops::load;
use crate::simd::Simd;

/// Rows that are folded together, so that the vector is loaded once for both.
const GROUP: usize = 2;

/// Writes the dot product of row i with y to out\[i\]: [`rows`] of [`Dot`].
///
/// # Safety
/// As [`rows`].
#[inline(always)]
pub unsafe fn dot_rows<S: Simd>(
    s: S,
    count: usize,
    n: usize,
    x: *const S::T,
    inc: isize,
    y: *const S::T,
    incy: isize,
    param: *const S::T,
    out: *mut S::T,
    prefetch: bool,
) {
    let mut done = 0;
    // The lanes of a group must leave registers for other values. Short rows have their own loop, in `rows`.
    // A matrix larger than L2 is read row by row: the LLC and memory are fastest for a single stream.
    let is_in_l2 = count.saturating_mul(n) <= l2_bytes() / size_of::<S::T>();
    let in_groups = S::R <= 4 && S::N >= GROUP && incy == 1 && is_in_l2;
    if in_groups && n > <S::T as Element>::LANES && n <= chunk_len::<S::T>() {
        while done + S::N <= count {
            // SAFETY: rows done..done + N are the caller's.
            unsafe {
                let dots = dots_of_n::<S>(s, n, x.wrapping_offset(done as isize * inc), inc, y);
                s.store(out.add(done), finish::<S, Dot>(s, dots));
            }
            done += S::N;
        }
    }
    // SAFETY: the other rows.
    unsafe {
        let x = x.wrapping_offset(done as isize * inc);
        rows::<S, Dot>(
            s,
            count - done,
            n,
            x,
            inc,
            y,
            incy,
            param,
            out.wrapping_add(done),
            prefetch,
        );
    }
}

/// Returns the dot products of N rows.
///
/// # Safety
/// The N rows, and y, must be valid for `n` elements.
#[inline(always)]
unsafe fn dots_of_n<S: Simd>(s: S, n: usize, x: *const S::T, inc: isize, y: *const S::T) -> S::V {
    let mut leaves = [s.splat(S::T::ZERO); MAX_LANES];
    for from in (0..S::N).step_by(GROUP) {
        let row = |q: usize| x.wrapping_offset((from + q) as isize * inc);
        let group = dots_of_two::<S>(s, n, [row(0), row(1)], y);
        for (q, &leaf) in group.iter().enumerate() {
            leaves[s.unzip_slot(from + q) % MAX_LANES] = leaf;
        }
    }
    halve_all::<S, Sum>(s, leaves)
}

/// Returns the lanes of the dot products of a group, halved to one register for each row.
///
/// # Safety
/// The rows, and y, must be valid for `n` elements.
#[inline(always)]
unsafe fn dots_of_two<S: Simd>(
    s: S,
    n: usize,
    rows: [*const S::T; GROUP],
    y: *const S::T,
) -> [S::V; GROUP] {
    let zero = s.splat(S::T::ZERO);
    let mut lanes = [s.lanes(zero); GROUP];
    let mut j = 0;
    // SAFETY: columns j..j + len lie in the rows and in y.
    unsafe {
        while j + <S::T as Element>::LANES <= n {
            for r in 0..S::R {
                let y = s.load(y.add(j));
                for (row, lanes) in rows.iter().zip(&mut lanes) {
                    if let Some(slot) = lanes.as_mut().get_mut(r) {
                        *slot = s.fma(s.load(row.wrapping_add(j)), y, *slot);
                    }
                }
                j += S::N;
            }
        }
        for r in 0..S::R {
            if j < n {
                let len = S::N.min(n - j);
                let y = load(s, y.add(j), len);
                for (row, lanes) in rows.iter().zip(&mut lanes) {
                    if let Some(slot) = lanes.as_mut().get_mut(r) {
                        *slot = s.fma(load(s, row.wrapping_add(j), len), y, *slot);
                    }
                }
                j += len;
            }
        }
    }
    from_fn(|q| halve_registers::<S, Sum>(s, lanes[q], n))
}
