//! Runs checked products according to their plan.

use core::ops::Range;

use super::check::Batch;
use super::gemv;
use super::plan::{BatchPlan, Cut, oriented};
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::Result;
use crate::exec::{Exec, share};
use crate::ops::gemm::{self, Routines};

/// Runs a batch of products of one shape; m, n and the count are not 0.
///
/// # Safety
/// The machine must have the kernels' level; the matrices must be valid, and C must not overlap the other arguments.
pub unsafe fn batch<T: Element>(
    exec: &Exec<'_>,
    kernels: Kernels<T>,
    batch: Batch<T>,
) -> Result<()> {
    let (batch, has_vector) = oriented(exec, batch);
    if has_vector {
        // SAFETY: as the caller's.
        unsafe { gemv::batch(exec, kernels, &batch) };
        return Ok(());
    }
    let plan = BatchPlan::new(exec, &kernels.gemm().microkernels, batch)?;
    // SAFETY: as the caller's.
    unsafe { planned(exec, kernels, &plan) }
}

/// As [`batch`], according to a plan of the batch.
///
/// # Errors
/// `WorkspaceTooSmall`.
///
/// # Safety
/// As [`batch`].
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
pub unsafe fn planned<T: Element>(
    exec: &Exec<'_>,
    kernels: Kernels<T>,
    plan: &BatchPlan<T>,
) -> Result<()> {
    let routines = kernels.gemm();
    // A workspace must suffice for all threads, even if this call uses fewer, so that whether a size is accepted does
    // not depend on how the call is split.
    exec.with_scratch(exec.threads(), plan.scratch, |scratch| match plan.cut {
        Cut::Batch { tasks, prefetch } => {
            let share = share(plan.count(), tasks);
            exec.run(tasks, &|task| {
                scratch.with_block_if(plan.thread.packs(), task, |block, len| {
                    let numbers = task * share..plan.count().min((task + 1) * share);
                    // SAFETY: as the caller's; tasks write different products.
                    unsafe { products(routines, plan, prefetch, numbers, block, len) }
                });
            });
        }
        Cut::Grid(cells) => {
            for index in 0..plan.count() {
                let product = plan.product(index);
                exec.run(cells.count(), &|task| {
                    let cell = plan.cell(&routines.microkernels, &product, cells, task);
                    let Some((cell, thread)) = cell else {
                        return;
                    };
                    // A cell may pack what the whole product reads in place, and the other way round.
                    scratch.with_block_if(thread.packs(), task, |block, len| {
                        // SAFETY: as the caller's; tasks write different elements.
                        unsafe { gemm::run(routines, &thread, &cell, block, len) }
                    });
                });
            }
        }
    })
}

/// Runs the products with these numbers, in order.
///
/// # Safety
/// As [`batch`]; `block` must be scratch memory of `len` bytes, as [`gemm::run`] requires.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
unsafe fn products<T: Element>(
    routines: &Routines<T>,
    plan: &BatchPlan<T>,
    prefetch: bool,
    numbers: Range<usize>,
    block: *mut u8,
    len: usize,
) {
    let all = &routines.microkernels;
    // SAFETY: as the caller's; the product after the last is only prefetched, not read.
    unsafe {
        if prefetch {
            for index in numbers {
                gemm::in_place_prefetching_next(
                    all,
                    &plan.product(index),
                    &plan.product(index + 1),
                );
            }
        } else if plan.thread.is_in_place() {
            for index in numbers {
                gemm::in_place(all, &plan.product(index));
            }
        } else {
            for index in numbers {
                gemm::run(routines, &plan.thread, &plan.product(index), block, len);
            }
        }
    }
}
