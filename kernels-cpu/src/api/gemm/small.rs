//! Fast path for small products: a few comparisons show that the arguments are valid and that the product needs neither
//! scratch memory nor threads. A call that fails them, for whatever reason, takes the general path, which names the
//! argument at fault.

use crate::api::fast_path::{LIMIT, end};
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::Result;
use crate::exec::Exec;
use crate::ops::gemm::{self, Epilogue, Gemm, Routines, ThreadPlan, params};

/// Returns the product, with alpha = 1 and beta = 0, if its arguments qualify: m > 1, n > 1, k > 0, strides not
/// negative, rows of B and C contiguous, C overlaps neither A nor B.
#[inline(always)]
pub fn product<T: Element>(
    (m, n, k): (i64, i64, i64),
    (a, a_rs, a_cs): (*const T, i64, i64),
    (b, b_rs, b_cs): (*const T, i64, i64),
    (c, c_rs, c_cs): (*mut T, i64, i64),
) -> Option<Gemm<T>> {
    let sizes = m > 1 && n > 1 && k > 0 && (m | n | k) < LIMIT;
    // As `u64`, a negative stride exceeds the limit too.
    let strides = ((a_rs | a_cs | b_rs | c_rs) as u64) < LIMIT as u64;
    let contiguous = b_cs == 1 && c_cs == 1 && c_rs >= n;
    let aligned = (a.addr() | b.addr() | c.addr()) & (align_of::<T>() - 1) == 0;
    let some = !a.is_null() && !b.is_null() && !c.is_null();
    if !(sizes & strides & contiguous & aligned & some) {
        return None;
    }
    let a_end = end(a, (m, a_rs), (k, a_cs))?;
    let b_end = end(b, (k, b_rs), (n, 1))?;
    let c_end = end(c, (m, c_rs), (n, 1))?;
    let apart = |low: usize, high: usize| high <= c.addr() || c_end <= low;
    if !(apart(a.addr(), a_end) & apart(b.addr(), b_end)) {
        return None;
    }
    Some(Gemm {
        m: m as usize,
        n: n as usize,
        k: k as usize,
        alpha: T::ONE,
        a,
        a_rs: a_rs as isize,
        a_cs: a_cs as isize,
        b,
        b_rs: b_rs as isize,
        b_cs: 1,
        beta: T::ZERO,
        c,
        c_rs: c_rs as isize,
        c_cs: 1,
        epilogue: Epilogue::NONE,
    })
}

/// Runs a product that [`product`] returned, if it is small. Returns whether it ran.
///
/// # Safety
/// The matrices must be valid, and C must not overlap A or B.
#[inline(always)]
pub unsafe fn run<T: Element>(exec: &Exec<'_>, p: &Gemm<T>) -> Result<bool> {
    /// Fewer multiplications are not worth a second task.
    const MULTIPLICATIONS: usize = 1 << 18;
    let routines = Kernels::<T>::new(exec.level()?).gemm();
    let all = &routines.microkernels;
    let simple = p.k <= params::KSEG && p.alpha != T::ZERO && !exec.has_workspace();
    if simple & (p.m <= all.mr()) & (p.n <= all.widths.lanes) {
        // SAFETY: as the caller's.
        unsafe { gemm::single(all, p) };
        return Ok(true);
    }
    let small = p.m.saturating_mul(p.n).saturating_mul(p.k) < MULTIPLICATIONS;
    if !(simple & small) {
        return Ok(false);
    }
    if gemm::transposed_tail(all, p) > 0 {
        // SAFETY: as the caller's.
        return Ok(unsafe { with_transposed_tail(routines, *p) });
    }
    let is_in_place = !gemm::packs(all, p);
    if is_in_place {
        // SAFETY: as the caller's.
        unsafe { gemm::in_place(all, p) };
    }
    Ok(is_in_place)
}

/// As [`run`], for a product with a transposed tail. Outlined, and takes the product by value, so that other products
/// can stay in registers.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn with_transposed_tail<T: Element>(routines: &Routines<T>, p: Gemm<T>) -> bool {
    let plan = ThreadPlan::new(&routines.microkernels, &p, false);
    let packs = plan.packs();
    if !packs {
        // SAFETY: as the caller's; nothing is packed.
        unsafe { gemm::run(routines, &plan, &p, core::ptr::null_mut(), 0) };
    }
    !packs
}
