//! Runs an elementwise kernel, which takes contiguous arrays, over tensors with any strides. Each element is computed
//! alone ("CANONICAL ORDERS" in `include/diptych.h`), so blocks and buffers do not change bits:
//!
//! ```text
//! run:                            # threads share the outermost loop of 64 steps or more, else the longest loop
//!     if all tensors are contiguous along the innermost loop, and it is long or the only one:
//!         whole_rows:     for each row: kernel(row)
//!     else if the innermost loop is long:             # 256 bytes
//!         rows:           for the other loops: for each block of columns, and of rows along the loop across:
//!                             fill the buffers
//!                             for each row of the block: kernel(row)
//!                             copy the output's buffer to the output
//!     else:
//!         short_loops:    for the outer loops: for each block of as many inner loops as a buffer holds:
//!                             fill the buffers; kernel(block); copy the output's buffer to the output
//! ```
//!
//! Each tensor that is not contiguous has a buffer in L1, on the stack. It is filled a cache line at a time along the
//! tensor's fastest axis when that differs from the output's (the loop across), and is reused while its tensor does
//! not move (broadcasting).

use super::buffers::{Buffers, buffer, write_back};
use super::cast::{self, Conversion};
use super::list::List;
use super::loops::{Loop, Loops, MAX_OPERANDS, advance, for_each};
use crate::detect;
use crate::exec::{Exec, share};
use crate::level::Level;

/// Bytes of the shortest row for which the kernel runs once.
const LONG_ROW: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A kernel for one type of elements, on `n` elements: of the inputs, of the output; with non-temporal stores or not.
pub type ArrayKernel = unsafe fn(
    level: Level,
    n: usize,
    inputs: &[*const u8; MAX_OPERANDS - 1],
    out: *mut u8,
    stream: bool,
);

/// What is done to contiguous arrays.
#[derive(Clone, Copy)]
pub enum ArrayOperation {
    /// A kernel for one type of elements.
    Kernel(ArrayKernel),
    /// A conversion of the only input to the type of the output.
    Conversion(Conversion),
}

/// An operation on arrays, and the tensors that it runs over.
#[derive(Clone, Copy)]
pub struct Blocks<'a> {
    pub operation: ArrayOperation,
    pub level: Level,
    /// Bytes of an element of each tensor.
    pub sizes: [usize; MAX_OPERANDS],
    pub loops: &'a Loops,
    /// Inputs that the kernel takes as one number.
    pub is_scalar: [bool; MAX_OPERANDS],
    /// Whether the kernel reads the output.
    pub updates: bool,
}

/// A [`Blocks`] that tasks share.
struct SharedBlocks<'a>(Blocks<'a>);

// SAFETY: the addresses in it are read by each task; what tasks write at them is apart.
unsafe impl Sync for SharedBlocks<'_> {}

