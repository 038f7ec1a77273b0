//! Tall micro-tiles: MR < m <= 2 MR rows by one register of columns, in one call. Cut into two ordinary micro-tiles,
//! each would have too few independent chains of fma to hide their latency.

use super::markers::{Cached, Masked};
use super::microkernel::{MicrokernelArgs, PanelB, RowPointers, opaque, update_c};
use crate::element::Element;
use crate::simd::Simd;

/// A compiled [`tall`]: takes its arguments, A, B, c, the columns and the rows.
pub type TallFn<T> = unsafe fn(&MicrokernelArgs<T>, *const T, PanelB<T>, *mut T, usize, usize);

/// Computes a micro-tile of `rows` rows, `ROWS` <= `rows` <= 2 `ROWS`, and `columns` <= lanes columns. The first `ROWS`
/// rows and the last `ROWS` rows are two groups; rows that are in both are computed twice.
///
/// # Safety
/// As [`microkernel`](super::microkernel()), for these rows and columns; beta must be 0.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn tall<S: Simd, const ROWS: usize>(
    s: S,
    args: &MicrokernelArgs<S::T>,
    a: *const S::T,
    b: PanelB<S::T>,
    c: *mut S::T,
    columns: usize,
    rows: usize,
) {
    let second = (rows - ROWS) as isize;
    let first_rows = RowPointers::new(a, || opaque(&args.a_rs));
    let mut a = [first_rows, first_rows.offset(second * args.a_rs)];
    let mut bp = b.p;
    let mut acc = [[[s.splat(S::T::ZERO); 1]; ROWS]; 2];
    for _ in 0..args.kc {
        // SAFETY: the caller vouches for the columns of B and the rows of A at each step of k.
        unsafe {
            let row_of_b = s.load_partial(bp, columns);
            for group in 0..2 {
                for i in 0..ROWS {
                    let a = s.splat(*a[group].row(i));
                    acc[group][i][0] = s.fma(a, row_of_b, acc[group][i][0]);
                }
            }
        }
        for rows in &mut a {
            rows.next(args.a_cs);
        }
        bp = bp.wrapping_offset(b.rs);
    }
    let second_c = c.wrapping_offset(second * args.c_rs);
    // SAFETY: the caller vouches for C; beta is 0, so that no row is read after it has been written.
    unsafe {
        update_c::<_, ROWS, 1, Masked, Cached>(s, args, acc[0], c, columns);
        update_c::<_, ROWS, 1, Masked, Cached>(s, args, acc[1], second_c, columns);
    }
}
