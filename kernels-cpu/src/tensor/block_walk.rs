//! What a thread does with its elements of an elementwise operation:
//!
//! ```text
//! if all tensors are contiguous along the innermost loop, and it is long or the only one:
//!     whole_rows:     for each row: kernel(row)
//! else if the innermost loop is long:             # 256 bytes, or each row has a number of its own
//!     rows:           for the other loops: for each block of columns, and of rows along the loop across:
//!                         fill the buffers
//!                         for each row of the block: kernel(row)
//!                         copy the output's buffer to the output
//! else:
//!     short_loops:    for the outer loops: for each block of as many inner loops as a buffer holds:
//!                         fill the buffers; kernel(block); copy the output's buffer to the output
//! ```
//!
//! Each tensor that is not contiguous has a buffer in L1, on the stack. It is filled a cache line at a time along the
//! tensor's fastest axis when that differs from the output's (the loop across), and is reused while its tensor does
//! not move (broadcasting).

use super::blocks::{ArrayOperation, Blocks};
use super::buffers::{Buffers, buffer, write_back};
use super::cast;
use super::list::List;
use super::loops::{Loop, MAX_OPERANDS, advance, for_each, is_dense};

/// Bytes of the shortest row for which the kernel runs once.
pub const LONG_ROW: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;

impl Blocks<'_> {
    /// Runs the kernel over all elements, on this thread.
    ///
    /// # Safety
    /// As [`Blocks::run`].
    pub(super) unsafe fn part(&self, stream: bool) {
        if self.loops.loops.iter().any(|one| one.count == 0) {
            return;
        }
        let inner = self.loops.innermost();
        let is_direct = self.is_direct(inner);
        let all_direct = is_direct[0]
            && self
                .inputs()
                .all(|k| is_direct.get(k).is_some_and(|is| *is));
        let is_long =
            inner.count.saturating_mul(self.largest()) >= LONG_ROW || self.has_row_numbers();
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

    /// Returns whether each row has a number of its own, so that a call takes no more than one row.
    fn has_row_numbers(&self) -> bool {
        let numbers = self.is_scalar.iter().enumerate();
        numbers
            .filter(|(_, is_scalar)| **is_scalar)
            .any(|(k, _)| !self.loops.is_constant(k))
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

    /// The elements that fit each buffer.
    fn most(&self) -> usize {
        buffer(self.loops.operands) / self.largest().max(1)
    }

    /// Bytes of the smallest element.
    fn smallest(&self) -> usize {
        let sizes = self.sizes.iter().take(self.loops.operands);
        sizes.copied().min().unwrap_or(1)
    }
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
