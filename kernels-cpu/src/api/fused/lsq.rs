//! The least-squares gradient over blocks of rows. Each task sums an aligned run of 2^j blocks, so that the tree over
//! the runs is the top of the tree over all blocks, however many tasks there are.
//!
//! The tree over blocks is computed like a binary counter: after i blocks there is one partial sum, a vector, for each
//! bit that is set in i. These vectors are called digits.

use super::widened;
use crate::api::reduce::StridedVector;
use crate::api::widen::widen_strided;
use crate::dispatch::{Compute, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared, share};
use crate::ops::reduce::LSQ_ROWS;
use crate::recipe::finish_sum;

/// Returns how many digits the tree over the blocks of m rows needs at once.
pub fn digits(m: usize) -> usize {
    m.div_ceil(LSQ_ROWS).max(1).ilog2() as usize + 2
}

/// Returns into how many tasks to split a problem.
pub fn tasks<T>(exec: &Exec<'_>, m: usize, n: usize) -> usize {
    let bytes = m.saturating_mul(n).saturating_mul(size_of::<T>());
    exec.tasks(bytes, m.div_ceil(LSQ_ROWS))
}

/// Returns the bytes of scratch memory for `tasks` tasks; `None` on overflow.
pub fn scratch_bytes<T>(m: usize, n: usize, tasks: usize) -> Option<usize> {
    let elements = digits(m).checked_mul(tasks)?.checked_mul(n)?;
    // One more element, for the alignment of the first.
    elements.checked_add(1)?.checked_mul(size_of::<T>())
}

/// A checked least-squares problem.
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
    /// The strides of the vectors.
    pub incs: Incs,
}

/// The strides of the vectors of a problem.
#[derive(Clone, Copy)]
pub struct Incs {
    pub x: isize,
    pub y: isize,
    pub grad: isize,
}

impl Incs {
    /// Those of contiguous vectors.
    pub const ONE: Self = Self {
        x: 1,
        y: 1,
        grad: 1,
    };
}

impl<T: Storage> Lsq<T> {
    /// Computes the gradient, for n > 0.
    ///
    /// # Errors
    /// `WorkspaceTooSmall`, `SizeOverflow`.
    ///
    /// # Safety
    /// The arrays must be valid, and the gradient apart from the others.
    pub unsafe fn compute(self, exec: &Exec<'_>, k: Kernels<Compute<T>>) -> Result<()> {
        const TOO_LARGE: Error = Error::SizeOverflow { arg: "m * n" };
        let (m, n) = (self.m, self.n);
        let tasks = tasks::<T>(exec, m, n);
        // A workspace must suffice for all threads, even if this call uses fewer, so that whether a size is accepted
        // does not depend on how the call is split.
        let threads = if exec.has_workspace() {
            exec.threads()
        } else {
            tasks
        };
        let needed = scratch_bytes::<Compute<T>>(m, n, threads).ok_or(TOO_LARGE)?;
        let copy = n * size_of::<Compute<T>>();
        let with_copy = needed.checked_add(copy).ok_or(TOO_LARGE)?;
        // Without rows x is not read.
        let is_computed = const { is_element::<T>() } && self.incs.x == 1;
        let copies_x = !is_computed && m > 0 && with_copy <= exec.scratch_room(1);
        let bytes = if copies_x { with_copy } else { needed };
        exec.with_scratch(1, bytes, |scratch| {
            scratch.with_block(0, |block, len| {
                let align = block.align_offset(align_of::<Compute<T>>()).min(len);
                let room = (len - align) / size_of::<Compute<T>>();
                let block = block.wrapping_add(align).cast();
                // SAFETY: the caller vouches for the arrays; the block is this call's.
                unsafe {
                    let (x, room) = if copies_x {
                        self.copy_of_x(k, block, room)
                    } else {
                        (None, room)
                    };
                    let problem = Prepared { of: self, x };
                    problem.compute_gradient(exec, k, tasks, block, room);
                }
            });
        })
    }

    /// Copies x, in the type of arithmetic, to the end of the scratch memory, if there is room beside the digits. Returns
    /// the copy, and the room that is left.
    ///
    /// # Safety
    /// The machine must have the kernels' level; x and the scratch memory must be valid.
    unsafe fn copy_of_x(
        self,
        k: Kernels<Compute<T>>,
        scratch: *mut Compute<T>,
        room: usize,
    ) -> (Option<Shared<Compute<T>>>, usize) {
        let digits = digits(self.m).saturating_mul(self.n);
        let Some(left) = room.checked_sub(self.n).filter(|&left| left >= digits) else {
            return (None, room);
        };
        let copy = scratch.wrapping_add(left);
        let x = StridedVector::new(self.x.get(), self.incs.x);
        // SAFETY: the caller vouches for x and the room.
        unsafe {
            if const { is_element::<T>() } {
                for j in 0..self.n {
                    copy.add(j).write((*x.at(j)).into_compute());
                }
            } else {
                widen_strided(k.level(), self.n, x, copy);
            }
        }
        (Some(Shared::new(copy)), left)
    }

    /// Returns `rows` elements of y from `i` on, copied if they are not contiguous or must be widened.
    ///
    /// # Safety
    /// y must have these elements.
    #[inline(always)]
    unsafe fn rows_of_y(
        self,
        i: usize,
        rows: usize,
        copy: &mut [Compute<T>; LSQ_ROWS],
    ) -> *const Compute<T> {
        let at = |i: usize| self.y.get().wrapping_offset(i as isize * self.incs.y);
        if const { is_element::<T>() } && self.incs.y == 1 {
            return at(i).cast();
        }
        for (row, slot) in copy.iter_mut().enumerate().take(rows) {
            // SAFETY: as the caller's.
            *slot = unsafe { at(i + row).read() }.into_compute();
        }
        copy.as_ptr()
    }
}

