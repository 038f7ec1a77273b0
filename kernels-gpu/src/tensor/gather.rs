//! Reductions over axes that do not merge to one. The elements of each row are copied to scratch memory, in their order;
//! there are kernels for the rows of the copy. Many rows are copied in slabs: they are then read while they are in the
//! cache of the GPU, and scratch memory need not be as large as the tensor.

use super::convert::copy;
use super::reduce::{Reduction, each_index, take};
use crate::ops::reduce::{Batch, Rows, scratch_of};
use diptych::backend::check::reduce::Shape;
use diptych::backend::tensor::{Converted, Kept, List, Loop, Loops, MAX_OPERANDS, Plan, Type};
use diptych::{Dtype, Error};
use diptych_device::launch::{Device, Scratch, entry};

/// Bytes of the rows of a slab: more than keeps a GPU busy, and less than its cache holds.
const SLAB: usize = 16 << 20;
/// The same where there is less scratch memory: half of what the library has of its own.
const SMALL_SLAB: usize = 128 << 10;

/// How rows are divided into slabs.
struct Slabs {
    /// The kept axes that a slab has, the outermost first; their results are evenly spaced. Of the first one a slab has a
    /// part.
    axes: List<Kept>,
    /// The other kept axes.
    outer: List<Kept>,
    /// The length of the first axis, and that of the part.
    first: usize,
    part: usize,
    /// Whether the elements of a row are apart in a slab, and those of adjacent rows side by side.
    columns: bool,
    /// Elements of a row.
    n: usize,
    dtype: Dtype,
}

/// Returns the number of results of axes.
fn results(axes: &[Kept]) -> usize {
    axes.iter().map(|axis| axis.count).product()
}

impl Slabs {
    /// Divides the rows into slabs of at most `limit` bytes, or of one row.
    fn new(plan: &Plan, dtype: Dtype, limit: usize) -> Self {
        let fit = limit / plan.elements.saturating_mul(dtype.size());
        let (mut axes, mut outer) = group(plan);
        while axes.len() > 1 && results(&axes[1..]) > fit {
            axes.remove(0).into_iter().for_each(|axis| outer.push(axis));
        }
        let first = axes.first().map_or(1, |axis| axis.count);
        let part = match axes.first() {
            Some(_) => (fit / results(&axes[1..])).clamp(1, first),
            None => 1,
        };
        let size = dtype.size() as isize;
        let is_contiguous = plan.reduced.iter().any(|axis| axis.step == size);
        let has_columns = axes.iter().any(|axis| axis.x == size && axis.count >= 8);
        Self {
            axes,
            outer,
            first,
            part,
            columns: has_columns && !is_contiguous,
            n: plan.elements,
            dtype,
        }
    }

    /// Returns the rows of a slab with `part` indices of the first axis; results are `inc_out` apart.
    fn shape(&self, part: usize, inc_out: isize) -> Shape {
        let (m, n) = (part * results(self.axes.get(1..).unwrap_or(&[])), self.n);
        let (rs, cs) = if self.columns {
            (1, m as isize)
        } else {
            (n as isize, 1)
        };
        Shape {
            m,
            n,
            rs,
            cs,
            inc_out,
        }
    }

    /// Returns the scratch memory that is needed: bytes of the slab, bytes behind it and counters; `None` on overflow.
    fn scratch<D: Device>(
        &self,
        device: &D,
        reduction: &Reduction<'_, D::Error>,
    ) -> Option<[usize; 3]> {
        let cost = (reduction.cost)(self.dtype);
        let row = self.n.checked_mul(self.dtype.size())?;
        let whole = self.shape(self.part, 1).m.checked_mul(row)?;
        let whole = whole.checked_next_multiple_of(16)?;
        let (mut bytes, mut counters) = (0, 0);
        for part in [self.part, self.first % self.part] {
            let shape = self.shape(part, 1);
            let needed = match self.dtype {
                Dtype::F64 => scratch_of::<f64, D>(device, &shape, cost),
                _ => scratch_of::<f32, D>(device, &shape, cost),
            };
            (bytes, counters) = (needed.0.max(bytes), needed.1.max(counters));
        }
        whole.checked_add(bytes)?;
        Some([whole, bytes, counters])
    }

