//! The least-squares gradient over row blocks: each task folds an aligned run of them, and the tree
//! over the runs is the tree over all blocks.

use crate::dispatch::Kernels;
use crate::element::Element;
use crate::exec::{Exec, Shared, share};
use crate::ops::reduce::LSQ_ROWS;
use crate::recipe::finish_sum;

/// Vectors that the tree over the row blocks of m rows holds at once: it is a binary counter whose
/// digits are vectors.
pub fn digits(m: usize) -> usize {
    m.div_ceil(LSQ_ROWS).max(1).ilog2() as usize + 2
}

/// How many tasks a problem is worth.
pub fn tasks<T>(exec: &Exec<'_>, m: usize, n: usize) -> usize {
    let bytes = m.saturating_mul(n).saturating_mul(size_of::<T>());
    exec.tasks(bytes, m.div_ceil(LSQ_ROWS))
}

/// Bytes of scratch for so many tasks; `None` on overflow.
pub fn scratch_bytes<T>(m: usize, n: usize, tasks: usize) -> Option<usize> {
    let elements = digits(m).checked_mul(tasks)?.checked_mul(n)?;
    // One more, to align the first.
    elements.checked_add(1)?.checked_mul(size_of::<T>())
}

/// A least-squares problem that has been checked.
#[derive(Clone, Copy)]
pub struct Lsq<T> {
    pub m: usize,
    pub n: usize,
    pub a: Shared<T>,
    pub a_rs: isize,
    pub a_cs: isize,
    pub x: Shared<T>,
    pub y: Shared<T>,
    pub grad: Shared<T>,
}

impl<T: Element> Lsq<T> {
    /// The gradient, n > 0, by up to `tasks` tasks, with `room` elements of scratch at `scratch`.
    ///
    /// # Safety
    /// The arrays and the scratch must be valid; `room` must hold a column's digits at least.
    pub unsafe fn run(
        self,
        exec: &Exec<'_>,
        k: Kernels<T>,
        tasks: usize,
        scratch: *mut T,
        room: usize,
    ) {
        let (m, n) = (self.m, self.n);
        let blocks = m.div_ceil(LSQ_ROWS);
        let per_task = digits(m).saturating_mul(n).max(1);
        let tasks = tasks.min(room / per_task);
        if tasks > 1 {
            let run = share(blocks, tasks).next_power_of_two();
            let runs = share(blocks, run);
            let place = Shared::new(scratch);
            let part = move |task: usize| place.get().wrapping_add(task * per_task);
            exec.run(runs, &move |task| {
                let from = task * run;
                // SAFETY: the run lies in the blocks; each task has its own digits.
                unsafe { self.fold(k, (from, run.min(blocks - from)), (0, n), part(task)) };
            });
            // SAFETY: each run has left its vector.
            unsafe {
                pairwise(k, n, runs, part);
                self.finish(scratch, 0, n);
            }
            return;
        }
        // As many columns at once as there is room for: all, unless it is the fixed block.
        let width = (room / digits(m).max(1)).min(n).max(1);
        for from in (0..n).step_by(width) {
            let cols = width.min(n - from);
            // SAFETY: the digits of `width` columns fit.
            unsafe {
                self.fold(k, (0, blocks), (from, cols), scratch);
                self.finish(scratch, from, cols);
            }
        }
    }

    /// The tree over row blocks first..first + count, first a multiple of a power of two that is at
    /// least `count`, for columns from..from + cols: digit 0.
    ///
    /// # Safety
    /// The machine must have the kernels' level; the arrays must be valid, and `digits` have room for a vector of
    /// `cols` elements per binary digit of `count`, and for one at least.
    unsafe fn fold(
        self,
        k: Kernels<T>,
        (first, count): (usize, usize),
        (from, cols): (usize, usize),
        digits: *mut T,
    ) {
        let digit = |d: usize| digits.wrapping_add(d * cols);
        if count == 0 {
            // SAFETY: the caller vouches for a digit.
            return unsafe { (k.fill())(cols, T::ZERO, digits, false) };
        }
        for block in 0..count {
            let i = (first + block) * LSQ_ROWS;
            let rows = LSQ_ROWS.min(self.m - i);
            let a = self.a.get().wrapping_offset(i as isize * self.a_rs);
            let y = self.y.get().wrapping_add(i);
            let (x, depth) = (self.x.get(), block.count_ones() as usize);
            // SAFETY: these rows and columns lie in the arrays; the counter has a digit more than
            // bits that are set.
            unsafe {
                (k.lsq_block())(
                    rows,
                    self.n,
                    a,
                    self.a_rs,
                    self.a_cs,
                    x,
                    y,
                    from,
                    cols,
                    digit(depth),
                );
                for d in (depth - block.trailing_ones() as usize..depth).rev() {
                    (k.add())(cols, digit(d), digit(d + 1), digit(d), false);
                }
            }
        }
        for d in (1..count.count_ones() as usize).rev() {
            // SAFETY: that many digits are in use.
            unsafe { (k.add())(cols, digit(d - 1), digit(d), digit(d - 1), false) };
        }
    }

    /// grad = 2 total, for columns from..from + cols.
    ///
    /// # Safety
    /// `totals` must have `cols` elements, and the gradient those columns.
    unsafe fn finish(self, totals: *const T, from: usize, cols: usize) {
        for j in 0..cols {
            // SAFETY: j < cols, and the caller vouches for the totals and the gradient.
            unsafe {
                let total = totals.add(j).read();
                self.grad
                    .get()
                    .add(from + j)
                    .write(finish_sum(total + total));
            }
        }
    }
}

/// The pairwise tree over `count` vectors of `n` elements: the first.
///
/// # Safety
/// The machine must have the kernels' level; `part` must give `count` vectors of `n` elements that no one else
/// uses.
unsafe fn pairwise<T: Element>(
    k: Kernels<T>,
    n: usize,
    count: usize,
    part: impl Fn(usize) -> *mut T,
) {
    let mut width = count;
    while width > 1 {
        // SAFETY: the caller vouches for the vectors; a result's place is its first operand's, or
        // one that has been used already.
        unsafe {
            for i in 0..width / 2 {
                (k.add())(n, part(2 * i), part(2 * i + 1), part(i), false);
            }
            if width % 2 == 1 {
                part(width / 2).copy_from_nonoverlapping(part(width - 1), n);
            }
        }
        width = width.div_ceil(2);
    }
}