/// A problem, and perhaps a contiguous copy of its x in the type of arithmetic.
#[derive(Clone, Copy)]
struct Prepared<T: Storage> {
    of: Lsq<T>,
    x: Option<Shared<Compute<T>>>,
}

impl<T: Storage> Prepared<T> {
    /// Computes the gradient with up to `tasks` tasks and `room` elements of scratch memory at `scratch`.
    ///
    /// # Safety
    /// The arrays and the scratch memory must be valid; `room` must be at least `digits(m)`, for one column.
    // Not inlined: otherwise each crate that instantiates a caller gets its own copy.
    #[inline(never)]
    unsafe fn compute_gradient(
        self,
        exec: &Exec<'_>,
        k: Kernels<Compute<T>>,
        tasks: usize,
        scratch: *mut Compute<T>,
        room: usize,
    ) {
        let (m, n) = (self.of.m, self.of.n);
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
            // SAFETY: each run has left its sum in its digit 0.
            unsafe {
                pairwise(k, n, runs, part);
                self.finish(scratch, 0, n);
            }
            return;
        }
        // As many columns at once as the scratch memory holds: all, or as many as fit the block on the stack.
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

    /// Computes the tree over the blocks first..first + count, for columns from..from + cols, into digit 0. `first`
    /// must be a multiple of a power of two that is at least `count`.
    ///
    /// # Safety
    /// The machine must have the kernels' level; the arrays must be valid; `digits` must have room for a vector of
    /// `cols` elements for each binary digit of `count`, and for at least one.
    // Not inlined: otherwise each crate that instantiates a caller gets its own copy.
    #[inline(never)]
    unsafe fn fold(
        self,
        k: Kernels<Compute<T>>,
        (first, count): (usize, usize),
        (from, cols): (usize, usize),
        digits: *mut Compute<T>,
    ) {
        let digit = |d: usize| digits.wrapping_add(d * cols);
        if count == 0 {
            // SAFETY: the caller vouches for one digit.
            return unsafe { (k.fill())(cols, Compute::<T>::ZERO, digits, false) };
        }
        for block in 0..count {
            let i = (first + block) * LSQ_ROWS;
            let rows = LSQ_ROWS.min(self.of.m - i);
            let depth = block.count_ones() as usize;
            // SAFETY: these rows and columns lie in the arrays; `digits` has room for one digit more than bits are set
            // in `block`.
            unsafe {
                self.block(k, (i, rows), (from, cols), digit(depth));
                for d in (depth - block.trailing_ones() as usize..depth).rev() {
                    (k.add())(cols, digit(d), digit(d + 1), digit(d), false);
                }
            }
        }
        for d in (1..count.count_ones() as usize).rev() {
            // SAFETY: digits 0 to d hold partial sums.
            unsafe { (k.add())(cols, digit(d - 1), digit(d), digit(d - 1), false) };
        }
    }

    /// Computes rows i..i + rows, at most [`LSQ_ROWS`], for columns from..from + cols.
    ///
    /// # Safety
    /// The machine must have the kernels' level; the arrays must have these rows and columns, `out` `cols` elements.
    #[inline(always)]
    unsafe fn block(
        self,
        k: Kernels<Compute<T>>,
        (i, rows): (usize, usize),
        (from, cols): (usize, usize),
        out: *mut Compute<T>,
    ) {
        let p = self.of;
        let a = p.a.get().wrapping_offset(i as isize * p.a_rs);
        let mut copy = [Compute::<T>::ZERO; LSQ_ROWS];
        // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
        unsafe {
            let y = p.rows_of_y(i, rows, &mut copy);
            if const { !is_element::<T>() } {
                let rows = widened::LsqRows {
                    rows,
                    n: p.n,
                    a,
                    a_rs: p.a_rs,
                    a_cs: p.a_cs,
                    x: StridedVector::new(p.x.get(), p.incs.x),
                    widened_x: self.x,
                    y,
                };
                return rows.block(k, from, cols, out);
            }
            let (x, incx) = match self.x {
                Some(x) => (x.get(), 1),
                None => (p.x.get().cast(), p.incs.x),
            };
            let (rs, cs) = (p.a_rs, p.a_cs);
            (k.lsq_block())(rows, p.n, a.cast(), rs, cs, x, incx, y, from, cols, out);
        }
    }

    /// Writes grad = 2 * total, for columns from..from + cols.
    ///
    /// # Safety
    /// `totals` must have `cols` elements, and the gradient those columns.
    unsafe fn finish(self, totals: *const Compute<T>, from: usize, cols: usize) {
        for j in 0..cols {
            // SAFETY: j < cols, and the caller vouches for the totals and the gradient.
            unsafe {
                let total = totals.add(j).read();
                let grad = (from + j) as isize * self.of.incs.grad;
                let grad = self.of.grad.get().wrapping_offset(grad);
                grad.write(T::from_compute(finish_sum(total + total)));
            }
        }
    }
}

/// Adds `count` vectors of `n` elements in the pairwise tree, into the first.
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
        // SAFETY: the caller vouches for the vectors; a result replaces its first operand, or a vector that has been
        // added already.
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
