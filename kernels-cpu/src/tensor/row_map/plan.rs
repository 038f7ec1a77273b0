//! The axes of a map over rows, and the loops over them.

use core::marker::PhantomData;

use crate::api::reduce::Elements as Results;
use crate::api::row_map::check::MatrixPair;
use crate::api::row_map::run::{BLOCK_BYTES, RowMapKernels, STATISTICS, Values, most_rows};
use crate::detect;
use crate::dispatch::Compute;
use crate::element::{Dtype, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::tensor::kind::Location;
use crate::tensor::list::List;
use crate::tensor::operand::{Axis, Operand, Tensor};
use crate::tensor::reduce::blocks::{ResultBlock, ResultBlocks};
use crate::tensor::reduce::plan::{AxisPlan, KeptAxis, set_of};
use crate::tensor::reduce::{Job, run_job};
use crate::tensor::vectors::float_type;

/// The axes of a map, dropped, turned, reordered and merged as far as that keeps the bits.
pub struct RowMapPlan {
    /// The axes of x. Results are the rows of the map; where they go is the first element of each row of the output.
    pub rows: AxisPlan,
    /// The axes over which a row extends, in row-major order, with their steps in x and in the output.
    pub along: List<KeptAxis>,
}

impl RowMapPlan {
    /// Returns a plan of nothing, for [`RowMapPlan::check`].
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            rows: AxisPlan::empty(),
            along: List::new(),
        }
    }

    /// Checks the arguments of a call, and makes this what to do. Returns the type of the elements; `None` if there are
    /// none.
    ///
    /// # Errors
    /// Those of [`Operand::in_memory`]; `UnsupportedType`, `TypeMismatch`, `ShapeMismatch`, `Overlap`; `InvalidValue` for
    /// the axes.
    ///
    /// # Safety
    /// `shape` and `strides` of both tensors must be valid.
    #[inline(never)]
    pub unsafe fn check(
        &mut self,
        x: &Tensor,
        axes: Option<&[i32]>,
        out: &Tensor,
        memory: Location,
    ) -> Result<Option<Dtype>> {
        let (tensor, output) = (x, out);
        let (mut x, mut out) = (Operand::empty("x"), Operand::empty("out"));
        // SAFETY: as the caller's.
        unsafe {
            x.set(tensor, memory)?;
            out.set(output, memory)?;
        }
        let dtype = float_type(&x)?;
        out.same_type(&x)?;
        let set = set_of(axes, x.rank())?;
        self.set(&x, &out, set)?;
        out.check_distinct()?;
        out.same_or_apart_from(&x)?;
        Ok((x.count > 0).then_some(dtype))
    }

    /// Makes this the plan for the axes in `set`.
    ///
    /// # Errors
    /// `ShapeMismatch` unless `out` has the shape of x.
    fn set(&mut self, x: &Operand, out: &Operand, set: u64) -> Result<()> {
        let mut both = x.axes.iter().zip(out.axes.iter());
        if x.rank() != out.rank() || both.any(|(axis, to)| axis.count != to.count) {
            return Err(Error::ShapeMismatch { arg: out.arg });
        }
        let plan = &mut self.rows;
        (plan.x, plan.out, plan.size) = (x.p, out.p, x.of.size());
        (plan.results, plan.elements) = (1, 1);
        for (i, (axis, to)) in x.axes.iter().zip(out.axes.iter()).enumerate() {
            let one = KeptAxis {
                count: axis.count,
                x: axis.step,
                out: to.step,
            };
            let (list, product) = if set >> i & 1 == 1 {
                (&mut self.along, &mut plan.elements)
            } else {
                (&mut plan.kept, &mut plan.results)
            };
            *product *= axis.count;
            if axis.count != 1 {
                list.push(one);
            }
        }
        for one in self.along.iter() {
            plan.reduced.push(Axis {
                count: one.count,
                step: one.x,
            });
        }
        plan.simplify_kept();
        // The reductions read x alone, the step both tensors.
        plan.simplify_reduced(false);
        self.along.merge(KeptAxis::followed_by);
        Ok(())
    }

    /// Computes all rows, with the threads of `exec`.
    ///
    /// # Safety
    /// The tensors must be valid at the elements that the axes reach; the machine must have the kernels' level.
    pub(super) unsafe fn run<T: Storage>(
        &self,
        exec: &Exec<'_>,
        kernels: &RowMapKernels<Compute<T>>,
    ) {
        let plan = &self.rows;
        let size = size_of::<T>() as isize;
        let inner = self.along.last().copied().unwrap_or(KeptAxis {
            count: 1,
            x: size,
            out: size,
        });
        let axis = Axis {
            count: inner.count,
            step: inner.x,
        };
        let outer = self.along.split_last().map_or(&[][..], |(_, outer)| outer);
        let number = plan.rows(axis).map_or(usize::MAX, |(number, _)| number);
        let most = if outer.is_empty() {
            usize::MAX
        } else {
            let row = plan.elements.saturating_mul(plan.size);
            (BLOCK_BYTES / row.max(1)).clamp(1, most_rows::<Compute<T>>())
        };
        let blocks = ResultBlocks::of_axis(plan, number, most);
        let all = plan
            .results
            .saturating_mul(plan.elements)
            .saturating_mul(plan.size);
        let stream = plan.x != plan.out && detect::exceeds_llc(all.saturating_mul(2));
        blocks.for_each_block(plan, exec, true, &|exec, _, block| {
            let pair = |x: *mut u8, out: *mut u8| {
                let split = blocks.split;
                MatrixPair::<T> {
                    m: block.len,
                    n: inner.count,
                    x: Matrix::new(
                        x.cast_const().cast(),
                        elements::<T>(split.x),
                        elements::<T>(inner.x),
                    ),
                    out: Matrix::new(
                        out.cast(),
                        elements::<T>(split.out),
                        elements::<T>(inner.out),
                    ),
                }
            };
            // SAFETY: as the caller's; no other block has these rows.
            unsafe {
                if outer.is_empty() {
                    kernels.run(exec, pair(block.x, block.out), stream);
                } else {
                    self.block(exec, kernels, (blocks.split, block), outer, &pair, stream);
                }
            }
        });
    }

    /// Computes the rows of a block, which extend over several axes: the outer ones, and those of a `pair`.
    ///
    /// # Safety
    /// As [`RowMapPlan::run`]; there must be at most [`most_rows`] rows.
    #[inline(never)]
    unsafe fn block<T: Storage>(
        &self,
        exec: &Exec<'_>,
        kernels: &RowMapKernels<Compute<T>>,
        (split, block): (KeptAxis, ResultBlock),
        outer: &[KeptAxis],
        pair: &dyn Fn(*mut u8, *mut u8) -> MatrixPair<T>,
        stream: bool,
    ) {
        let mut values = [const { Values::uninit() }; STATISTICS];
        let to = values
            .each_mut()
            .map(|values| values.as_mut_ptr().cast::<Compute<T>>());
        for (reduction, to) in kernels.statistics.iter().flatten().zip(to) {
            let mut plan = AxisPlan::empty();
            (plan.x, plan.out, plan.size) = (block.x, to.cast(), size_of::<T>());
            (plan.results, plan.elements) = (block.len, self.rows.elements);
            plan.kept.push(KeptAxis {
                count: block.len,
                x: split.x,
                out: size_of::<Compute<T>>() as isize,
            });
            plan.reduced = self.rows.reduced.clone();
            // SAFETY: as the caller's; there is room for the results of a block.
            unsafe {
                let kernel = Results::<Compute<T>, Compute<T>>(reduction, PhantomData);
                run_job::<T, _>(exec, &kernel, false, Job::AxisPlan(&plan));
            }
        }
        let statistics = to.map(<*mut Compute<T>>::cast_const);
        for_each_index(outer, block.x, block.out, &mut |x, out| {
            // SAFETY: as the caller's; the statistics have been computed.
            unsafe { kernels.step(exec, pair(x, out), &statistics, stream) };
        });
    }
}

/// Returns a distance in elements. (The size is a constant here: a division by a variable could panic.)
fn elements<T>(bytes: isize) -> isize {
    bytes / size_of::<T>() as isize
}

impl KeptAxis {
    /// Returns this axis and the next inner one as one axis, if that goes on where it ends in both tensors.
    pub(in crate::tensor) fn followed_by(&self, inner: &Self) -> Option<Self> {
        let count = inner.count as isize;
        let is_one =
            inner.x.wrapping_mul(count) == self.x && inner.out.wrapping_mul(count) == self.out;
        is_one.then(|| Self {
            count: self.count * inner.count,
            ..*inner
        })
    }
}

/// Calls `body` with the addresses in both tensors for each index of nested axes.
fn for_each_index(
    axes: &[KeptAxis],
    x: *mut u8,
    out: *mut u8,
    body: &mut dyn FnMut(*mut u8, *mut u8),
) {
    let Some((one, inner)) = axes.split_first() else {
        return body(x, out);
    };
    for i in 0..one.count as isize {
        let x = x.wrapping_offset(one.x.wrapping_mul(i));
        let out = out.wrapping_offset(one.out.wrapping_mul(i));
        for_each_index(inner, x, out, body);
    }
}
