//! Runs the kernels of reductions over the axes of a plan.
//!
//! Where one reduced axis is left, the kernels of rows run over it and over one of the kept axes, in a loop over the
//! others. Where more are left, elements are gathered: all elements of a block of results if they fit a buffer in L1,
//! else chunk by chunk; of a transposed array several rows at once, so that each line of memory is read once.

use super::blocks::{ResultBlock, ResultBlocks, block_bytes};
use super::gather::{CHUNK, LINE, Lines, Window, add_loops, copy_any};
use super::plan::{AxisPlan, KeptAxis};
use crate::aligned::AlignedBytes;
use crate::api::reduce::{Kernel, MAX_GATHERED, RowMatrix, StridedVector};
use crate::copy::CopyLoop;
use crate::detect::is_from_memory;
use crate::exec::Exec;
use crate::tensor::list::List;
use crate::tensor::operand::Axis;

/// Bytes of the elements that are gathered for a block of results.
const BUFFER: usize = 8 << 10;
/// The fewest columns for which gathering the elements of one axis as columns is faster than gathering chunks.
const FEW_COLUMNS: usize = 16;
/// Results of such a block.
const RESULTS: usize = 256;
/// Most elements of a result that are gathered as columns wherever they lie: the kernels of rows would copy such rows
/// to columns.
const SHORT: usize = 8;
/// Bytes from one vector's chunk to the next: different sets of a cache.
const PITCH: usize = CHUNK + LINE;
/// The longest step, in bytes, between results that are computed together although it exceeds the elements' step, and
/// how many are.
const SHORT_STEP: usize = 4 << 10;
const FEW: usize = 4;

impl KeptAxis {
    /// The axis of the input.
    fn of_x(self) -> Axis {
        Axis {
            count: self.count,
            step: self.x,
        }
    }

    /// The axis of the output.
    fn of_out(self) -> Axis {
        Axis {
            count: self.count,
            step: self.out,
        }
    }
}

// `inline(never)`: what is inlined keeps its lists on the stack while the kernels run.
impl AxisPlan {
    /// Computes all results, with the threads of `exec`.
    ///
    /// # Safety
    /// The input must be valid at the elements that the axes reach; the output too, which must be apart from the input.
    /// The machine must have the kernel's level.
    pub(in crate::tensor) unsafe fn run(&self, exec: &Exec<'_>, kernel: &dyn Kernel) {
        if self.results == 0 {
            return;
        }
        let bytes = self.elements.saturating_mul(self.size);
        let all = self.results.saturating_mul(bytes);
        let last = self.kept.last().map_or(0, |one| one.x as usize);
        let is_closer = last != 0 && last < self.closest();
        // Results that lie closer in memory than the elements of each are computed together, so that lines are read
        // once. So are results at most `SHORT_STEP` apart if elements come from memory, which is then read in longer
        // runs.
        let at_once = if is_closer {
            (LINE / last).clamp(1, MAX_GATHERED)
        } else if last != 0 && last <= SHORT_STEP && is_from_memory::<u8>(all) {
            FEW
        } else {
            1
        };
        let axis = match *self.reduced {
            [] => Some(Axis {
                count: 1,
                step: self.size as isize,
            }),
            [one] => Some(one),
            _ => None,
        };
        // SAFETY: as the caller's.
        unsafe {
            match axis {
                Some(axis) if is_closer && at_once > 1 && self.has_no_kernel(axis) => {
                    if all <= BUFFER {
                        self.blocks(exec, kernel);
                    } else if bytes.saturating_mul(FEW_COLUMNS) <= block_bytes(exec) {
                        self.strips(exec, kernel);
                    } else {
                        self.chunks(exec, kernel, at_once);
                    }
                }
                Some(axis) if !self.is_short(axis) => self.along(exec, kernel, axis),
                None if bytes.saturating_mul(at_once) > BUFFER => {
                    self.chunks(exec, kernel, at_once);
                }
                _ => self.blocks(exec, kernel),
            }
        }
    }

    /// Returns the kept axis over which the kernels of rows run where one axis is reduced: its number and its length.
    pub(in crate::tensor) fn rows(&self, axis: Axis) -> Option<(usize, usize)> {
        let size = self.size as isize;
        let kept = || self.kept.iter().enumerate();
        let contiguous = kept().find(|(_, one)| one.x == size && axis.step != size);
        let rows = contiguous.or_else(|| kept().max_by_key(|(_, one)| one.count));
        rows.map(|(number, one)| (number, one.count))
    }

