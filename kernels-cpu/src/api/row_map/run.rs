//! Runs maps over rows: blocks of rows that stay in a cache between their reductions and the step.
//!
//! ```text
//! for each block of rows:             # threads share the rows; where these are few, the elements of each
//!     statistics = reductions of the rows
//!     if rows are contiguous in x and in out:         for each row: kernel(row, numbers)
//!     else if columns are:                            for each column: kernel(column, arrays)
//!     else: for each tile in L1: copy from x; for each row: kernel(row, numbers); copy to out
//! ```

use core::mem::MaybeUninit;

use super::check::RowMapShape;
use crate::api::reduce::{ReductionKernels, RowMatrix, StridedVector, reduce_rows, reduction};
use crate::detect;
use crate::dispatch::{row_map_of_columns, row_map_of_rows};
use crate::element::Element;
use crate::exec::{Exec, Shared, share};
use crate::for_each_row_map;
use crate::level::Level;

/// The most statistics of a map.
pub const STATISTICS: usize = 2;
/// The most rows of a block, whose statistics are on the stack.
pub const BLOCK: usize = 1024;
/// Bytes of the elements of a block: with the results, a part of L2.
pub const BLOCK_BYTES: usize = 128 << 10;
/// Rows that threads share start at multiples of this, so that they share few cache lines of columns.
const GRAIN: usize = 16;
/// Bytes of the shortest row that is written with non-temporal stores: a kernel waits for them at the end of each row.
const STREAMED: usize = 2 << 10;
/// Elements of a tile, and the most in a row of it.
const TILE: usize = 1024;
const TILE_ROW: usize = 64;

/// A step for `m` rows or columns of `n` elements each; see `ops::row_map`. The distance between them follows each
/// pointer.
type Step<T> = unsafe fn(
    level: Level,
    shape: [usize; 2],
    x: (*const T, isize),
    statistics: &Statistics<T>,
    out: (*mut T, isize),
    stream: bool,
);

/// Where the statistics of the first row are; those of the others follow.
pub type Statistics<T> = [*const T; STATISTICS];

/// The kernels of a map.
pub struct RowMapKernels<T: Element> {
    pub level: Level,
    /// The reductions.
    pub statistics: [Option<ReductionKernels<T>>; STATISTICS],
    of_rows: Step<T>,
    of_columns: Step<T>,
}

/// Makes a function for each row of the table, which returns the kernels of that map.
macro_rules! row_maps {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {$(
        #[inline(always)]
        pub fn $name<T: Element>(level: Level) -> RowMapKernels<T> {
            row_maps!(@step of_rows row_map_of_rows $name $($statistic)*);
            row_maps!(@step of_columns row_map_of_columns $name $($statistic)*);
            let mut statistics = [const { None }; STATISTICS];
            let all = [$(Some(reduction::$statistic(level, 0))),*];
            for (slot, one) in statistics.iter_mut().zip(all) {
                *slot = one;
            }
            RowMapKernels { level, statistics, of_rows: of_rows::<T>, of_columns: of_columns::<T> }
        }
    )*};
    (@step $step:ident $module:ident $name:ident $($statistic:ident)*) => {
        unsafe fn $step<T: Element>(
            level: Level, [m, n]: [usize; 2], (x, between): (*const T, isize), statistics: &Statistics<T>,
            (out, out_between): (*mut T, isize), stream: bool,
        ) {
            let [$($statistic,)* ..] = *statistics;
            // SAFETY: as the caller's.
            unsafe { $module::$name::of::<T>(level)(m, n, x, between, $($statistic,)* out, out_between, stream) };
        }
    };
}
for_each_row_map!(row_maps! {} [name statistics]);

/// The elements of a matrix, with the strides from one row to the next and from one element of a row to the next.
pub struct Elements<T> {
    pub p: Shared<T>,
    pub rs: isize,
    pub cs: isize,
}

impl<T> Clone for Elements<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<T> {}

impl<T> Elements<T> {
    pub fn new(p: *const T, [rs, cs]: [isize; 2]) -> Self {
        let p = Shared::new(p);
        Self { p, rs, cs }
    }

    /// Returns the address of element (i, j).
    fn at(self, i: usize, j: usize) -> *mut T {
        let offset = i as isize * self.rs + j as isize * self.cs;
        self.p.get().wrapping_offset(offset)
    }

