//! Reductions over axes that do not merge to one. The elements of each row are copied to scratch memory, in their order;
//! there are kernels for the rows of the copy. Many rows are copied in slabs: scratch memory need not be as large as the
//! tensor, and large GPUs find a slab in their cache when they reduce it.

use super::Elements;
use super::convert::{copy, copy_of};
use super::parts::Parts;
use super::reduce::{Reduction, launch_rows, rows_of};
use crate::ops::reduce::Rows;
use diptych::backend::tensor::{AxisPlan, KeptAxis, List, Loop, Loops, Type};
use diptych::{Dtype, Error};
use diptych_device::launch::{Device, Scratch, entry};

/// Bytes of the rows of a slab, the best first: enough to keep a GPU busy; half of what the library has of its own; one
/// row.
pub const SLABS: [usize; 3] = [16 << 20, 128 << 10, 0];

/// How rows are divided into slabs.
struct Slabs {
    /// The rows of each. No step of the output is negative.
    parts: Parts,
    /// Whether the elements of a row are apart in a slab, and those of adjacent rows side by side.
    columns: bool,
    /// Elements of a row.
    n: usize,
    element: Elements,
}

impl Slabs {
    /// Divides the rows into slabs of at most `limit` bytes, or of one row.
    fn new(plan: &AxisPlan, element: Elements, limit: usize) -> Self {
        let fit = limit / plan.elements.saturating_mul(element.of.size());
        let mut axes = plan.kept.clone();
        let (mut x, mut out) = (plan.x, plan.out);
        for axis in axes.iter_mut().filter(|axis| axis.out < 0) {
            let last = axis.count as isize - 1;
            x = x.wrapping_offset(axis.x.wrapping_mul(last));
            out = out.wrapping_offset(axis.out.wrapping_mul(last));
            (axis.x, axis.out) = (axis.x.wrapping_neg(), axis.out.wrapping_neg());
        }
        axes.sort_by_key(|axis| -axis.out);
        let parts = Parts::new(axes, x, out, fit);
        let size = element.of.size() as isize;
        let is_contiguous = plan.reduced.iter().any(|axis| axis.step == size);
        let has_columns = (parts.whole()).any(|axis| axis.x == size && axis.count >= 8);
        Self {
            columns: has_columns && !is_contiguous,
            parts,
            n: plan.elements,
            element,
        }
    }

    /// Returns the steps from one row of a slab to the next, and from one element to the next, in bytes.
    fn steps(&self, part: usize) -> [isize; 2] {
        let size = self.element.of.size() as isize;
        if self.columns {
            [size, self.parts.rows(part) as isize * size]
        } else {
            [self.n as isize * size, size]
        }
    }

    /// Returns the axes that a slab with `part` indices of the first axis has, the innermost first: their lengths, their
    /// steps in the slab, and themselves.
    fn inside(&self, part: usize) -> impl Iterator<Item = (usize, isize, KeptAxis)> {
        let [mut next, _] = self.steps(part);
        self.parts.axes(part).rev().map(move |axis| {
            let step = next;
            next *= axis.count as isize;
            (axis.count, step, axis)
        })
    }

    /// Returns the loops over the results of a slab: from the output, and from the slab.
    fn results(&self, part: usize, out: *mut u8, slab: *mut u8) -> Loops {
        let mut loops = List::new();
        for (count, step, axis) in self.inside(part).filter(|(count, ..)| *count > 1) {
            let steps = [axis.out, step, 0, 0, 0];
            loops.push(Loop { count, steps });
        }
        Loops::of_copy(loops, out, slab)
    }

    /// Launches the copy of the rows that begin at `x` to a slab.
    ///
    /// # Safety
    /// The rows must be valid on the device until the launch has run, and the slab have room.
    unsafe fn gather<D: Device>(
        &self,
        device: &D,
        plan: &AxisPlan,
        part: usize,
        x: *mut u8,
        slab: *mut u8,
    ) -> Result<(), D::Error> {
        let [_, mut next] = self.steps(part);
        let reduced = plan.reduced.iter().rev().map(|axis| {
            let step = next;
            next *= axis.count as isize;
            (axis.count, step, axis.step)
        });
        let kept = self.inside(part);
        let kept = kept.map(|(count, step, axis)| (count, step, axis.x));
        let job = copy_of(Type::Float(self.element.of), reduced.chain(kept), slab, x);
        // SAFETY: as the caller's.
        unsafe { copy(device, job, None) }
    }

