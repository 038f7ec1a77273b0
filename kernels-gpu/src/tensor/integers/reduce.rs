//! Launches of the reductions of integers.

use super::described;
use crate::ops::reduce::MOST_VALUES;
use crate::tensor::axes::take;
use crate::tensor::reduce::kept_loops;
use core::ptr;
use diptych::Error;
use diptych::backend::tensor::{
    AxisPlan, Gives, IntegerType, Location, Loop, ReductionProperties, for_each,
};
use diptych::tensor::Tensor;
use diptych_device::gpu::parameters::Reduction;
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::integers::{GRAIN, Kind, RANK, SHARED, THREADS};

/// Blocks per multiprocessor that a grid should have.
const BLOCKS: u64 = 8;

/// Checks the tensors and launches the reduction, once for each index of all kept axes but two.
///
/// # Errors
/// Those of `diptych::tensor::sum`; `Unsupported` if more than [`RANK`] axes do not merge; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub(in crate::tensor) unsafe fn reduce<D: Device>(
    device: &D,
    properties: &ReductionProperties,
    (kind, gives): (Kind, Gives),
    tensors: (&Tensor, Option<&[i32]>, &Tensor),
) -> Result<(), D::Error> {
    let mut plan = AxisPlan::empty();
    // SAFETY: as the caller's.
    let types = unsafe { properties.check_integers(gives, tensors, Location::Device, &mut plan)? };
    if plan.results == 0 {
        return Ok(());
    }
    let mut reduction = elements(&plan, types)?;
    reduction.kind = kind as u32;
    let mut kept = kept_loops(&plan);
    let size = types.0.size() as isize;
    let row = take(&mut kept.loops, |one| (one.steps[1] == size, one.count));
    let matrix = take(&mut kept.loops, |one| one.count);
    set_results(&mut reduction, [row, matrix]);
    let grid = divide(device, &mut reduction, size as i64)?;
    let mut done = Ok(());
    for_each(&kept.loops, kept.first, |[out, x, ..]| {
        (reduction.x, reduction.out) = (x, out);
        if done.is_ok() {
            // SAFETY: as the caller's; the scratch memory is for this grid.
            done = unsafe { launch::integer_folds::<f32, D>(device, grid, reduction) };
        }
    });
    done
}

/// Returns the reduction of the elements of a plan.
///
/// # Errors
/// `Unsupported` if they have too many axes.
fn elements(plan: &AxisPlan, (of, to): (IntegerType, IntegerType)) -> Result<Reduction, Error> {
    let (mut axes, mut steps) = ([1; RANK], [0; RANK]);
    let rank = plan.reduced.len();
    let unused = RANK
        .checked_sub(rank)
        .ok_or(Error::Unsupported { arg: "x" })?;
    let places = axes.iter_mut().zip(&mut steps).skip(unused);
    for ((count, step), axis) in places.zip(plan.reduced.iter()) {
        (*count, *step) = (axis.count as u64, axis.step as i64);
    }
    Ok(Reduction {
        x: ptr::null(),
        out: ptr::null_mut(),
        counts: [1; 2],
        x_steps: [0; 2],
        out_steps: [0; 2],
        n: plan.elements as u64,
        axes,
        steps,
        rank: rank as u32,
        kind: 0,
        of: described(of),
        to: described(to),
        results: 0,
        across: 0,
        part: 0,
        scratch: ptr::null_mut(),
        counters: ptr::null_mut(),
    })
}

/// Sets the axes of the results of a launch.
fn set_results(p: &mut Reduction, axes: [Loop; 2]) {
    for (k, axis) in axes.into_iter().enumerate() {
        p.counts[k] = axis.count as u64;
        p.out_steps[k] = axis.steps[0] as i64;
        p.x_steps[k] = axis.steps[1] as i64;
    }
}

/// Divides the elements of `size` bytes among threads and blocks; returns the grid.
///
/// # Errors
/// `SizeOverflow` for more results than a grid has blocks.
fn divide<D: Device>(device: &D, p: &mut Reduction, size: i64) -> Result<Grid, Error> {
    /// The fewest adjacent results for adjacent threads: whole sectors of a cache line.
    const ADJACENT: u64 = 32;
    /// The fewest elements of a thread that are worth another block.
    const WORTH: u64 = 64;
    let threads = u64::from(THREADS);
    let is_across = p.steps[RANK - 1] != size && p.x_steps[0] == size && p.counts[0] > 1;
    p.across = is_across.into();
    let adjacent = p.counts[0].min(ADJACENT).next_power_of_two();
    let most = if is_across {
        threads / adjacent
    } else {
        threads
    };
    // Threads of a result: not more than it has elements.
    let lanes = p.n.clamp(1, most).next_power_of_two();
    p.results = (threads / lanes).ilog2();
    let all = p.counts[0].checked_mul(p.counts[1]);
    let all = all.ok_or(Error::SizeOverflow { arg: "x" })?;
    let blocks = all.div_ceil(threads / lanes);
    let wanted = BLOCKS * u64::from(device.multiprocessors()) / blocks.max(1);
    let most_parts = (p.n / (lanes * WORTH)).min(MOST_VALUES / all.max(1));
    let parts = wanted.min(most_parts).clamp(1, u16::MAX.into());
    p.part = p.n.div_ceil(parts).next_multiple_of(GRAIN);
    let mut parts = p.n.div_ceil(p.part.max(1)).max(1);
    if parts > 1 {
        // Without scratch memory no result has several parts: slower, with the same results.
        match device.scratch((16 * parts * all) as usize, blocks as usize) {
            Ok(scratch) => (p.scratch, p.counters) = (scratch.bytes, scratch.counters),
            Err(_) => (p.part, parts) = (p.n, 1),
        }
    }
    Ok(Grid {
        blocks: (
            blocks.min(device.max_blocks().into()) as u32,
            parts as u32,
            1,
        ),
        shared: SHARED,
    })
}
