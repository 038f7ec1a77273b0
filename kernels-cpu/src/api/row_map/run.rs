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

use super::pair::MatrixPair;
use crate::api::reduce::{ReductionKernels, RowMatrix, StridedVector, reduce_rows, reduction};
use crate::api::widen::{round_strided, widen_strided};
use crate::copy::{CopyLoop, copy};
use crate::dispatch::{Compute, is_element, row_map_of_columns, row_map_of_rows};
use crate::element::{Element, Storage};
use crate::exec::{Exec, Shared, share};
use crate::for_each_row_map;
use crate::level::Level;
use crate::matrix::Matrix;
use crate::table::ROW_MAPS;

/// The most statistics of a map.
pub const STATISTICS: usize = {
    let (mut most, mut i) = (0, 0);
    while i < ROW_MAPS.len() {
        if ROW_MAPS[i].statistics.len() > most {
            most = ROW_MAPS[i].statistics.len();
        }
        i += 1;
    }
    most
};
/// Bytes of the values of a statistic for the rows of a block.
const VALUES: usize = 4 << 10;
/// Bytes of the elements of a block: with the results, a part of L2.
pub const BLOCK_BYTES: usize = 128 << 10;
/// Rows that threads share start at multiples of this where columns are contiguous, so that they share few cache lines.
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

/// Room for the values of a statistic, on the stack: small, because reductions need much of the 64 KiB that a call may use.
pub type Values = MaybeUninit<[u64; VALUES / 8]>;