    /// Returns the rows that the first launch for a slab takes.
    fn first_launch<E>(&self, reduction: &Reduction<'_, E>, part: usize, ddof: usize) -> Rows {
        let none = core::ptr::null_mut();
        let mut loops = self.results(part, none, none).loops;
        let [_, step] = self.steps(part);
        rows_of(
            reduction,
            self.element,
            &mut loops,
            [self.n as isize, step],
            ddof,
        )
    }

    /// Returns the scratch memory that is needed: bytes of a slab, bytes behind it and counters; `None` on overflow.
    fn scratch<D: Device>(
        &self,
        device: &D,
        reduction: &Reduction<'_, D::Error>,
    ) -> Option<[usize; 3]> {
        let cost = (reduction.cost)(self.element);
        let row = self.n.checked_mul(self.element.of.size())?;
        let slab = self.parts.rows(self.parts.most).checked_mul(row)?;
        let slab = slab.checked_next_multiple_of(16)?;
        let (mut bytes, mut counters) = (0, 0);
        for part in self.parts.sizes() {
            let rows = self.first_launch(reduction, part, 0);
            let needed = rows.scratch(device, cost);
            (bytes, counters) = (needed.0.max(bytes), needed.1.max(counters));
        }
        slab.checked_add(bytes)?;
        Some([slab, bytes, counters])
    }
}

/// Returns what slabs of at most `limit` bytes need: bytes of a slab, bytes behind it and counters.
///
/// # Errors
/// `SizeOverflow`.
pub fn needs<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: Elements,
    plan: &AxisPlan,
    limit: usize,
) -> Result<[usize; 3], D::Error> {
    let needs = Slabs::new(plan, element, limit).scratch(device, reduction);
    Ok(needs.ok_or(Error::SizeOverflow { arg: "x" })?)
}

/// Prepares the kernels that [`reduce_in`] launches.
///
/// # Errors
/// Those of the device.
pub fn prepare<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: Elements,
    plan: &AxisPlan,
    limit: usize,
) -> Result<(), D::Error> {
    let slabs = Slabs::new(plan, element, limit);
    device.prepare(&entry::convert, Dtype::F32)?;
    for part in slabs.parts.sizes() {
        let rows = slabs.first_launch(reduction, part, 0).rows;
        device.prepare(reduction.kernel(&rows), element.of)?;
    }
    Ok(())
}

/// Reduces rows whose elements are not evenly spaced.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn reduce<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: Elements,
    plan: &AxisPlan,
    ddof: usize,
) -> Result<(), D::Error> {
    let mut choices = [(0, [0; 3]); SLABS.len()];
    for (choice, limit) in choices.iter_mut().zip(SLABS) {
        *choice = (limit, needs(device, reduction, element, plan, limit)?);
    }
    let amounts = choices.map(|(_, [slab, behind, counters])| (slab + behind, counters));
    let (chosen, scratch) = device.scratch_of(&amounts)?;
    let (limit, [slab, ..]) = choices[chosen];
    prepare(device, reduction, element, plan, limit)?;
    // SAFETY: as the caller's; the scratch memory is for this choice.
    unsafe {
        reduce_in(
            device,
            reduction,
            element,
            plan,
            ddof,
            (limit, slab),
            scratch,
        )
    }
}

/// As [`reduce`], with prepared kernels and in scratch memory for slabs of at most `limit` bytes, of which each has
/// `slab_bytes`.
///
/// # Safety
/// As [`reduce`]; the scratch memory must be what [`needs`] says.
pub unsafe fn reduce_in<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: Elements,
    plan: &AxisPlan,
    ddof: usize,
    (limit, slab_bytes): (usize, usize),
    scratch: Scratch,
) -> Result<(), D::Error> {
    let slabs = Slabs::new(plan, element, limit);
    let (slab, scratch) = (scratch.bytes, scratch.behind(slab_bytes));
    slabs.parts.for_each(|part, x, out| {
        let [_, step] = slabs.steps(part);
        let row = ([slabs.n as isize, step], ddof, Some(scratch));
        // SAFETY: as the caller's; the slab has room for the rows.
        unsafe { slabs.gather(device, plan, part, x, slab)? };
        launch_rows(reduction, element, slabs.results(part, out, slab), row)
    })
}
