//! Products with a B that was packed before the call.

use super::check::Batch;
use super::gemv;
use super::plan::{Cells, tasks};
use crate::detect::is_from_memory;
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::exec::{Exec, share};
use crate::matrix::Matrix;
use crate::ops::gemm::{Gemm, packed, shapes::MAX_MR};
use crate::ops::reduce::{WorkArea, work_bytes};

/// Runs a batch of products of one shape with one B, to whose micro-panels `b` of the first points; m, k and the count are
/// not 0, and n is larger than a register.
///
/// # Safety
/// The machine must have the kernels' level; the matrices must be valid, B for all its micro-panels, and C must not overlap
/// the other arguments.
pub unsafe fn batch<T: Element>(exec: &Exec<'_>, kernels: Kernels<T>, mut batch: Batch<T>) {
    let (routines, p) = (kernels.gemm(), &mut batch.first);
    let widths = packed::widths(&routines.microkernels);
    // The distance of a column of a micro-panel from the first one of all.
    p.b = Matrix::new(p.b.ptr, 0, p.k as isize);
    if p.m == 1 && !exec.is_batch_invariant() {
        // SAFETY: as the caller's.
        return unsafe { one_row(exec, kernels, &batch) };
    }
    let room = exec.scratch_room(exec.threads());
    let bytes = packed::scratch_bytes::<T>((p.m, p.k), room);
    let (grain, count) = ((MAX_MR, widths.nr()), batch.count);
    exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
        let run = |task: usize, p: &Gemm<T>| {
            scratch.with_optional_block(task, |block, len| {
                // SAFETY: as the caller's; tasks write different elements, and the cells begin with a micro-panel.
                unsafe { packed::run(routines, p, block, len) }
            });
        };
        let p = &batch.first;
        let each = p.m.saturating_mul(p.n).saturating_mul(p.k);
        let by_product = tasks(exec, each.saturating_mul(count), count);
        if by_product > 1 {
            let share = share(count, by_product);
            return exec.run(by_product, &|task| {
                for index in task * share..count.min((task + 1) * share) {
                    run(task, &batch.first.at(index));
                }
            });
        }
        let cells = Cells::new((p.m, p.n), tasks(exec, each, usize::MAX), grain);
        for index in 0..count {
            let product = batch.first.at(index);
            exec.run(cells.count(), &|task| {
                if let Some((rows, columns)) = cells.get(task) {
                    run(task, &product.block(rows, columns));
                }
            });
        }
    });
}

/// [`batch`] of products with one row, in the order of `dot`: each micro-panel is a matrix with contiguous rows.
///
/// # Safety
/// As [`batch`].
unsafe fn one_row<T: Element>(exec: &Exec<'_>, kernels: Kernels<T>, batch: &Batch<T>) {
    let widths = packed::widths(&kernels.gemm().microkernels);
    let (first, count, nr) = (&batch.first, batch.count, widths.nr().max(1));
    let work = work_bytes::<T>(first.k, nr, 1);
    let elements = first.n.saturating_mul(first.k);
    let from_memory = is_from_memory::<T>(elements);
    let panels = first.n.div_ceil(nr);
    exec.with_optional_scratch(exec.threads(), work, |scratch| {
        let tasks = exec.tasks(elements.saturating_mul(size_of::<T>()), panels);
        let share = share(panels, tasks);
        for index in 0..count {
            let p = first.at(index);
            exec.run(tasks, &|task| {
                scratch.with_optional_block(task, |block, bytes| {
                    let own = Exec::new();
                    for panel in task * share..panels.min((task + 1) * share) {
                        let j = panel * nr;
                        let columns = nr.min(p.n - j);
                        let part = p.block((0, 1), (j, columns));
                        let rs = widths.padded(columns) as isize;
                        let b = Matrix::new(part.b.ptr, rs, 1);
                        let part = Gemm { b, ..part }.transposed();
                        let p = block;
                        let work = WorkArea {
                            p,
                            bytes,
                            from_memory,
                        };
                        // SAFETY: as the caller's; each micro-panel belongs to one task.
                        unsafe { gemv::rows(&own, kernels, &part, work) };
                    }
                });
            });
        }
    });
}
