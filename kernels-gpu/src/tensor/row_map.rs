//! Maps over axes of tensors, expanded from the table of operations. The results of the reductions go to scratch memory,
//! from which the kernel of the step reads them. If there is not enough for all rows, these are done in parts.

use super::elementwise::{Argument, Launch, launch_loops};
use super::gather::{self, Needs};
use super::reduce::{Reduction, kept_loops, launch_rows, rows_of, with};
use crate::ops::reduce::are_columns;
use diptych::backend::tensor::{
    AxisPlan, ElementType, KeptAxis, List, Location, Loop, Loops, MAX_INPUTS, MAX_OPERANDS,
    RowMapPlan,
};
use diptych::tensor::Tensor;
use diptych::{for_each_row_map, with_element};
use diptych_device::launch::{self, Device, Scratch, entry};
use diptych_device::table::Entry;

/// Rows of a part: their results take half of the scratch memory that the library has of its own.
const PART: usize = 16 << 10;

/// A map, for any type of elements.
pub(crate) struct RowMap<'a, E> {
    /// Its reductions.
    statistics: &'a [&'a Reduction<'a, E>],
    /// The kernel of its step.
    step: &'static Entry,
    launch: Launch<'a, E>,
}

/// A choice of scratch memory: how many indices of the split axis a part has, which of the gathered slabs, what these
/// need.
#[derive(Clone, Copy)]
struct Choice {
    part: usize,
    slabs: usize,
    needs: [usize; 3],
}

/// The rows of a map in parts along one of its kept axes.
struct Parts<'a> {
    plan: &'a RowMapPlan,
    element: ElementType,
    /// The number of the axis, if there is one, and its length.
    axis: usize,
    length: usize,
}

impl<'a> Parts<'a> {
    fn new(plan: &'a RowMapPlan, element: ElementType) -> Self {
        let axes = plan.rows.kept.iter().map(|axis| axis.count).enumerate();
        let (axis, length) = axes.max_by_key(|&(_, count)| count).unwrap_or((0, 1));
        Self {
            plan,
            element,
            axis,
            length,
        }
    }

    /// Returns the bytes from the results of one reduction to those of the next, in a part.
    fn statistic_bytes(&self, part: usize) -> usize {
        let results = self.plan.rows.results / self.length * part;
        (results * self.element.size()).next_multiple_of(16)
    }

    /// Returns the plan of the rows of a part; the output is that of the map.
    fn of(&self, from: usize, count: usize) -> AxisPlan {
        let whole = &self.plan.rows;
        let mut plan = AxisPlan::empty();
        (plan.x, plan.out, plan.size) = (whole.x, whole.out, whole.size);
        (plan.results, plan.elements) = (whole.results / self.length * count, whole.elements);
        plan.reduced = whole.reduced.clone();
        for (number, &axis) in whole.kept.iter().enumerate() {
            let mut own = axis;
            if number == self.axis {
                own.count = count;
                plan.x = plan.x.wrapping_offset(axis.x.wrapping_mul(from as isize));
                plan.out = plan
                    .out
                    .wrapping_offset(axis.out.wrapping_mul(from as isize));
            }
            plan.kept.push(own);
        }
        plan
    }

    /// Returns what a reduction of a part needs, for each choice of slabs.
    fn needs<D: Device>(
        &self,
        device: &D,
        reduction: &Reduction<'_, D::Error>,
        part: usize,
    ) -> Result<Needs, D::Error> {
        let plan = to_results(&self.of(0, part), core::ptr::null_mut());
        let Some(row) = single_axis(&plan) else {
            return gather::needs(device, reduction, self.element, &plan);
        };
        let mut kept = kept_loops(&plan).loops;
        let rows = rows_of(reduction, self.element, &mut kept, row, 0);
        let cost = (reduction.cost)(self.element);
        let (bytes, counters) =
            with_element!(self.element, T => rows.scratch::<T, D>(device, cost));
        Ok([[0, bytes, counters]; 3])
    }

    /// Returns the choices, the best first: all rows, with large and small slabs, then a part of them.
    fn choices<D: Device>(
        &self,
        device: &D,
        statistics: &[&Reduction<'_, D::Error>],
    ) -> Result<[Choice; 4], D::Error> {
        let others = self.plan.rows.results / self.length;
        let small = (PART / others.max(1)).clamp(1, self.length);
        let mut choices = [
            (self.length, 0),
            (self.length, 1),
            (self.length, 2),
            (small, 2),
        ]
        .map(|(part, slabs)| Choice {
            part,
            slabs,
            needs: [0; 3],
        });
        for reduction in statistics {
            let whole = self.needs(device, reduction, self.length)?;
            let part = self.needs(device, reduction, small)?;
            let all = whole.into_iter().chain([part[2]]);
            for (choice, needs) in choices.iter_mut().zip(all) {
                for (most, own) in choice.needs.iter_mut().zip(needs) {
                    *most = own.max(*most);
                }
            }
        }
        Ok(choices)
    }
}

/// Returns the elements of a row and the bytes from one to the next, if they are evenly spaced.
fn single_axis(plan: &AxisPlan) -> Option<[isize; 2]> {
    match plan.reduced[..] {
        [] => Some([1, 0]),
        [axis] => Some([axis.count as isize, axis.step]),
        _ => None,
    }
}

/// Returns the plan of the same rows with results that follow each other from `to` on.
fn to_results(rows: &AxisPlan, to: *mut u8) -> AxisPlan {
    let mut plan = AxisPlan::empty();
    (plan.x, plan.out, plan.size) = (rows.x, to, rows.size);
    (plan.results, plan.elements) = (rows.results, rows.elements);
    plan.reduced = rows.reduced.clone();
    let mut step = (rows.results * rows.size) as isize;
    for &axis in rows.kept.iter() {
        step /= axis.count as isize;
        plan.kept.push(KeptAxis { out: step, ..axis });
    }
    plan
}

/// Launches a map.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub(crate) unsafe fn run<D: Device>(
    device: &D,
    map: &RowMap<'_, D::Error>,
    element: ElementType,
    plan: &RowMapPlan,
) -> Result<(), D::Error> {
    let parts = Parts::new(plan, element);
    let choices = parts.choices(device, map.statistics)?;
    let count = map.statistics.len();
    let amounts = choices.map(|choice| {
        let [slab, behind, counters] = choice.needs;
        let own = parts.statistic_bytes(choice.part) * count;
        (own + slab + behind, counters)
    });
    let (chosen, scratch) = device.scratch_of(&amounts)?;
    let choice = choices[chosen];
    device.prepare(map.step, element.dtype())?;
    for from in (0..parts.length).step_by(choice.part) {
        let rows = parts.of(from, choice.part.min(parts.length - from));
        // SAFETY: as the caller's.
        unsafe { part(device, map, &parts, &rows, choice, scratch)? };
    }
    Ok(())
}

