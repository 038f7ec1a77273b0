//! Reductions over axes that do not merge to one. The elements of each row are copied to scratch memory, in their order;
//! there are kernels for the rows of the copy. Many rows are copied in slabs: scratch memory need not be as large as the
//! tensor, and large GPUs find a slab in their cache when they reduce it.

use super::convert::{copy, copy_of};
use super::reduce::{Reduction, launch_rows, rows_of};
use crate::ops::reduce::{Rows, are_columns};
use diptych::backend::tensor::{
    AxisPlan, ElementType, KeptAxis, List, Loop, Loops, MAX_OPERANDS, Type, for_each,
};
use diptych::{Dtype, Error, with_element};
use diptych_device::launch::{Device, Scratch, entry};

/// Bytes of the rows of a slab, the best first: enough to keep a GPU busy; half of what the library has of its own; one
/// row.
const SLABS: [usize; 3] = [16 << 20, 128 << 10, 0];

/// How rows are divided into slabs.
struct Slabs {
    /// The kept axes that a slab has, that with the largest step of the output first. No step of the output is negative.
    /// Of the first axis a slab has a part.
    axes: List<KeptAxis>,
    /// The loops over the other kept axes, from the first result and the first element on.
    outer: List<Loop>,
    first: [*mut u8; MAX_OPERANDS],
    /// The length of the first axis, and that of the part.
    length: usize,
    part: usize,
    /// Whether the elements of a row are apart in a slab, and those of adjacent rows side by side.
    columns: bool,
    /// Elements of a row.
    n: usize,
    element: ElementType,
}

/// Returns the number of results of axes.
fn results(axes: &[KeptAxis]) -> usize {
    axes.iter().map(|axis| axis.count).product()
}

impl Slabs {
    /// Divides the rows into slabs of at most `limit` bytes, or of one row.
    fn new(plan: &AxisPlan, element: ElementType, limit: usize) -> Self {
        let fit = limit / plan.elements.saturating_mul(element.size());
        let (mut axes, mut outer) = (plan.kept.clone(), List::new());
        let (mut x, mut out) = (plan.x, plan.out);
        for axis in axes.iter_mut().filter(|axis| axis.out < 0) {
            let last = axis.count as isize - 1;
            x = x.wrapping_offset(axis.x.wrapping_mul(last));
            out = out.wrapping_offset(axis.out.wrapping_mul(last));
            (axis.x, axis.out) = (axis.x.wrapping_neg(), axis.out.wrapping_neg());
        }
        axes.sort_by_key(|axis| -axis.out);
        while axes.len() > 1 && results(&axes[1..]) > fit {
            if let Some(KeptAxis { count, x, out }) = axes.remove(0) {
                let steps = [out, x, 0, 0, 0];
                outer.push(Loop { count, steps });
            }
        }
        let length = axes.first().map_or(1, |axis| axis.count);
        let part = match axes.first() {
            Some(_) => (fit / results(&axes[1..])).clamp(1, length),
            None => 1,
        };
        let size = element.size() as isize;
        let is_contiguous = plan.reduced.iter().any(|axis| axis.step == size);
        let has_columns = axes.iter().any(|axis| axis.x == size && axis.count >= 8);
        Self {
            axes,
            outer,
            first: [out, x, out, out, out],
            length,
            part,
            columns: has_columns && !is_contiguous,
            n: plan.elements,
            element,
        }
    }

    /// Returns the rows of a slab with `part` indices of the first axis.
    fn rows(&self, part: usize) -> usize {
        part * results(self.axes.get(1..).unwrap_or(&[]))
    }

    /// Returns the steps from one row of a slab to the next, and from one element to the next, in bytes.
    fn steps(&self, part: usize) -> [isize; 2] {
        let size = self.element.size() as isize;
        if self.columns {
            [size, self.rows(part) as isize * size]
        } else {
            [self.n as isize * size, size]
        }
    }