/// Returns the most rows of a block.
pub const fn most_rows<T>() -> usize {
    VALUES / size_of::<T>()
}

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
        pub fn $name<M: Storage>(level: Level) -> RowMapKernels<Compute<M>> {
            row_maps!(@step of_rows row_map_of_rows $name $($statistic)*);
            row_maps!(@step of_columns row_map_of_columns $name $($statistic)*);
            let mut statistics = [const { None }; STATISTICS];
            let all = [$(Some(reduction::$statistic::<M>(level, 0))),*];
            for (slot, one) in statistics.iter_mut().zip(all) {
                *slot = one;
            }
            RowMapKernels {
                level,
                statistics,
                of_rows: of_rows::<Compute<M>>,
                of_columns: of_columns::<Compute<M>>,
            }
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

impl<T: Element> RowMapKernels<T> {
    /// Computes all rows, with the threads of `exec`, and with non-temporal stores if `stream`.
    ///
    /// # Safety
    /// The matrices must be valid, and apart unless they are the same; the machine must have the level.
    pub unsafe fn run<M: Storage<Compute = T>>(
        &self,
        exec: &Exec<'_>,
        pair: MatrixPair<M>,
        stream: bool,
    ) {
        let are_rows = pair.x.cs == 1 && pair.out.cs == 1;
        let grain = if are_rows { 1 } else { GRAIN };
        let tasks = if pair.m < exec.threads() {
            1
        } else {
            exec.tasks(pair.bytes(), share(pair.m, grain))
        };
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.blocks(exec, pair, stream) };
        }
        let each = share(share(pair.m, grain), tasks) * grain;
        let within = exec.within_tasks();
        exec.run(tasks, &|task| {
            let from = (task * each).min(pair.m);
            let rows = pair.rows(from, each.min(pair.m - from));
            // SAFETY: as the caller's; no other task has these rows.
            unsafe { self.blocks(&within(), rows, stream) };
        });
    }

    /// Computes rows block by block.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`].
    unsafe fn blocks<M: Storage<Compute = T>>(
        &self,
        exec: &Exec<'_>,
        pair: MatrixPair<M>,
        stream: bool,
    ) {
        let row = pair.n.saturating_mul(size_of::<M>()).max(1);
        let block = if pair.x.rs == 1 {
            // Columns are read and written in runs of adjacent rows, which should be long.
            most_rows::<T>()
        } else {
            (BLOCK_BYTES / row).clamp(1, most_rows::<T>())
        };
        for from in (0..pair.m).step_by(block) {
            // SAFETY: as the caller's.
            unsafe { self.block(exec, pair.rows(from, block.min(pair.m - from)), stream) };
        }
    }

    /// Computes the rows of a block.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`]; there must be at most [`most_rows`] rows.
    unsafe fn block<M: Storage<Compute = T>>(
        &self,
        exec: &Exec<'_>,
        pair: MatrixPair<M>,
        stream: bool,
    ) {
        let MatrixPair { m, n, x, .. } = pair;
        let rows = RowMatrix::new([m, n], x.ptr, [x.rs, x.cs]);
        let mut values = [const { Values::uninit() }; STATISTICS];
        let to = values
            .each_mut()
            .map(|values| values.as_mut_ptr().cast::<T>());
        for (reduction, to) in self.statistics.iter().flatten().zip(to) {
            // SAFETY: as the caller's; there is room for the results of a block.
            unsafe { reduce_rows::<M, T>(exec, reduction, rows, StridedVector::new(to, 1)) };
        }
        // SAFETY: as the caller's; the statistics have been computed.
        unsafe { self.step(exec, pair, &to.map(<*mut T>::cast_const), stream) };
    }

    /// Computes rows whose statistics are known; threads share the columns if that pays.
    ///
    /// # Safety
    /// As [`RowMapKernels::run`]; there must be a value of each statistic for each row.
    pub unsafe fn step<M: Storage<Compute = T>>(
        &self,
        exec: &Exec<'_>,
        pair: MatrixPair<M>,
        statistics: &Statistics<T>,
        stream: bool,
    ) {
        const COLUMNS: usize = 64;
        let tasks = exec.tasks(pair.bytes(), share(pair.n, COLUMNS));
        if tasks == 1 {
            // SAFETY: as the caller's.
            return unsafe { self.step_alone(pair, statistics, stream) };
        }
        let each = share(share(pair.n, COLUMNS), tasks) * COLUMNS;
        let shared = statistics.map(Shared::new);
        exec.run(tasks, &move |task| {
            let from = (task * each).min(pair.n);
            let part = pair.columns(from, each.min(pair.n - from));
            let statistics = shared.map(|one| one.get().cast_const());
            // SAFETY: as the caller's; no other task has these columns.
            unsafe { self.step_alone(part, &statistics, stream) };
        });
    }

    /// [`RowMapKernels::step`] on this thread.
    ///
    /// # Safety
    /// As there.
    unsafe fn step_alone<M: Storage<Compute = T>>(
        &self,
        pair: MatrixPair<M>,
        statistics: &Statistics<T>,
        stream: bool,
    ) {
        let MatrixPair { m, n, x, out } = pair;
        if const { !is_element::<M>() } {
            // SAFETY: as the caller's.
            return unsafe { self.widened_tiles(pair, statistics) };
        }
        // Elements that are not widened are of the type of arithmetic.
        let (p, q) = (x.ptr.cast::<T>(), out.ptr.cast::<T>());
        let has_rows = (x.cs == 1 && out.cs == 1) || n == 1;
        let has_columns = (x.rs == 1 && out.rs == 1) || m == 1;
        let stream = |len: usize| stream && len * size_of::<T>() >= STREAMED;
        // SAFETY: as the caller's.
        unsafe {
            if has_columns && (n == 1 || !has_rows) {
                let (from, to) = ((p, x.cs), (q, out.cs));
                (self.of_columns)(self.level, [m, n], from, statistics, to, stream(m));
            } else if has_rows {
                let (from, to) = ((p, x.rs), (q, out.rs));
                (self.of_rows)(self.level, [m, n], from, statistics, to, stream(n));
            } else {
                self.tiles(pair.cast(), statistics);
            }
        }
    }

    /// [`RowMapKernels::step`] through copies that are widened.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn widened_tiles<M: Storage<Compute = T>>(
        &self,
        pair: MatrixPair<M>,
        statistics: &Statistics<T>,
    ) {
        let mut tile = MaybeUninit::<[T; TILE]>::uninit();
        let tile: *mut T = tile.as_mut_ptr().cast();
        let has_columns = pair.x.rs == 1 && pair.x.cs != 1;
        // At least 1, so that the compiler sees that no step is 0.
        let [longer, shorter] = if has_columns {
            [pair.m, pair.n]
        } else {
            [pair.n, pair.m]
        };
        let axes = |rs, cs| if has_columns { [cs, rs] } else { [rs, cs] };
        let len = longer.clamp(1, TILE);
        let lines = shorter.min(TILE / len).max(1);
        for from in (0..shorter).step_by(lines) {
            for at in (0..longer).step_by(len) {
                let (lines, len) = (lines.min(shorter - from), len.min(longer - at));
                let (i, j) = if has_columns { (at, from) } else { (from, at) };
                let (x, out) = (pair.x.offset(i, j), pair.out.offset(i, j));
                let [x_line, x_inc] = axes(x.rs, x.cs);
                let [out_line, out_inc] = axes(out.rs, out.cs);
                let line = |p: *const M, step: isize, inc: isize, number: usize| {
                    StridedVector::new(p.wrapping_offset(step * number as isize), inc)
                };
                let statistics = statistics.map(|one| one.wrapping_add(i));
                let (from, to) = ((tile.cast_const(), len as isize), (tile, len as isize));
                // SAFETY: as the caller's; the tile has room for these elements.
                unsafe {
                    for number in 0..lines {
                        let x = line(x.ptr, x_line, x_inc, number);
                        widen_strided(self.level, len, x, tile.add(number * len));
                    }
                    if has_columns {
                        (self.of_columns)(self.level, [len, lines], from, &statistics, to, false);
                    } else {
                        (self.of_rows)(self.level, [lines, len], from, &statistics, to, false);
                    }
                    for number in 0..lines {
                        let out = line(out.ptr, out_line, out_inc, number);
                        round_strided(self.level, len, tile.add(number * len), out);
                    }
                }
            }
        }
    }

    /// [`RowMapKernels::step`] through contiguous copies.
    ///
    /// # Safety
    /// As there.
    #[inline(never)]
    unsafe fn tiles(&self, pair: MatrixPair<T>, statistics: &Statistics<T>) {
        let mut tile = MaybeUninit::<[T; TILE]>::uninit();
        let tile: *mut T = tile.as_mut_ptr().cast();
        // At least 1, so that the compiler sees that no step is 0.
        let columns = pair.n.clamp(1, TILE_ROW);
        let rows = pair.m.min(TILE / columns).max(1);
        for i in (0..pair.m).step_by(rows) {
            for j in (0..pair.n).step_by(columns) {
                let shape @ [_, n] = [rows.min(pair.m - i), columns.min(pair.n - j)];
                let statistics = statistics.map(|one| one.wrapping_add(i));
                let (x, out) = (pair.x.offset(i, j), pair.out.offset(i, j));
                let own = Matrix::new(tile, n as isize, 1);
                let (from, to) = ((tile.cast_const(), own.rs), (tile, own.rs));
                // SAFETY: as the caller's; the tile has room for these elements.
                unsafe {
                    copy_matrix(self.level, shape, x, own);
                    (self.of_rows)(self.level, shape, from, &statistics, to, false);
                    copy_matrix(self.level, shape, own.cast_const(), out);
                }
            }
        }
    }
}

/// Copies m by n elements from one matrix to another.
///
/// # Safety
/// Both must be valid at these elements, and apart.
unsafe fn copy_matrix<T>(
    level: Level,
    [m, n]: [usize; 2],
    from: Matrix<*const T>,
    to: Matrix<*mut T>,
) {
    let bytes = |stride: isize| stride * size_of::<T>() as isize;
    let axis = |count, to, from| CopyLoop {
        count,
        to: bytes(to),
        from: bytes(from),
    };
    let loops = [axis(m, to.rs, from.rs), axis(n, to.cs, from.cs)];
    // SAFETY: as the caller's.
    unsafe {
        copy(
            level,
            size_of::<T>(),
            to.ptr.cast(),
            from.ptr.cast(),
            &loops,
        )
    };
}
