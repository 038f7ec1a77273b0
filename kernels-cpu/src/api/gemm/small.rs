//! Fast path for most products: a few comparisons show that the arguments are valid. A call that fails them, for
//! whatever reason, takes the general path, which names the argument at fault. Small products that need neither scratch
//! memory nor threads run here; the others are planned as in [`run::batch`], without a second check.

use super::check::{Arguments, Batch, check_quickly};
use super::plan::BatchPlan;
use super::run;
use crate::dispatch::{FoldOf, FoldOfMany, Kernels};
use crate::element::Element;
use crate::error::Result;
use crate::exec::Exec;
use crate::ops::gemm::{self, Gemm, Routines, Skinny, ThreadPlan, params};
use crate::ops::reduce::{Dot, WorkArea, work_bytes};
use crate::recipe::finish_sum;

/// Runs a product that [`check_quickly`] returned, with n > 1, and m > 1 unless it is batch-invariant.
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
    /// With more elements of B, one row has a way of its own.
    const ELEMENTS_OF_ONE_ROW: usize = 1 << 13;
    let routines = Kernels::<T>::new(exec.level()?).gemm();
    let all = &routines.microkernels;
    let simple = p.k <= params::KSEG && p.alpha != T::ZERO && !exec.has_workspace();
    if simple & (p.m <= all.mr()) & (p.n <= all.widths.lanes) {
        // SAFETY: as the caller's.
        unsafe { gemm::single(all, p) };
        return Ok(());
    }
    let most = if p.m == 1 {
        ELEMENTS_OF_ONE_ROW
    } else {
        MULTIPLICATIONS
    };
    let small = p.m.saturating_mul(p.n).saturating_mul(p.k) < most;
    if simple & small {
        if (p.n <= all.widths.lanes) & (p.m >= 2 * all.widths.lanes) & (p.a.cs == 1) {
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

/// Runs a product with one row or one column, as in `gemv.rs`, with alpha = 1 and beta = 0, if [`check_quickly`] accepts
/// its arguments and it is small. Returns whether it ran. Outlined, and by value, like [`planned`].
///
/// # Safety
/// The matrices must be valid.
#[inline(never)]
pub unsafe fn with_vector<T: Element>(exec: &Exec<'_>, args: Arguments<'_, T>) -> Result<bool> {
    /// Fewer bytes of the matrix are not worth a second task.
    const BYTES: usize = 64 << 10;
    // First, so that the arguments of a large product are checked in one place only.
    let multiplications = args.m.saturating_mul(args.n).saturating_mul(args.k);
    if multiplications > (BYTES / size_of::<T>()) as i64 {
        return Ok(false);
    }
    let Some(p) = check_quickly(&args) else {
        return Ok(false);
    };
    let kernels = Kernels::<T>::new(exec.level()?);
    let none = core::ptr::null();
    // SAFETY: the caller vouches for the matrices; C is contiguous in both cases.
    unsafe {
        if p.m * p.n == 1 {
            let dot = <Dot as FoldOf<T>>::vector(kernels.level());
            p.c.ptr.write(finish_sum(
                dot(p.k, p.a.ptr, p.a.cs, p.b.ptr, p.b.rs, T::ZERO).0,
            ));
            return Ok(true);
        }
        if p.n == 1 && p.a.cs == 1 && p.c.rs == 1 {
            <Dot as FoldOfMany<T>>::rows(kernels.level())(
                p.m, p.k, p.a.ptr, p.a.rs, p.b.ptr, p.b.rs, none, p.c.ptr, false,
            );
            return Ok(true);
        }
        if p.m == 1 && work_bytes::<T>(p.k, p.n, 1) == 0 {
            let columns = <Dot as FoldOfMany<T>>::columns(kernels.level());
            columns(
                p.k,
                p.n,
                p.b.ptr,
                p.b.rs,
                p.a.ptr,
                p.a.cs,
                none,
                p.c.ptr,
                WorkArea::NONE,
            );
            return Ok(true);
        }
    }
    Ok(false)
}