impl Blocks<'_> {
    /// Runs the kernel over all elements, with the threads of `exec`.
    ///
    /// # Safety
    /// Every tensor must be valid at the elements that the loops reach, and the output apart from inputs that are not
    /// exactly the output.
    pub unsafe fn run(&self, exec: &Exec<'_>) {
        let count = self.loops.count();
        let bytes = count.saturating_mul(self.largest());
        let in_place = self.updates || self.inputs().any(|k| self.starts_at_output(k));
        let stream = !in_place && self.exceeds_llc();
        let Some((number, longest)) = self.loop_to_split() else {
            // SAFETY: as the caller's.
            return unsafe { self.part(stream) };
        };
        const GRAIN: usize = 64;
        let grain = if number + 1 == self.loops.loops.len() {
            GRAIN
        } else {
            1
        };
        let grains = longest.div_ceil(grain);
        let tasks = exec.tasks(bytes, grains);
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.part(stream) };
        }
        let each = share(grains, tasks) * grain;
        let whole = SharedBlocks(*self);
        exec.run(tasks, &move |task| {
            let whole = &whole;
            let from = (task * each).min(longest);
            let loops = whole.0.restricted(number, from, each.min(longest - from));
            let part = Blocks {
                loops: &loops,
                ..whole.0
            };
            // SAFETY: as the caller's; no other task writes this part.
            unsafe { part.part(stream) };
        });
    }

    /// Returns whether the arrays together are larger than the last cache.
    fn exceeds_llc(&self) -> bool {
        let bytes = self.loops.count().saturating_mul(self.largest());
        let arrays = 1 + self.inputs().count();
        detect::exceeds_llc(bytes.saturating_mul(arrays))
    }

    /// Bytes of the largest element.
    fn largest(&self) -> usize {
        let sizes = self.sizes.iter().take(self.loops.operands);
        sizes.copied().max().unwrap_or(1)
    }

    /// The elements that fit each buffer.
    fn most(&self) -> usize {
        buffer(self.loops.operands) / self.largest().max(1)
    }

    /// Bytes of the smallest element.
    fn smallest(&self) -> usize {
        let sizes = self.sizes.iter().take(self.loops.operands);
        sizes.copied().min().unwrap_or(1)
    }

    /// The inputs that are arrays, by their numbers among the tensors.
    fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        let arrays = self.is_scalar.iter().take(self.loops.operands).enumerate();
        arrays
            .skip(1)
            .filter(|(_, is_scalar)| !**is_scalar)
            .map(|(k, _)| k)
    }

    fn starts_at_output(&self, k: usize) -> bool {
        let [out, ..] = self.loops.first;
        self.loops.first.get(k) == Some(&out)
    }

    /// Returns the loop whose runs are shared among threads, and their number: the outermost loop with many runs, else
    /// the longest.
    fn loop_to_split(&self) -> Option<(usize, usize)> {
        const MANY: usize = 64;
        let counts = || self.loops.loops.iter().map(|one| one.count).enumerate();
        counts()
            .find(|&(_, count)| count >= MANY)
            .or_else(|| counts().max_by_key(|&(_, count)| count))
    }

    /// Returns the loops with `count` runs of one of them, from number `from` on.
    fn restricted(&self, number: usize, from: usize, count: usize) -> Loops {
        let mut part = self.loops.clone();
        if let Some(one) = part.loops.get_mut(number) {
            one.count = count;
            for (first, step) in part.first.iter_mut().zip(one.steps) {
                *first = first.wrapping_offset(step.wrapping_mul(from as isize));
            }
        }
        part
    }

    /// Runs the kernel over all elements, on this thread.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn part(&self, stream: bool) {
        if self.loops.loops.iter().any(|one| one.count == 0) {
            return;
        }
        let inner = self.loops.innermost();
        let is_direct = self.is_direct(inner);
        let all_direct = is_direct[0]
            && self
                .inputs()
                .all(|k| is_direct.get(k).is_some_and(|is| *is));
        let is_long = inner.count.saturating_mul(self.largest()) >= LONG_ROW;
        // SAFETY: as the caller's.
        unsafe {
            if self.loops.loops.is_empty()
                || (all_direct && (is_long || self.loops.loops.len() == 1))
            {
                self.whole_rows(inner, stream);
            } else if is_long {
                self.rows(inner, stream);
            } else {
                self.short_loops();
            }
        }
        if stream && matches!(self.operation, ArrayOperation::Conversion(_)) {
            cast::fence(self.level);
        }
    }

    /// Returns whether each tensor is contiguous along a loop.
    fn is_direct(&self, inner: Loop) -> [bool; MAX_OPERANDS] {
        let mut is_direct = [false; MAX_OPERANDS];
        let steps = inner.steps.iter().zip(self.sizes);
        for (direct, (&step, size)) in is_direct.iter_mut().zip(steps) {
            *direct = step == size as isize;
        }
        is_direct
    }

    /// Runs the kernel on rows that are contiguous in every tensor.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    unsafe fn whole_rows(&self, inner: Loop, stream: bool) {
        let outer = self.loops.outer();
        for_each(outer, self.loops.first, |p| {
            // SAFETY: as the caller's.
            unsafe { self.call(inner.count, p, stream) };
        });
    }

    /// Runs the kernel on rows, after the rows of tensors that are not contiguous have been copied to buffers.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    #[inline(never)]
    unsafe fn rows(&self, inner: Loop, stream: bool) {
        let mut buffers = Buffers::new();
        let outer = self.loops.outer();
        let across = self.loop_across(outer, inner);
        let (mut lines, across_loop) = match across.and_then(|number| outer.get(number)) {
            Some(&one) => ((LINE / self.smallest().max(1)).min(one.count), one),
            None => (1, Loop { count: 1, ..inner }),
        };
        let mut others = List::new();
        for (number, &one) in outer.iter().enumerate() {
            if Some(number) != across {
                others.push(one);
            }
        }
        let most = self.most();
        let mut columns = (most / lines.max(1)).max(1);
        let is_direct = self.is_direct(inner);
        let mut stream = stream && is_direct[0];
        let mut head = 0;
        if across.is_some() {
            if self.exceeds_llc() {
                // Few columns at a time, down the lines of the transposed tensor, which the hardware then prefetches.
                columns = columns.min((LONG_ROW / self.largest().max(1)).max(1));
                lines = lines.max(most / columns.max(1));
            }
            // Non-temporal stores need rows that begin and end with lines of the output; and a kernel waits for its
            // stores at the end of each call.
            let [row, ..] = across_loop.steps;
            stream &= row.unsigned_abs().is_multiple_of(LINE);
            stream &= matches!(self.operation, ArrayOperation::Conversion(_));
            let [out, ..] = self.loops.first;
            let [size, ..] = self.sizes;
            head = if stream {
                (out.addr().wrapping_neg() % LINE) / size.max(1)
            } else {
                0
            };
        }
        for_each(&others, self.loops.first, |first| {
            for_blocks(inner.count, head, columns, |j, columns| {
                for_blocks(across_loop.count, 0, lines, |i, rows| {
                    let p = advance(advance(first, &across_loop, i), &inner, j);
                    let block = [
                        Loop {
                            count: rows,
                            ..across_loop
                        },
                        Loop {
                            count: columns,
                            ..inner
                        },
                    ];
                    // SAFETY: as the caller's; the block fits the buffers.
                    unsafe {
                        let at = buffers.fill(self, p, &is_direct, &block);
                        for row in 0..rows as isize {
                            let mut q = at;
                            let steps = across_loop.steps.iter().zip(self.sizes);
                            for (((q, direct), (&step, size)), scalar) in
                                (q.iter_mut().zip(is_direct)).zip(steps).zip(self.is_scalar)
                            {
                                let pitch = (size * columns) as isize;
                                let step = if direct || scalar { step } else { pitch };
                                *q = q.wrapping_offset(row * step);
                            }
                            self.call(columns, q, stream);
                        }
                        write_back(self, p, at, &block);
                    }
                });
            });
        });
    }

    /// Runs the kernel on `n` elements.
    ///
    /// # Safety
    /// The tensors must be contiguous and valid from these addresses on.
    #[inline(always)]
    unsafe fn call(&self, n: usize, [out, inputs @ ..]: [*mut u8; MAX_OPERANDS], stream: bool) {
        let inputs = inputs.map(<*mut u8>::cast_const);
        // SAFETY: as the caller's.
        unsafe {
            match self.operation {
                ArrayOperation::Kernel(kernel) => kernel(self.level, n, &inputs, out, stream),
                ArrayOperation::Conversion(conversion) => {
                    conversion.convert(self.level, n, inputs[0], out, stream);
                }
            }
        }
    }

    /// Returns the outer loop along which a tensor that is not contiguous along the innermost one lies closer in
    /// memory.
    fn loop_across(&self, outer: &[Loop], inner: Loop) -> Option<usize> {
        let shorter_step = |k: usize| {
            let own = inner.steps.get(k)?.unsigned_abs();
            let steps = outer.iter().enumerate().filter_map(move |(number, one)| {
                let step = one.steps.get(k)?.unsigned_abs();
                (step != 0 && step < own).then_some((step, number))
            });
            (self.sizes.get(k).is_some_and(|&size| own > size))
                .then(|| steps.min())
                .flatten()
        };
        self.inputs()
            .chain([0])
            .find_map(shorter_step)
            .map(|(_, number)| number)
    }

    /// Runs the kernel on blocks of short loops.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    #[inline(never)]
    unsafe fn short_loops(&self) {
        let mut buffers = Buffers::new();
        let loops = &self.loops.loops;
        // As many of the inner loops as fit are in a block as a whole, and a part of the next.
        let most = self.most();
        let (mut elements, mut whole) = (1, 0);
        for one in loops.iter().rev() {
            if elements * one.count > most {
                break;
            }
            elements *= one.count;
            whole += 1;
        }
        let (outer, whole) = loops
            .split_at_checked(loops.len() - whole)
            .unwrap_or((&[], loops));
        const ONCE: Loop = Loop {
            count: 1,
            steps: [0; MAX_OPERANDS],
        };
        let (split, outer) = outer
            .split_last()
            .map_or((ONCE, outer), |(&split, outer)| (split, outer));
        let runs = (most / elements.max(1)).max(1);
        let mut block = List::new();
        block.push(split);
        whole.iter().for_each(|&one| block.push(one));
        let is_direct = core::array::from_fn(|k| is_dense(&block, k, self.sizes));
        for_each(outer, self.loops.first, |first| {
            for_blocks(split.count, 0, runs, |i, runs| {
                let p = advance(first, &split, i);
                if let Some(first) = block.first_mut() {
                    first.count = runs;
                }
                // SAFETY: as the caller's; the block fits the buffers.
                unsafe {
                    let at = buffers.fill(self, p, &is_direct, &block);
                    self.call(elements * runs, at, false);
                    write_back(self, p, at, &block);
                }
            });
        });
    }
}

/// Returns whether the elements of tensor k lie in one piece, in the order of the loops.
pub fn is_dense(block: &[Loop], k: usize, sizes: [usize; MAX_OPERANDS]) -> bool {
    let mut expected = sizes.get(k).map_or(0, |&size| size as isize);
    block.iter().rev().all(|one| {
        let fits = one.count == 1 || one.steps.get(k) == Some(&expected);
        expected = expected.wrapping_mul(one.count as isize);
        fits
    })
}

/// Calls `body` with the first number and the length of each block of at most `len` of `count`; the first has `head`,
/// unless that is 0.
#[inline(always)]
fn for_blocks(count: usize, head: usize, len: usize, mut body: impl FnMut(usize, usize)) {
    let mut from = 0;
    let mut next = if head == 0 { len } else { head.min(len) };
    while from < count {
        body(from, next.min(count - from));
        from += next;
        next = len;
    }
}
