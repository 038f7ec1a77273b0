//! The loops of an elementwise operation over tensors: one for each axis that is left after axes have been dropped,
//! turned, reordered and merged.

use super::list::List;
use super::operand::Operand;
use crate::error::{Error, Result};
use core::ptr;

/// The most tensors of an operation: the output and four inputs.
pub const MAX_OPERANDS: usize = 5;

/// A loop: how often it runs, and by how many bytes each tensor advances. Tensor 0 is the output.
#[derive(Clone, Copy)]
pub struct Loop {
    /// How often it runs.
    pub count: usize,
    /// Bytes from one turn to the next.
    pub steps: [isize; MAX_OPERANDS],
}

impl Loop {
    /// Returns whether tensor k is contiguous along this loop; its elements have `size` bytes.
    pub fn is_contiguous(&self, k: usize, size: isize) -> bool {
        self.count == 1 || self.steps.get(k) == Some(&size)
    }
}

/// Nested loops, the outermost first.
#[derive(Clone)]
pub struct Loops {
    /// The loops.
    pub loops: List<Loop>,
    /// Where each tensor begins.
    pub first: [*mut u8; MAX_OPERANDS],
    /// The number of tensors.
    pub operands: usize,
}

impl Loops {
    /// Returns loops over no tensors, for [`Loops::set`].
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            loops: List::new(),
            first: [ptr::null_mut(); MAX_OPERANDS],
            operands: 0,
        }
    }

    /// Returns the loops over the elements of `out` and of `inputs`, which are broadcast to its shape, in an order that
    /// suits the output.
    ///
    /// # Errors
    /// `ShapeMismatch` for an input that does not fit.
    pub fn new<'a>(out: &Operand, inputs: impl Iterator<Item = &'a Operand>) -> Result<Self> {
        let mut loops = Self::empty();
        loops.set(out, inputs)?;
        Ok(loops)
    }

    /// Makes these [`Loops::new`], in place: to move them takes as long as a small operation.
    ///
    /// # Errors
    /// As [`Loops::new`].
    pub fn set<'a>(
        &mut self,
        out: &Operand,
        inputs: impl Iterator<Item = &'a Operand>,
    ) -> Result<()> {
        self.set_axes(out, inputs)?;
        self.reorder();
        self.merge();
        Ok(())
    }

    /// Returns loops over two tensors, in an order that suits the first.
    pub fn of_copy(loops: List<Loop>, to: *mut u8, from: *mut u8) -> Self {
        Self::ordered(loops, [to, from, to, to, to], 2)
    }

    /// Returns loops over so many tensors, which begin at `first`, in an order that suits the first of them.
    pub fn ordered(loops: List<Loop>, first: [*mut u8; MAX_OPERANDS], operands: usize) -> Self {
        let mut all = Self {
            loops,
            first,
            operands,
        };
        all.reorder();
        all.merge();
        all
    }

    /// Returns the loops over an output and its inputs in row-major order.
    ///
    /// # Errors
    /// As [`Loops::new`].
    pub fn in_order<'a>(out: &Operand, inputs: impl Iterator<Item = &'a Operand>) -> Result<Self> {
        let mut loops = Self::empty();
        loops.set_axes(out, inputs)?;
        loops.merge();
        Ok(loops)
    }

    /// Makes these a loop for each axis.
    fn set_axes<'a>(
        &mut self,
        out: &Operand,
        inputs: impl Iterator<Item = &'a Operand>,
    ) -> Result<()> {
        self.loops.truncate(0);
        for axis in out.axes.iter() {
            let mut steps = [0; MAX_OPERANDS];
            steps[0] = axis.step;
            self.loops.push(Loop {
                count: axis.count,
                steps,
            });
        }
        self.first = [out.p; MAX_OPERANDS];
        self.operands = 1;
        for (input, k) in inputs.zip(1..MAX_OPERANDS) {
            self.operands = k + 1;
            if let Some(first) = self.first.get_mut(k) {
                *first = input.p;
            }
            let mismatch = Error::ShapeMismatch { arg: input.arg };
            let missing = out.rank().checked_sub(input.rank()).ok_or(mismatch)?;
            for (i, one) in self.loops.iter_mut().enumerate() {
                let step = input.broadcast_step(i, missing, one.count);
                if let Some(slot) = one.steps.get_mut(k) {
                    *slot = step.ok_or(mismatch)?;
                }
            }
        }
        Ok(())
    }

    /// Turns loops so that the output is written in ascending order, and nests them in the order of its steps.
    fn reorder(&mut self) {
        for one in self.loops.iter_mut() {
            if one.steps[0] < 0 {
                for (step, first) in one.steps.iter_mut().zip(&mut self.first) {
                    let reach = step.wrapping_mul(one.count.saturating_sub(1) as isize);
                    *first = first.wrapping_offset(reach);
                    *step = step.wrapping_neg();
                }
            }
        }
        self.loops.sort_by_key(|one| -one.steps[0]);
    }

    /// Drops loops that run once, and merges adjacent loops whose strides continue each other.
    fn merge(&mut self) {
        self.loops.retain(|one| one.count != 1);
        self.loops.merge(|outer, inner| {
            continues(outer, inner).then(|| Loop {
                count: outer.count * inner.count,
                steps: inner.steps,
            })
        });
    }

    /// Returns the innermost loop; one that runs once if there is none.
    pub fn innermost(&self) -> Loop {
        self.loops.last().copied().unwrap_or(Loop {
            count: 1,
            steps: [0; MAX_OPERANDS],
        })
    }

    /// Returns the loops around the innermost one.
    pub fn outer(&self) -> &[Loop] {
        self.loops.split_last().map_or(&[], |(_, outer)| outer)
    }

    /// Returns the number of elements.
    pub fn count(&self) -> usize {
        self.loops.iter().map(|one| one.count).product()
    }

    /// Returns whether tensor k has one element for all loops.
    pub fn is_constant(&self, k: usize) -> bool {
        self.loops.iter().all(|one| one.steps.get(k) == Some(&0))
    }
}

