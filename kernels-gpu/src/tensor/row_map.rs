//! Maps over axes of tensors, expanded from the table of operations. The results of the reductions go to scratch memory,
//! from which the kernel of the step reads them. If there is not enough for all rows, these are done in parts.

use super::elementwise::{Argument, Launch, launch_loops};
use super::gather;
use super::parts::Parts;
use super::reduce::{Reduction, kept_loops, rows_of, with};
use super::{Elements, with_memory};
use crate::driver::scratch::SLOT_BYTES;
use crate::ops::reduce::{MOST_VALUES, Rows};
use core::ptr;
use diptych::backend::tensor::{
    AxisPlan, KeptAxis, List, Location, Loop, Loops, MAX_INPUTS, MAX_OPERANDS, RowMapPlan,
};
use diptych::tensor::Tensor;
use diptych::{Dtype, for_each_row_map};
use diptych_device::launch::{self, Device, Scratch, entry};
use diptych_device::table::Entry;

/// Bytes of the results of a part, of its reductions together: half of the scratch memory that the library has of its
/// own, or a quarter beside a slab of half of it.
const PART: [usize; 2] = [SLOT_BYTES / 2, SLOT_BYTES / 4];

/// The most results of parts of rows, beside the results of rows.
const MOST_VALUES_BESIDE: u64 = MOST_VALUES / 2;

/// A map, for any type of elements.
pub(crate) struct RowMap<'a, D: Device> {
    device: &'a D,
    /// Its reductions.
    statistics: &'a [&'a Reduction<'a, D::Error>],
    /// The kernel of its step.
    step: &'static Entry,
    launch: Launch<'a, Dtype, D::Error>,
    element: Elements,
    plan: &'a RowMapPlan,
}

/// A way to do a map in some amount of scratch memory.
#[derive(Clone, Copy)]
struct Way {
    /// The most rows of a part.
    rows: usize,
    /// The most bytes of a slab, if the elements of a row are not evenly spaced.
    slab: usize,
    /// What the reductions need beside the room for their results: bytes of a slab, bytes behind it and counters.
    needs: [usize; 3],
}

/// Returns the elements of a row and the bytes from one to the next, if they are evenly spaced.
fn single_axis(plan: &AxisPlan) -> Option<[isize; 2]> {
    match plan.reduced[..] {
        [] => Some([1, 0]),
        [axis] => Some([axis.count as isize, axis.step]),
        _ => None,
    }
}