    /// Returns the axes that a slab with `part` indices of the first axis has, the innermost first: their lengths, their
    /// steps in the slab, and themselves.
    fn inside(&self, part: usize) -> impl Iterator<Item = (usize, isize, KeptAxis)> {
        let [mut next, _] = self.steps(part);
        let axes = self.axes.iter().enumerate().rev();
        axes.map(move |(i, &axis)| {
            let count = if i == 0 { part } else { axis.count };
            let step = next;
            next *= count as isize;
            (count, step, axis)
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
        let job = copy_of(
            Type::Float(self.element.dtype()),
            reduced.chain(kept),
            slab,
            x,
        );
        // SAFETY: as the caller's.
        unsafe { copy(device, job, None) }
    }

    /// Returns the parts that slabs have: all but the last one, and the last one if it is smaller.
    fn parts(&self) -> impl Iterator<Item = usize> {
        [self.part, self.length % self.part]
            .into_iter()
            .filter(|&part| part > 0)
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
        let row = self.n.checked_mul(self.element.size())?;
        let slab = self.rows(self.part).checked_mul(row)?;
        let slab = slab.checked_next_multiple_of(16)?;
        let (mut bytes, mut counters) = (0, 0);
        for part in self.parts() {
            let rows = self.first_launch(reduction, part, 0);
            let needed = with_element!(self.element, T => rows.scratch::<T, D>(device, cost));
            (bytes, counters) = (needed.0.max(bytes), needed.1.max(counters));
        }
        slab.checked_add(bytes)?;
        Some([slab, bytes, counters])
    }
}

/// What the slabs of each choice need: bytes of a slab, bytes behind it and counters.
pub type Needs = [[usize; 3]; SLABS.len()];

/// Reduces rows whose elements are not evenly spaced.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn reduce<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: ElementType,
    plan: &AxisPlan,
    ddof: usize,
) -> Result<(), D::Error> {
    let needs = needs(device, reduction, element, plan)?;
    let choices = needs.map(|[slab, behind, counters]| (slab + behind, counters));
    let (chosen, scratch) = device.scratch_of(&choices)?;
    let slabs = (chosen, needs[chosen]);
    // SAFETY: as the caller's.
    unsafe { reduce_in(device, reduction, element, plan, ddof, slabs, scratch) }
}

/// As [`reduce`], in scratch memory for the slabs of one choice.
///
/// # Safety
/// As [`reduce`].
pub unsafe fn reduce_in<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: ElementType,
    plan: &AxisPlan,
    ddof: usize,
    (chosen, [slab_bytes, ..]): (usize, [usize; 3]),
    scratch: Scratch,
) -> Result<(), D::Error> {
    let slabs = Slabs::new(plan, element, SLABS[chosen]);
    let (slab, scratch) = (scratch.bytes, scratch.behind(slab_bytes));
    device.prepare(&entry::convert, Dtype::F32)?;
    for part in slabs.parts() {
        let rows = slabs.first_launch(reduction, part, ddof).rows;
        device.prepare(
            reduction.kernels[usize::from(are_columns(&rows))],
            element.dtype(),
        )?;
    }
    let axis = slabs.axes.first().copied();
    let mut done = Ok(());
    for_each(&slabs.outer, slabs.first, |[out, x, ..]| {
        for from in (0..slabs.length).step_by(slabs.part) {
            let (x_step, out_step) = axis.map_or((0, 0), |axis| (axis.x, axis.out));
            let x = x.wrapping_offset(x_step.wrapping_mul(from as isize));
            let out = out.wrapping_offset(out_step.wrapping_mul(from as isize));
            let part = slabs.part.min(slabs.length - from);
            if done.is_ok() {
                let [_, step] = slabs.steps(part);
                let row = ([slabs.n as isize, step], ddof, Some(scratch));
                // SAFETY: as the caller's; the slab has room for the rows.
                done = unsafe { slabs.gather(device, plan, part, x, slab) }.and_then(|()| {
                    launch_rows(reduction, element, slabs.results(part, out, slab), row)
                });
            }
        }
    });
    done
}

/// Returns what slabs need.
///
/// # Errors
/// `SizeOverflow`.
pub fn needs<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    element: ElementType,
    plan: &AxisPlan,
) -> Result<Needs, D::Error> {
    let mut needs = [[0; 3]; SLABS.len()];
    for (limit, needs) in SLABS.into_iter().zip(&mut needs) {
        let slabs = Slabs::new(plan, element, limit);
        let all = slabs.scratch(device, reduction);
        *needs = all.ok_or(Error::SizeOverflow { arg: "x" })?;
    }
    Ok(needs)
}