/// Returns whether `outer` goes on where `inner` ends, for every tensor.
fn continues(outer: &Loop, inner: &Loop) -> bool {
    let count = inner.count as isize;
    outer
        .steps
        .iter()
        .zip(inner.steps)
        .all(|(&outer, inner)| inner.wrapping_mul(count) == outer)
}

/// Calls `body` with the addresses of each run of nested loops.
pub fn for_each(
    loops: &[Loop],
    first: [*mut u8; MAX_OPERANDS],
    mut body: impl FnMut([*mut u8; MAX_OPERANDS]),
) {
    let mut done = List::new();
    loops.iter().for_each(|_| done.push(0));
    let mut p = first;
    'next: loop {
        body(p);
        for (one, done) in loops.iter().zip(done.iter_mut()).rev() {
            *done += 1;
            if *done < one.count {
                p = advance(p, one, 1);
                continue 'next;
            }
            p = advance(p, one, 1_usize.wrapping_sub(one.count));
            *done = 0;
        }
        return;
    }
}

/// Returns the addresses `runs` runs of a loop further on.
#[inline(always)]
pub fn advance(mut p: [*mut u8; MAX_OPERANDS], one: &Loop, runs: usize) -> [*mut u8; MAX_OPERANDS] {
    for (p, step) in p.iter_mut().zip(one.steps) {
        *p = p.wrapping_offset(step.wrapping_mul(runs as isize));
    }
    p
}

/// Returns whether the elements of tensor k lie in one piece, in the order of the loops.
pub(crate) fn is_dense(block: &[Loop], k: usize, sizes: [usize; MAX_OPERANDS]) -> bool {
    let mut expected = sizes.get(k).map_or(0, |&size| size as isize);
    block.iter().rev().all(|one| {
        let fits = one.count == 1 || one.steps.get(k) == Some(&expected);
        expected = expected.wrapping_mul(one.count as isize);
        fits
    })
}