impl<D: Device> RowMap<'_, D> {
    /// Returns the rows in parts of at most `most` rows; the output is that of the map.
    // Not inlined, like those below: each has several callers, and handles long lists.
    #[inline(never)]
    fn parts(&self, most: usize) -> Parts {
        let rows = &self.plan.rows;
        Parts::new(rows.kept.clone(), rows.x, rows.out, most)
    }

    /// Returns the bytes from the results of one reduction to those of the next.
    fn bytes(&self, parts: &Parts) -> usize {
        (parts.rows(parts.most) * self.element.number().size()).next_multiple_of(16)
    }

    /// Returns the plan of the reductions of a part that begins at `x`; the results follow each other from `to` on.
    #[inline(never)]
    fn reduced(&self, parts: &Parts, part: usize, x: *mut u8, to: *mut u8) -> AxisPlan {
        let rows = &self.plan.rows;
        let mut plan = AxisPlan::empty();
        (plan.x, plan.out, plan.size) = (x, to, rows.size);
        (plan.results, plan.elements) = (parts.rows(part), rows.elements);
        plan.reduced = rows.reduced.clone();
        let mut step = (plan.results * self.element.number().size()) as isize;
        for axis in parts.axes(part) {
            step /= axis.count as isize;
            plan.kept.push(KeptAxis { out: step, ..axis });
        }
        plan
    }

    /// Returns the rows of a reduction whose elements are evenly spaced, and the loops around them.
    #[inline(never)]
    fn rows(
        &self,
        reduction: &Reduction<'_, D::Error>,
        plan: &AxisPlan,
        row: [isize; 2],
    ) -> (Rows, Loops) {
        let mut outer = kept_loops(plan);
        let rows = rows_of(reduction, self.element, &mut outer.loops, row, 0);
        let most_values = MOST_VALUES_BESIDE;
        (
            Rows {
                most_values,
                ..rows
            },
            outer,
        )
    }

    /// Returns a way with what the reductions need in it.
    fn way(&self, rows: usize, slab: usize) -> Result<Way, D::Error> {
        let (device, element, parts) = (self.device, self.element, self.parts(rows));
        let mut needs = [0; 3];
        // The last part has fewer rows, which may be divided into more parts each.
        for part in parts.sizes() {
            let plan = self.reduced(&parts, part, self.plan.rows.x, ptr::null_mut());
            for reduction in self.statistics {
                let own = match single_axis(&plan) {
                    Some(row) => {
                        let (rows, _) = self.rows(reduction, &plan, row);
                        let cost = (reduction.cost)(element);
                        let (bytes, counters) = rows.scratch(device, cost);
                        [0, bytes, counters]
                    }
                    None => gather::needs(device, reduction, element, &plan, slab)?,
                };
                for (most, own) in needs.iter_mut().zip(own) {
                    *most = own.max(*most);
                }
            }
        }
        Ok(Way { rows, slab, needs })
    }

    /// Returns the ways, the best first: all rows, with large and small slabs, then parts of them.
    fn ways(&self) -> Result<[Way; 4], D::Error> {
        let [_, small, row] = gather::SLABS;
        let [alone, beside] = PART;
        let bytes = match single_axis(&self.plan.rows) {
            Some(_) => alone,
            None => beside,
        };
        // The results of each reduction are aligned to 16 bytes.
        let rows = bytes / self.statistics.len() / 16 * 16 / self.element.number().size();
        Ok([
            self.way(usize::MAX, gather::SLABS[0])?,
            self.way(usize::MAX, small)?,
            self.way(rows, small)?,
            self.way(rows, row)?,
        ])
    }

    /// Prepares all kernels that a way launches.
    fn prepare(&self, way: Way) -> Result<(), D::Error> {
        let (device, element, parts) = (self.device, self.element, self.parts(way.rows));
        device.prepare(self.step, element.of)?;
        for part in parts.sizes() {
            let plan = self.reduced(&parts, part, self.plan.rows.x, ptr::null_mut());
            for reduction in self.statistics {
                match single_axis(&plan) {
                    Some(row) => {
                        let (rows, _) = self.rows(reduction, &plan, row);
                        device.prepare(reduction.kernel(&rows.rows), element.of)?;
                    }
                    None => gather::prepare(device, reduction, element, &plan, way.slab)?,
                }
            }
        }
        Ok(())
    }

    /// Launches the map.
    ///
    /// # Safety
    /// The tensors must be valid on the device until the launches have run.
    unsafe fn run(&self) -> Result<(), D::Error> {
        let ways = self.ways()?;
        let amounts = ways.map(|way| {
            let [slab, behind, counters] = way.needs;
            let results = self.bytes(&self.parts(way.rows)) * self.statistics.len();
            (results + slab + behind, counters)
        });
        let (chosen, scratch) = self.device.scratch_of(&amounts)?;
        let way = ways[chosen];
        self.prepare(way)?;
        let parts = self.parts(way.rows);
        parts.for_each(|part, x, out| {
            let mut plan = self.reduced(&parts, part, x, scratch.bytes);
            // SAFETY: as the caller's; the scratch memory is for this way.
            unsafe { self.reduce(&mut plan, way, self.bytes(&parts), scratch)? };
            let axes = parts.axes(part).zip(plan.kept.iter().map(|axis| axis.out));
            self.step(axes, [out, x], scratch.bytes, self.bytes(&parts))
        })
    }

    /// Launches the reductions of a part to scratch memory, `bytes` apart.
    ///
    /// # Safety
    /// As [`RowMap::run`]; the scratch memory must be for this way.
    unsafe fn reduce(
        &self,
        plan: &mut AxisPlan,
        way: Way,
        bytes: usize,
        scratch: Scratch,
    ) -> Result<(), D::Error> {
        let (device, element) = (self.device, self.element);
        let rest = scratch.behind(bytes * self.statistics.len());
        for (k, reduction) in self.statistics.iter().enumerate() {
            plan.out = scratch.bytes.wrapping_add(bytes * k);
            if let Some(row) = single_axis(plan) {
                let (rows, outer) = self.rows(reduction, plan, row);
                let scratch = Some(rest);
                reduction.launch_each(element, Rows { scratch, ..rows }, &outer)?;
            } else {
                let slabs = (way.slab, way.needs[0]);
                // SAFETY: as the caller's.
                unsafe { gather::reduce_in(device, reduction, element, plan, 0, slabs, rest)? };
            }
        }
        Ok(())
    }

    /// Launches the step of a part from its kept axes, with the steps of the results along them, and its first elements.
    #[inline(never)]
    fn step(
        &self,
        axes: impl Iterator<Item = (KeptAxis, isize)>,
        [out, x]: [*mut u8; 2],
        results: *mut u8,
        bytes: usize,
    ) -> Result<(), D::Error> {
        let mut loops = List::new();
        for (axis, step) in axes {
            loops.push(Loop {
                count: axis.count,
                steps: [axis.out, axis.x, step, step, step],
            });
        }
        for axis in self.plan.along.iter() {
            loops.push(Loop {
                count: axis.count,
                steps: [axis.out, axis.x, 0, 0, 0],
            });
        }
        let of = |k: usize| results.wrapping_add(bytes * k);
        let first = [out, x, of(0), of(1), of(2)];
        let loops = Loops::ordered(loops, first, 2 + self.statistics.len());
        let arrays = ([true; MAX_OPERANDS], [false; MAX_OPERANDS]);
        let (own, number) = (self.element.of.size(), self.element.number().size());
        let sizes = [own, own, number, number, number];
        launch_loops((self.element.of, sizes), &loops, arrays, self.launch)
    }
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
                pub unsafe fn $name<D: Device>(device: &D, of: Dtype, plan: &RowMapPlan) -> Result<(), D::Error> {
                    let step = |of, (grid, shape), inputs: [Argument; MAX_INPUTS], out: Argument| {
                        let [x, $($statistic,)* ..] = inputs;
                        // SAFETY: as the caller's.
                        unsafe {
                            with_memory!(of, M, format => {
                                launch::$name::<M, D>(device, grid, format, shape, x.input(format), $($statistic.input(()),)* out.output())
                            })
                        }
                    };
                    let element = Elements { of, unrounded: true };
                    row_maps!(@reductions device [$($statistic)*] [] {
                        |statistics| {
                            RowMap { device, statistics, step: &entry::$name, launch: &step, element, plan }.run()
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
                    Some(dtype) => unsafe { launches::$name(device, dtype, &plan) },
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