    /// Returns the matrix without its first rows and columns.
    fn skip(self, rows: usize, columns: usize) -> Self {
        Self::new(self.at(rows, columns), [self.rs, self.cs])
    }

    /// Copies m by n elements to contiguous rows.
    ///
    /// # Safety
    /// The elements must be valid, and `to` have room.
    unsafe fn copy_to(self, [m, n]: [usize; 2], to: *mut T)
    where
        T: Copy,
    {
        let by_rows = self.cs.unsigned_abs() <= self.rs.unsigned_abs();
        for_each_index([m, n], by_rows, |i, j| {
            // SAFETY: as the caller's.
            unsafe { to.add(i * n + j).write(*self.at(i, j)) };
        });
    }

    /// Copies contiguous rows to m by n elements.
    ///
    /// # Safety
    /// As [`Elements::copy_to`].
    unsafe fn copy_from(self, [m, n]: [usize; 2], from: *const T)
    where
        T: Copy,
    {
        let by_rows = self.cs.unsigned_abs() <= self.rs.unsigned_abs();
        for_each_index([m, n], by_rows, |i, j| {
            // SAFETY: as the caller's.
            unsafe { self.at(i, j).write(*from.add(i * n + j)) };
        });
    }
}

/// Calls `body` with each index of a matrix, row by row or column by column.
#[inline(always)]
fn for_each_index([m, n]: [usize; 2], by_rows: bool, mut body: impl FnMut(usize, usize)) {
    if by_rows {
        (0..m).for_each(|i| (0..n).for_each(|j| body(i, j)));
    } else {
        (0..n).for_each(|j| (0..m).for_each(|i| body(i, j)));
    }
}

/// The checked arguments of a map, or a part of them.
pub struct Matrices<T> {
    pub m: usize,
    pub n: usize,
    pub x: Elements<T>,
    pub out: Elements<T>,
    /// Whether the output is expected to leave the caches before it is read.
    pub stream: bool,
}

impl<T> Clone for Matrices<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Matrices<T> {}

impl<T: Element> Matrices<T> {
    pub fn new(shape: RowMapShape, x: *const T, out: *mut T) -> Self {
        let RowMapShape { m, n, .. } = shape;
        let both = m.saturating_mul(n).saturating_mul(2 * size_of::<T>());
        Self {
            m,
            n,
            x: Elements::new(x, shape.x),
            out: Elements::new(out, shape.out),
            stream: x != out.cast_const() && detect::exceeds_llc(both),
        }
    }

    fn rows(self, from: usize, m: usize) -> Self {
        let (x, out) = (self.x.skip(from, 0), self.out.skip(from, 0));
        Self { m, x, out, ..self }
    }

    fn columns(self, from: usize, n: usize) -> Self {
        let (x, out) = (self.x.skip(0, from), self.out.skip(0, from));
        Self { n, x, out, ..self }
    }

    fn bytes(self) -> usize {
        let elements = self.m.saturating_mul(self.n);
        elements.saturating_mul(size_of::<T>())
    }
}

