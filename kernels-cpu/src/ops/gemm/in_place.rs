//! The short way: products of one segment, from matrices in place to C. Of the five loops these are the last two, in
//! the other order: nothing is packed, so a row of micro-tiles after the other finds A in L1.

use super::Gemm;
use super::microkernel::{MicrokernelArgs, PanelB, Update};
use super::microkernels::{MicrokernelFn, Microkernels, Variant};
use super::params;
use super::prefetch::NextProduct;
use super::widths::next;
use crate::element::Element;

/// As [`in_place`], where C has no more rows and columns than a micro-tile of one register.
///
/// # Safety
/// As [`in_place`]; m and n within a micro-tile of one register, and not 0.
#[inline(always)]
pub unsafe fn single<T: Element>(all: &Microkernels<T>, p: &Gemm<T>) {
    // SAFETY: as the caller's.
    unsafe {
        let (run, last) = all.get(p.m, p.n);
        run(&args(p), p.a, PanelB { p: p.b, rs: p.b_rs }, p.c, last);
    }
}

/// The arguments that all microkernels of a product have in common.
#[inline(always)]
fn args<T: Element>(p: &Gemm<T>) -> MicrokernelArgs<T> {
    MicrokernelArgs {
        kc: p.k,
        a_rs: p.a_rs,
        a_cs: p.a_cs,
        c_rs: p.c_rs,
        prefetch_stride: params::LINE as isize,
        packed: core::ptr::null_mut(),
        update: Update::new(p.alpha, p.beta),
        alpha: p.alpha,
        beta: p.beta,
    }
}

/// Runs a product of one segment whose matrices are read in place: rows of B and C contiguous; alpha and
/// k not 0, k at most [`KSEG`](params::KSEG); no bias, no clamp.
///
/// # Safety
/// The machine must have the microkernels' level; the matrices must be valid, and C apart from A and B.
#[inline(always)]
pub unsafe fn in_place<T: Element>(all: &Microkernels<T>, p: &Gemm<T>) {
    // SAFETY: as the caller's.
    unsafe { each_micro_tile(all, p, |mr, nr| all.get(mr, nr)) }
}

/// As [`in_place`], while the matrices of the product after it are prefetched.
///
/// # Safety
/// As [`in_place`]; nothing is asked of the product after it.
#[inline(always)]
pub unsafe fn in_place_before<T: Element>(all: &Microkernels<T>, p: &Gemm<T>, after: &Gemm<T>) {
    let mut lines = NextProduct::new(p, after);
    // SAFETY: as the caller's.
    unsafe {
        each_micro_tile(all, p, |mr, nr| {
            let prefetching = all.largest(Variant::Prefetch, (mr, nr));
            let with_line = prefetching.and_then(|run| Some((run, lines.take(p.k)?)));
            with_line.unwrap_or_else(|| all.get(mr, nr))
        });
    }
}

/// The micro-tiles of a product, each with the microkernel of `choose` and its last argument.
///
/// # Safety
/// As [`in_place`]; `choose` must give a microkernel for the MR and NR.
#[inline(always)]
unsafe fn each_micro_tile<T: Element>(
    all: &Microkernels<T>,
    p: &Gemm<T>,
    mut choose: impl FnMut(usize, usize) -> (MicrokernelFn<T>, usize),
) {
    let (most, widths) = all.sizes(p.n);
    let args = args(p);
    let mut i = 0;
    while i < p.m {
        let mr = next(p.m - i, most);
        let a = p.a.wrapping_offset(i as isize * p.a_rs);
        let row = p.c.wrapping_offset(i as isize * p.c_rs);
        let mut j = 0;
        while j < p.n {
            let nr = widths.next(p.n - j);
            let b = PanelB {
                p: p.b.wrapping_add(j),
                rs: p.b_rs,
            };
            let (run, last) = choose(mr, nr);
            // SAFETY: mr and nr are within the microkernels'; the caller vouches for the matrices.
            unsafe { run(&args, a, b, row.wrapping_add(j), last) };
            j += nr;
        }
        i += mr;
    }
}