    /// Returns whether the kernels would take one strided vector after the other: elements lie next to each other neither
    /// along the reduced axis nor along a kept one.
    fn has_no_kernel(&self, axis: Axis) -> bool {
        let size = self.size as isize;
        let has_columns = || self.kept.iter().any(|one| one.x == size);
        self.elements > 1 && axis.step != size && !has_columns()
    }

    /// Returns whether calls of the kernels of rows over one reduced axis would be many and too short.
    fn is_short(&self, axis: Axis) -> bool {
        /// Bytes of a call of a kernel that take longer than its preparation.
        const LONG: usize = 1 << 10;
        let rows = self.rows(axis).map_or(1, |(_, count)| count);
        let bytes = self.elements.saturating_mul(self.size).saturating_mul(rows);
        bytes < LONG && self.results > rows && self.elements > 0
    }

    /// Reduces along one axis.
    ///
    /// # Safety
    /// As [`AxisPlan::run`].
    #[inline(never)]
    unsafe fn along(&self, exec: &Exec<'_>, kernel: &dyn Kernel, axis: Axis) {
        let number = self.rows(axis).map_or(usize::MAX, |(number, _)| number);
        let blocks = ResultBlocks::of_axis(self, number, usize::MAX);
        blocks.for_each_block(self, exec, true, &|exec, _, block| {
            let shape = [block.len, axis.count];
            let rows = RowMatrix::new(shape, block.x.cast_const(), [blocks.split.x, axis.step]);
            let out = StridedVector::new(block.out, blocks.split.out);
            // SAFETY: as the caller's; no other block has these results.
            unsafe { kernel.rows(exec, rows, out) };
        });
    }

    /// Gathers all elements of blocks of results.
    ///
    /// # Safety
    /// As [`AxisPlan::run`]; the elements of a result must fit the buffer.
    #[inline(never)]
    unsafe fn blocks(&self, exec: &Exec<'_>, kernel: &dyn Kernel) {
        let each = self.elements.saturating_mul(self.size);
        let most = BUFFER.checked_div(each).unwrap_or(0).clamp(1, RESULTS);
        let blocks = ResultBlocks::of_results(self, most);
        blocks.for_each_block(self, exec, false, &|exec, _, block| {
            let mut elements = AlignedBytes::<BUFFER>::new();
            // SAFETY: as the caller's; no other block has these results.
            unsafe { self.block(exec, kernel, &blocks, block, elements.start()) };
        });
    }