impl<T: Element> RowMapKernels<T> {
    /// Computes all rows, with the threads of `exec`.
    ///
    /// # Safety
    /// The matrices must be valid, and apart unless they are the same; the machine must have the level.
    pub unsafe fn run(&self, exec: &Exec<'_>, a: Matrices<T>) {
        let tasks = if a.m < exec.threads() {
            1
        } else {
            exec.tasks(a.bytes(), share(a.m, GRAIN))
        };
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.blocks(exec, a) };
        }
        let each = share(share(a.m, GRAIN), tasks) * GRAIN;
        exec.run(tasks, &|task| {
            let from = (task * each).min(a.m);
            // SAFETY: as the caller's; no other task has these rows.
            unsafe { self.blocks(&Exec::new(), a.rows(from, each.min(a.m - from))) };
        });
    }

    /// Computes rows block by block.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`].
    unsafe fn blocks(&self, exec: &Exec<'_>, a: Matrices<T>) {
        let row = a.n.saturating_mul(size_of::<T>()).max(1);
        // Where columns are contiguous, a line at least: the reduction of columns reads runs of adjacent rows.
        let least = if a.x.rs == 1 { BLOCK } else { 1 };
        let block = (BLOCK_BYTES / row).clamp(least, BLOCK);
        for from in (0..a.m).step_by(block) {
            // SAFETY: as the caller's.
            unsafe { self.block(exec, a.rows(from, block.min(a.m - from))) };
        }
    }

    /// Computes the rows of a block.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`]; there must be at most [`BLOCK`] rows.
    unsafe fn block(&self, exec: &Exec<'_>, a: Matrices<T>) {
        let mut values = [const { MaybeUninit::<[T; BLOCK]>::uninit() }; STATISTICS];
        let to = values
            .each_mut()
            .map(|values| values.as_mut_ptr().cast::<T>());
        for (reduction, to) in self.statistics.iter().flatten().zip(to) {
            let (m, n, Elements { p, rs, cs }) = (a.m, a.n, a.x);
            let rows = RowMatrix { m, n, x: p, rs, cs };
            // SAFETY: as the caller's; there is room for the results of a block.
            unsafe { reduce_rows::<T, T>(exec, reduction, rows, StridedVector::new(to, 1)) };
        }
        // SAFETY: as the caller's; the statistics have been computed.
        unsafe { self.step(exec, a, &to.map(<*mut T>::cast_const)) };
    }

    /// Computes rows whose statistics are known; threads share the columns if that pays.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`]; there must be a value of each statistic for each row.
    pub unsafe fn step(&self, exec: &Exec<'_>, a: Matrices<T>, statistics: &Statistics<T>) {
        const COLUMNS: usize = 64;
        let tasks = exec.tasks(a.bytes(), share(a.n, COLUMNS));
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.step_alone(a, statistics) };
        }
        let each = share(share(a.n, COLUMNS), tasks) * COLUMNS;
        let shared = statistics.map(Shared::new);
        exec.run(tasks, &move |task| {
            let from = (task * each).min(a.n);
            let part = a.columns(from, each.min(a.n - from));
            let statistics = shared.map(|one| one.get().cast_const());
            // SAFETY: as the caller's; no other task has these columns.
            unsafe { self.step_alone(part, &statistics) };
        });
    }

    /// [`RowMapKernels::step`] on this thread.
    ///
    /// # Safety
    /// As there.
    unsafe fn step_alone(&self, a: Matrices<T>, statistics: &Statistics<T>) {
        let (x, out) = (a.x, a.out);
        let has_rows = (x.cs == 1 && out.cs == 1) || a.n == 1;
        let has_columns = (x.rs == 1 && out.rs == 1) || a.m == 1;
        let stream = |n: usize| a.stream && n * size_of::<T>() >= STREAMED;
        let (from, to) = (x.p.get().cast_const(), out.p.get());
        // SAFETY: as the caller's.
        unsafe {
            if has_columns && (a.n == 1 || !has_rows) {
                let (from, to) = ((from, x.cs), (to, out.cs));
                (self.of_columns)(self.level, [a.m, a.n], from, statistics, to, stream(a.m));
            } else if has_rows {
                let (from, to) = ((from, x.rs), (to, out.rs));
                (self.of_rows)(self.level, [a.m, a.n], from, statistics, to, stream(a.n));
            } else {
                self.tiles(a, statistics);
            }
        }
    }

    /// [`RowMapKernels::step`] through contiguous copies.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn tiles(&self, a: Matrices<T>, statistics: &Statistics<T>) {
        let mut tile = MaybeUninit::<[T; TILE]>::uninit();
        let tile: *mut T = tile.as_mut_ptr().cast();
        let n = a.n.min(TILE_ROW);
        let m = a.m.min(TILE / n.max(1)).max(1);
        for i in (0..a.m).step_by(m) {
            for j in (0..a.n).step_by(n.max(1)) {
                let shape = [m.min(a.m - i), n.min(a.n - j)];
                let rows = (tile, shape[1] as isize);
                let statistics = statistics.map(|one| one.wrapping_add(i));
                // SAFETY: as the caller's; the tile has room for these elements.
                unsafe {
                    a.x.skip(i, j).copy_to(shape, tile);
                    let from = (rows.0.cast_const(), rows.1);
                    (self.of_rows)(self.level, shape, from, &statistics, rows, false);
                    a.out.skip(i, j).copy_from(shape, tile);
                }
            }
        }
    }
}
