//! The short path: products that are one segment of k and pack nothing. It needs only the two innermost of the five
//! loops, in the opposite order: all micro-tiles of a row in turn, so that their rows of A stay in L1.

use super::Gemm;
use super::microkernel::{MicrokernelArgs, PanelB, Update};
use super::microkernels::{MicrokernelFn, Microkernels, Variant};
use super::params;
use super::prefetch::NextProduct;
use super::widths::balanced_step;
use crate::element::Element;

/// Runs a product whose C is a single micro-tile of at most one register in a row.
///
/// # Safety
/// As [`in_place`]; 0 < m <= MR, 0 < n <= lanes.
#[inline(always)]
pub unsafe fn single<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) {
    let (run, last) = microkernels.get(p.m, p.n);
    let b = PanelB::in_place(&p.b, 0);
    run(&args(p), p.a.ptr, b, p.c.ptr, last);
}

/// The arguments that all micro-tiles of a product share.
#[inline(always)]
fn args<T: Element>(p: &Gemm<T>) -> MicrokernelArgs<T> {
    MicrokernelArgs {
        kc: p.k,
        a_rs: p.a.rs,
        a_cs: p.a.cs,
        c_rs: p.c.rs,
        prefetch_stride: params::LINE as isize,
        packed: core::ptr::null_mut(),
        update: Update::new(p.alpha, p.beta),
        alpha: p.alpha,
        beta: p.beta,
    }
}

/// Runs a product of one segment on matrices in place. It must have contiguous rows of B and C, alpha other than 0,
/// 0 < k <= [`KSEG`](params::KSEG), no bias and no clamp.
///
/// # Safety
/// The machine must have the microkernels' level; the matrices must be valid, and C must not overlap A or B.
#[inline(always)]
pub unsafe fn in_place<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) {
    if p.beta == T::ZERO
        && let Some(run) = microkernels.tall(p.m, p.n)
    {
        let b = PanelB::in_place(&p.b, 0);
        return run(&args(p), p.a.ptr, b, p.c.ptr, p.n, p.m);
    }
    each_micro_tile(microkernels, p, |mr, nr| microkernels.get(mr, nr))
}

/// Runs a product in place, and prefetches the matrices of the next one, `after`.
///
/// # Safety
/// As [`in_place`]; the matrices of `after` need not be valid.
#[inline(always)]
pub unsafe fn in_place_prefetching_next<T: Element>(
    microkernels: &Microkernels<T>,
    p: &Gemm<T>,
    after: &Gemm<T>,
) {
    let mut lines = NextProduct::new(p, after);
    each_micro_tile(microkernels, p, |mr, nr| {
        let prefetching = microkernels.largest(Variant::Prefetch, (mr, nr));
        let with_line = prefetching.and_then(|run| Some((run, lines.take_lines(p.k)?)));
        with_line.unwrap_or_else(|| microkernels.get(mr, nr))
    });
}

/// Runs all micro-tiles of a product. `choose` gives, for (MR, NR), the microkernel and its last argument.
///
/// # Safety
/// As [`in_place`]; `choose` must give a microkernel for the MR and NR.
#[inline(always)]
unsafe fn each_micro_tile<T: Element>(
    microkernels: &Microkernels<T>,
    p: &Gemm<T>,
    mut choose: impl FnMut(usize, usize) -> (MicrokernelFn<T>, usize),
) {
    let (max_mr, widths) = microkernels.in_place_sizes(p.n);
    let args = args(p);
    let mut i = 0;
    while i < p.m {
        let mr = balanced_step(p.m - i, max_mr);
        let a = p.a.at(i, 0);
        let row = p.c.at(i, 0);
        let mut j = 0;
        while j < p.n {
            let nr = widths.next_nr(p.n - j);
            let b = PanelB::in_place(&p.b, j);
            let (run, last) = choose(mr, nr);
            // SAFETY: the level has microkernels of mr and nr; the caller vouches for the matrices.
            unsafe { run(&args, a, b, row.wrapping_add(j), last) };
            j += nr;
        }
        i += mr;
    }
}