    /// Gathers blocks of columns in scratch memory, or their elements chunk by chunk where there is none.
    ///
    /// # Safety
    /// As [`AxisPlan::run`]; the elements of [`FEW_COLUMNS`] results must fit [`block_bytes`].
    #[inline(never)]
    unsafe fn strips(&self, exec: &Exec<'_>, kernel: &dyn Kernel) {
        let each = self.elements.saturating_mul(self.size);
        let most = block_bytes(exec).checked_div(each).unwrap_or(0);
        let most = most.clamp(1, RESULTS);
        let blocks = ResultBlocks::of_axis(self, self.kept.len().wrapping_sub(1), most);
        exec.with_optional_scratch(exec.threads(), most * each + LINE, |scratch| {
            blocks.for_each_block(self, exec, false, &|exec, task, block| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE);
                    // SAFETY: as the caller's; no other block has these results.
                    unsafe {
                        match bytes {
                            0 => self.lines(kernel, blocks.split, block, (p, 0, None)),
                            _ => self.block(exec, kernel, &blocks, block, p),
                        }
                    }
                });
            });
        });
    }

    /// Gathers the elements of one block in `elements`, as rows or as columns.
    ///
    /// # Safety
    /// As [`AxisPlan::run`]; there must be room for the elements, and the block have at most [`RESULTS`] results.
    #[inline(never)]
    unsafe fn block(
        &self,
        exec: &Exec<'_>,
        kernel: &dyn Kernel,
        blocks: &ResultBlocks,
        block: ResultBlock,
        elements: *mut u8,
    ) {
        let mut results = AlignedBytes::<{ 8 * RESULTS }>::new();
        let split = KeptAxis {
            count: block.len,
            ..blocks.split
        };
        let kept = || core::iter::once(split).chain(blocks.inner.iter().copied());
        let (m, n) = (
            kept().map(|one| one.count).product::<usize>(),
            self.elements,
        );
        let steps = kept().filter(|one| one.count > 1).map(|one| one.x as usize);
        let are_closer = || steps.min().is_some_and(|step| step < self.closest());
        let are_columns = n <= SHORT || are_closer();
        let size = self.size as isize;
        let (rs, cs) = if are_columns {
            (size, size * m as isize)
        } else {
            (size * n as isize, size)
        };
        let mut loops = List::new();
        add_loops(&mut loops, kept().map(KeptAxis::of_x), rs);
        add_loops(&mut loops, self.reduced.iter().copied(), cs);
        let inc = kernel.result_size() as isize;
        let mut back = List::new();
        add_loops(&mut back, kept().map(KeptAxis::of_out), inc);
        let in_place = match *back {
            [] => Some(inc),
            [one] => Some(one.from),
            _ => None,
        };
        let rows = RowMatrix::new([m, n], elements.cast_const(), [rs, cs]);
        let to = in_place.map_or(results.start(), |_| block.out);
        let to = StridedVector::new(to, in_place.unwrap_or(inc));
        // SAFETY: as the caller's.
        unsafe {
            copy_any(kernel.level(), self.size, elements, block.x, &mut loops);
            kernel.rows(exec, rows, to);
            if in_place.is_none() {
                for one in back.iter_mut() {
                    let CopyLoop { to, from, .. } = *one;
                    (one.to, one.from) = (from, to);
                }
                copy_any(
                    kernel.level(),
                    kernel.result_size(),
                    block.out,
                    results.start(),
                    &mut back,
                );
            }
        }
    }

    /// Gathers elements chunk by chunk, of up to `at_once` results together.
    ///
    /// # Safety
    /// As [`AxisPlan::run`].
    #[inline(never)]
    unsafe fn chunks(&self, exec: &Exec<'_>, kernel: &dyn Kernel, at_once: usize) {
        let last = self.kept.len().wrapping_sub(1);
        let blocks = ResultBlocks::of_axis(self, last, at_once);
        let window = |most| {
            let window = (at_once == 1).then(|| Window::new(&self.reduced, self.size, most));
            window.flatten()
        };
        let best = window(usize::MAX).map(|window| window.bytes(self.size));
        let bytes = best.unwrap_or(at_once * PITCH) + LINE;
        exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
            blocks.for_each_block(self, exec, false, &|_, task, block| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE);
                    let bytes = bytes.saturating_sub(LINE);
                    let window = window(bytes);
                    let room = match window {
                        Some(_) => 1,
                        None => bytes / PITCH,
                    };
                    // SAFETY: as the caller's; no other block has these results.
                    unsafe { self.lines(kernel, blocks.split, block, (p, room, window)) };
                });
            });
        });
    }

    /// Reduces a block of vectors, as many at once as there is room for, or one by one without memory for them.
    ///
    /// # Safety
    /// As [`AxisPlan::run`]; the buffer must have room for that many chunks, or for the window of a single vector.
    unsafe fn lines(
        &self,
        kernel: &dyn Kernel,
        split: KeptAxis,
        block: ResultBlock,
        (buffer, room, mut window): (*mut u8, usize, Option<Window>),
    ) {
        let mut own = AlignedBytes::<CHUNK>::new();
        let buffer = if room == 0 { own.start() } else { buffer };
        let mut from = 0;
        while from < block.len {
            let count = room.max(1).min(block.len - from);
            let runs = from as isize;
            let mut lines = Lines {
                level: kernel.level(),
                size: self.size,
                axes: &self.reduced,
                x: block.x.wrapping_offset(split.x.wrapping_mul(runs)),
                vectors: Axis {
                    count,
                    step: split.x,
                },
                buffer,
                pitch: PITCH as isize,
                window: window.take(),
            };
            let out = block.out.wrapping_offset(split.out.wrapping_mul(runs));
            // SAFETY: as the caller's.
            unsafe { kernel.gathered(count, self.elements, &mut lines, out, split.out) };
            from += count;
        }
    }
}