/// Launches the reductions and the step of some rows.
///
/// # Safety
/// As [`run`].
unsafe fn part<D: Device>(
    device: &D,
    map: &RowMap<'_, D::Error>,
    parts: &Parts<'_>,
    rows: &AxisPlan,
    choice: Choice,
    scratch: Scratch,
) -> Result<(), D::Error> {
    let (element, each) = (parts.element, parts.statistic_bytes(choice.part));
    let mut first = [rows.out; MAX_OPERANDS];
    first[1] = rows.x;
    let rest = scratch.behind(each * map.statistics.len());
    for (k, reduction) in map.statistics.iter().enumerate() {
        let results = scratch.behind(each * k).bytes;
        first[2 + k] = results;
        let plan = to_results(rows, results);
        match single_axis(&plan) {
            Some(row) => {
                let kept = kept_loops(&plan);
                let shape = rows_of(reduction, element, &mut kept.loops.clone(), row, 0).rows;
                let kernel = reduction.kernels[usize::from(are_columns(&shape))];
                device.prepare(kernel, element.dtype())?;
                launch_rows(reduction, element, kept, (row, 0, Some(rest)))?;
            }
            None => {
                let slabs = (choice.slabs, choice.needs);
                // SAFETY: as the caller's.
                unsafe { gather::reduce_in(device, reduction, element, &plan, 0, slabs, rest)? };
            }
        }
    }
    let mut loops = List::new();
    let mut step = (rows.results * rows.size) as isize;
    for axis in rows.kept.iter() {
        step /= axis.count as isize;
        let steps = [axis.out, axis.x, step, step, step];
        loops.push(Loop {
            count: axis.count,
            steps,
        });
    }
    for axis in parts.plan.along.iter() {
        let steps = [axis.out, axis.x, 0, 0, 0];
        loops.push(Loop {
            count: axis.count,
            steps,
        });
    }
    let loops = Loops::ordered(loops, first, 2 + map.statistics.len());
    let arrays = ([true; MAX_OPERANDS], [false; MAX_OPERANDS]);
    launch_loops(element, &loops, arrays, map.launch)
}

/// The maps.
macro_rules! row_maps {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        /// The launches of each map, after the checks.
        pub(crate) mod launches {
            use super::*;
            $(
                /// # Safety
                /// The tensors must be valid on the device until the launches have run.
                pub unsafe fn $name<D: Device>(device: &D, element: ElementType, plan: &RowMapPlan) -> Result<(), D::Error> {
                    let step = |element, (grid, shape), inputs: [Argument; MAX_INPUTS], out: Argument| {
                        let [x, $($statistic,)* ..] = inputs;
                        // SAFETY: as the caller's.
                        unsafe {
                            with_element!(element, T => launch::$name::<T, D>(device, grid, shape, x.input(), $($statistic.input(),)* out.output()))
                        }
                    };
                    row_maps!(@reductions device [$($statistic)*] [] {
                        |statistics| {
                            run(device, &RowMap { statistics, step: &entry::$name, launch: &step }, element, plan)
                        }
                    })
                }
            )*
        }

        $(
            #[doc = concat!("See `diptych::tensor::", stringify!($name), "`.")]
            ///
            /// # Errors
            /// Those of that function; errors of the device. Scratch memory is needed for the results of the reductions.
            ///
            /// # Safety
            /// The tensors must be valid on the device until the launches have run.
            pub unsafe fn $name<D: Device>(
                device: &D, x: &Tensor, axes: Option<&[i32]>, out: &Tensor,
            ) -> Result<(), D::Error> {
                let mut plan = RowMapPlan::empty();
                // SAFETY: as the caller's.
                let checked = unsafe { plan.check(x, axes, out, Location::Device) };
                match checked? {
                    // SAFETY: as the caller's.
                    Some(element) => unsafe { launches::$name(device, element, &plan) },
                    None => Ok(()),
                }
            }
        )*
    };
    // Calls `use_it` with all reductions.
    (@reductions $device:ident [$statistic:ident $($rest:ident)*] [$($done:ident)*] { $use_it:expr }) => {
        // SAFETY: as the caller's.
        unsafe { with::$statistic($device, |$statistic| row_maps!(@reductions $device [$($rest)*] [$($done)* $statistic] { $use_it })) }
    };
    (@reductions $device:ident [] [$($done:ident)*] { $use_it:expr }) => { ($use_it)(&[$($done),*]) };
}
for_each_row_map!(row_maps! {} [name statistics]);