    /// Returns the copy of the rows that begin at `x` to a slab at `to`.
    fn copy(&self, plan: &Plan, shape: &Shape, part: usize, x: *mut u8, to: *mut u8) -> Converted {
        let size = self.dtype.size() as isize;
        let mut loops = List::new();
        let mut push = |count: usize, from: isize, to: &mut isize| {
            let mut steps = [0; MAX_OPERANDS];
            [steps[0], steps[1]] = [*to, from];
            *to *= count as isize;
            if count > 1 {
                loops.push(Loop { count, steps });
            }
        };
        let mut step = shape.cs * size;
        for axis in plan.reduced.iter().rev() {
            push(axis.count, axis.step, &mut step);
        }
        let mut step = shape.rs * size;
        for (i, axis) in self.axes.iter().enumerate().rev() {
            let count = if i == 0 { part } else { axis.count };
            push(count, axis.x, &mut step);
        }
        let of = Type::Float(self.dtype);
        Converted {
            of,
            to: of,
            loops: Loops::of_copy(loops, to, x),
        }
    }
}

/// Divides the kept axes into those whose results are evenly spaced, and the others.
fn group(plan: &Plan) -> (List<Kept>, List<Kept>) {
    let mut outer = plan.kept.clone();
    let mut axes = List::new();
    // From the axis with the closest results on outwards.
    let closest = |one: &Kept| (true, usize::MAX - one.out.unsigned_abs());
    let mut last = take(&mut outer, closest);
    while let Some(axis) = last {
        axes.push(axis);
        let next = axis.out.wrapping_mul(axis.count as isize);
        let at = outer.iter().position(|one| one.out == next);
        last = at.and_then(|at| outer.remove(at));
    }
    axes.reverse();
    (axes, outer)
}

/// Reduces rows whose elements are not evenly spaced.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn reduce<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    dtype: Dtype,
    plan: &Plan,
    ddof: usize,
) -> Result<(), D::Error> {
    let (slabs, slab, scratch) = allocate(device, reduction, dtype, plan)?;
    device.prepare(&entry::convert, Dtype::F32)?;
    let [rows, columns] = reduction.kernels;
    device.prepare(rows, dtype)?;
    if slabs.columns {
        device.prepare(columns, dtype)?;
    }
    let result = reduction.facts.result(dtype).size() as isize;
    let inc_out = slabs.axes.last().map_or(1, |axis| axis.out / result);
    let first = slabs.axes.first().copied();
    let mut done = Ok(());
    each_index(&slabs.outer, [plan.x, plan.out], |[x, out]| {
        for from in (0..slabs.first).step_by(slabs.part) {
            let (x_step, out_step) = first.map_or((0, 0), |axis| (axis.x, axis.out));
            let x = x.wrapping_offset(x_step.wrapping_mul(from as isize));
            let out = out.wrapping_offset(out_step.wrapping_mul(from as isize));
            let part = slabs.part.min(slabs.first - from);
            let shape = slabs.shape(part, inc_out);
            let rows = Rows {
                shape,
                batch: Batch::ONE,
                ddof,
                scratch: Some(scratch),
            };
            if done.is_ok() {
                let job = slabs.copy(plan, &shape, part, x, slab);
                // SAFETY: as the caller's; the slab has room for the rows.
                done = unsafe { copy(device, job, None) }
                    .and_then(|()| (reduction.launch)(dtype, rows, slab, out));
            }
        }
    });
    done
}

/// Returns slabs for which there is scratch memory, where it begins, and what is behind them.
fn allocate<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    dtype: Dtype,
    plan: &Plan,
) -> Result<(Slabs, *mut u8, Scratch), D::Error> {
    let allocate = |limit| {
        let slabs = Slabs::new(plan, dtype, limit);
        let needed = slabs.scratch(device, reduction);
        let [slab, bytes, counters] = needed.ok_or(Error::SizeOverflow { arg: "x" })?;
        let scratch = device.scratch(slab + bytes, counters)?;
        let behind = Scratch {
            bytes: scratch.bytes.wrapping_add(slab),
            ..scratch
        };
        Ok((slabs, scratch.bytes, behind))
    };
    // The refusal of large slabs says how much memory is best.
    allocate(SLAB).or_else(|refusal| allocate(SMALL_SLAB).map_err(|_: D::Error| refusal))
}
