//! Tall micro-tiles: MR < m <= 2 MR rows by one register of columns, in one call. Cut into two ordinary micro-tiles,
//! each would have too few independent chains of fma to hide their latency.

use super::Gemm;
use super::in_place::args;
use super::markers::{Cached, Masked};
use super::microkernel::{RowPointers, opaque, update_c};
use crate::element::Element;
use crate::simd::Simd;

/// A compiled [`tall`].
pub type TallFn<T> = unsafe fn(&Gemm<T>);

/// Computes a product of m rows, `ROWS` <= m <= 2 `ROWS`, and n <= lanes columns. The first `ROWS` rows and the last
/// `ROWS` rows are two groups; rows that are in both are computed twice.
///
/// # Safety
/// As [`in_place`](super::in_place()); beta must be 0.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn tall<S: Simd, const ROWS: usize>(s: S, p: &Gemm<S::T>) {
    let args = args(p);
    let second = (p.m - ROWS) as isize;
    let first_rows = RowPointers::new(p.a, || opaque(&args.a_rs));
    let mut a = [first_rows, first_rows.offset(second * p.a_rs)];
    let mut b = p.b;
    let mut acc = [[[s.splat(S::T::ZERO); 1]; ROWS]; 2];
    for _ in 0..p.k {
        // SAFETY: the caller vouches for the n columns of B and the rows of A at each step of k.
        unsafe {
            let row_of_b = s.load_partial(b, p.n);
            for group in 0..2 {
                for i in 0..ROWS {
                    let a = s.splat(*a[group].row(i));
                    acc[group][i][0] = s.fma(a, row_of_b, acc[group][i][0]);
                }
            }
        }
        for rows in &mut a {
            rows.next(p.a_cs);
        }
        b = b.wrapping_offset(p.b_rs);
    }
    let c = p.c.wrapping_offset(second * p.c_rs);
    // SAFETY: the caller vouches for C; beta is 0, so that no row is read after it has been written.
    unsafe {
        update_c::<_, ROWS, 1, Masked, Cached>(s, &args, acc[0], p.c, p.n);
        update_c::<_, ROWS, 1, Masked, Cached>(s, &args, acc[1], c, p.n);
    }
}
