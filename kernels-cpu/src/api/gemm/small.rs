//! Fast path for most products: a few comparisons show that the arguments are valid. A call that fails them, for
//! whatever reason, takes the general path, which names the argument at fault. Small products that need neither scratch
//! memory nor threads run here; the others are planned as in [`run::batch`], without a second check.

use super::check::Batch;
use super::plan::BatchPlan;
use super::run;
use crate::api::fast_path::{LIMIT, end};
use crate::dispatch::{Columns, Kernels, Rows, Vector};
use crate::element::Element;
use crate::error::Result;
use crate::exec::Exec;
use crate::ops::gemm::{self, Epilogue, Gemm, Routines, Skinny, ThreadPlan, params};
use crate::ops::reduce::{Dot, WorkArea, work_bytes};
use crate::recipe::finish_sum;

/// Returns the product, with alpha = 1 and beta = 0, if its arguments qualify: m > 1, n > 1, and as for [`checked`].
#[inline(always)]
pub fn product<T: Element>(
    sizes: (i64, i64, i64),
    a: (*const T, i64, i64),
    b: (*const T, i64, i64),
    c: (*mut T, i64, i64),
) -> Option<Gemm<T>> {
    let (m, n, _) = sizes;
    if m > 1 && n > 1 {
        checked(sizes, a, b, c)
    } else {
        None
    }
}

/// Returns the product, with alpha = 1 and beta = 0, if its arguments qualify: m, n, k > 0, strides not negative, rows
/// of B and C contiguous, C overlaps neither A nor B.
#[inline(always)]
fn checked<T: Element>(
    (m, n, k): (i64, i64, i64),
    (a, a_rs, a_cs): (*const T, i64, i64),
    (b, b_rs, b_cs): (*const T, i64, i64),
    (c, c_rs, c_cs): (*mut T, i64, i64),
) -> Option<Gemm<T>> {
    let sizes = m > 0 && n > 0 && k > 0 && (m | n | k) < LIMIT;
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

/// Runs a product that [`product`] returned.
///
/// # Errors
/// As [`raw::gemm`](super::raw::gemm), but for those that name an argument.
///
/// # Safety
/// The matrices must be valid, and C must not overlap A or B.
#[inline(always)]
pub unsafe fn run<T: Element>(exec: &Exec<'_>, p: &Gemm<T>) -> Result<()> {
    /// Fewer multiplications are not worth a second task.
    const MULTIPLICATIONS: usize = 1 << 18;
    let routines = Kernels::<T>::new(exec.level()?).gemm();
    let all = &routines.microkernels;
    let simple = p.k <= params::KSEG && p.alpha != T::ZERO && !exec.has_workspace();
    if simple & (p.m <= all.mr()) & (p.n <= all.widths.lanes) {
        // SAFETY: as the caller's.
        unsafe { gemm::single(all, p) };
        return Ok(());
    }
    let small = p.m.saturating_mul(p.n).saturating_mul(p.k) < MULTIPLICATIONS;
    if simple & small {
        if (p.n <= all.widths.lanes) & (p.m >= 2 * all.widths.lanes) & (p.a_cs == 1) {
            // SAFETY: as the caller's.
            if unsafe { with_few_columns(routines, *p) } {
                return Ok(());
            }
        }
        if gemm::transposed_tail(all, p) > 0 {
            // SAFETY: as the caller's.
            unsafe { with_transposed_tail(exec, *p)? };
            return Ok(());
        }
        if !gemm::packs(all, p) {
            // SAFETY: as the caller's.
            unsafe { gemm::in_place(all, p) };
            return Ok(());
        }
    }
    // SAFETY: as the caller's.
    unsafe { planned(exec, *p)? };
    Ok(())
}

/// Runs a product that is not small or takes scratch memory. Outlined, and takes the product by value, so that other
/// products can stay in registers; looks for the level again, which these would have to keep.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn planned<T: Element>(exec: &Exec<'_>, p: Gemm<T>) -> Result<()> {
    let kernels = Kernels::new(exec.level()?);
    // SAFETY: as the caller's.
    unsafe { run::batch(exec, kernels, Batch::single(p)) }
}

/// Runs a product with few columns and contiguous rows of A, if nothing is packed, and returns whether it did. Outlined,
/// and by value, like [`planned`].
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn with_few_columns<T: Element>(routines: &Routines<T>, p: Gemm<T>) -> bool {
    match Skinny::new(&routines.microkernels, &p) {
        // SAFETY: as the caller's; nothing is packed.
        Some(plan) if !plan.packs => unsafe {
            gemm::run_skinny(routines, plan, &p, core::ptr::null_mut(), 0)
        },
        _ => false,
    }
}

/// Runs a product with a transposed tail. Outlined, and by value, like [`planned`].
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn with_transposed_tail<T: Element>(exec: &Exec<'_>, p: Gemm<T>) -> Result<()> {
    let kernels = Kernels::<T>::new(exec.level()?);
    let routines = kernels.gemm();
    let batch = Batch::single(p);
    let thread = ThreadPlan::new(&routines.microkernels, &batch.first, false);
    if thread.packs() {
        let plan = BatchPlan::with_thread(exec, batch, thread)?;
        // SAFETY: as the caller's.
        return unsafe { run::planned(exec, kernels, &plan) };
    }
    // SAFETY: as the caller's; nothing is packed.
    unsafe { gemm::run(routines, &thread, &batch.first, core::ptr::null_mut(), 0) };
    Ok(())
}

/// Runs a product with one row or one column, as in `gemv.rs`, with alpha = 1 and beta = 0, if its arguments qualify as
/// for [`checked`] and it is small. Returns whether it ran. Outlined, so that other products need not save registers;
/// and without tuples, because the caller would write these to memory for every product.
///
/// # Safety
/// The matrices must be valid.
#[inline(never)]
pub unsafe fn with_vector<T: Element>(
    exec: &Exec<'_>,
    m: i64,
    n: i64,
    k: i64,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
) -> Result<bool> {
    /// Fewer bytes of the matrix are not worth a second task.
    const BYTES: usize = 64 << 10;
    // First, so that the arguments of a large product are checked in one place only.
    if m.saturating_mul(n).saturating_mul(k) > (BYTES / size_of::<T>()) as i64 {
        return Ok(false);
    }
    let (a, b, c) = ((a, a_rs, a_cs), (b, b_rs, b_cs), (c, c_rs, c_cs));
    let Some(p) = checked((m, n, k), a, b, c) else {
        return Ok(false);
    };
    let kernels = Kernels::<T>::new(exec.level()?);
    let none = core::ptr::null();
    // SAFETY: the caller vouches for the matrices; C is contiguous in both cases.
    unsafe {
        if p.m * p.n == 1 {
            let dot = <Dot as Vector<T>>::vector(kernels.level());
            p.c.write(finish_sum(dot(p.k, p.a, p.a_cs, p.b, p.b_rs, T::ZERO).0));
            return Ok(true);
        }
        if p.n == 1 && p.a_cs == 1 && p.c_rs == 1 {
            <Dot as Rows<T>>::rows(kernels.level())(
                p.m, p.k, p.a, p.a_rs, p.b, p.b_rs, none, p.c, false,
            );
            return Ok(true);
        }
        if p.m == 1
            && work_bytes::<T>(p.k, p.n, 1) == 0
            && let Some(columns) = <Dot as Columns<T>>::columns(kernels.level())
        {
            columns(
                p.k,
                p.n,
                p.b,
                p.b_rs,
                p.a,
                p.a_cs,
                none,
                p.c,
                WorkArea::NONE,
            );
            return Ok(true);
        }
    }
    Ok(false)
}
