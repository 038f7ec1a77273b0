//! Reductions of every row of a matrix to the index of its minimum or maximum.

use core::mem::MaybeUninit;

use super::fold::StridedVector;
use super::gathered::of_strided;
use super::kernel::Kernel;
use super::rows::{RowMatrix, cached};
use super::short::{in_columns, is_short};
use super::vectors::{COLUMNS, VectorLayout, Vectors};
use super::widened::Widened;
use super::widened_columns::ColumnsArea;
use crate::dispatch::{Compute, FoldOfMany, FoldRows, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::ops::reduce::{Max, Min, WorkArea};

/// How many columns of 16-bit floats are searched at once.
const AT_ONCE: usize = 256;
/// Elements of a block of their rows, and the most rows. A work area has room for two accumulators of 64 lanes a column.
const BLOCK: usize = 8 << 10;
const MOST_ROWS: usize = 128;

/// The kernels of argmin or argmax.
#[derive(Clone, Copy)]
pub struct Search<T: Element> {
    /// Returns the index of the extreme of a vector.
    pub vector: unsafe fn(usize, *const T, isize) -> usize,
    /// Returns whether the first of two extremes is the extreme of both, and not equal to the second.
    pub better: fn(T, T) -> bool,
    /// Writes the indices of the extremes of columns, -1 for a column that may contain a NaN; returns whether there is
    /// one.
    pub columns: unsafe fn(usize, usize, *const T, isize, *mut i64, isize) -> bool,
    /// Computes the extremes of rows.
    pub extremes: FoldRows<T>,
    pub level: Level,
    /// Writes the indices of given values in rows.
    pub first: unsafe fn(usize, usize, *const T, isize, *const T, *mut i64, isize),
}

/// Makes a function for each search, which returns the index of the extreme of a vector of `n` > 0 elements.
macro_rules! of_vectors {
    ($($name:ident)*) => {$(
        /// # Safety
        /// The vector must be valid and have `n` elements; the machine must have the level.
        #[inline(always)]
        pub unsafe fn $name<M: Storage>(level: Level, n: usize, x: StridedVector<M>) -> i64 {
            // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
            unsafe {
                if const { is_element::<M>() } {
                    let search = Kernels::<Compute<M>>::new(level).$name();
                    search(n, x.at(0).cast(), x.inc) as i64
                } else {
                    Search::<Compute<M>>::$name(level).of_widened(n, x)
                }
            }
        }
    )*};
}
of_vectors! { argmin argmax }

impl<T: Element> Search<T> {
    /// Returns the index of the extreme of a vector whose elements are widened.
    ///
    /// # Safety
    /// As [`argmin`].
    #[inline(never)]
    pub unsafe fn of_widened<M: Storage<Compute = T>>(&self, n: usize, x: StridedVector<M>) -> i64 {
        // SAFETY: as the caller's.
        of_strided(self.level, x, |chunks| unsafe {
            self.gathered(1, n, chunks)[0]
        })
    }

    /// Writes the indices of the extremes of the columns of a row-major matrix to `out`: some columns at once, and block by
    /// block of rows that are widened in the work area.
    ///
    /// # Safety
    /// The columns must be valid, and `out` be valid for each; the area must suffice for them.
    pub unsafe fn widened_columns<M: Storage<Compute = T>>(
        &self,
        matrix: RowMatrix<M>,
        area: ColumnsArea<T>,
        out: *mut i64,
    ) {
        let n = matrix.n;
        for first in (0..matrix.m).step_by(AT_ONCE) {
            let part = matrix.part(first, AT_ONCE.min(matrix.m - first));
            let out = out.wrapping_add(first);
            let rows = (BLOCK / part.m.max(1)).clamp(1, MOST_ROWS);
            let mut best = [T::ZERO; AT_ONCE];
            for from in (0..n).step_by(rows) {
                let block = [from, rows.min(n - from)];
                // SAFETY: as the caller's.
                unsafe { self.widened_block(part, block, area.lanes, &mut best, out) };
            }
            for j in 0..part.m {
                // SAFETY: as the caller's. These columns may have a NaN.
                unsafe {
                    if *out.add(j) < 0 {
                        let column = StridedVector::new(part.row(j), part.x.cs);
                        out.add(j).write(self.of_widened(n, column));
                    }
                }
            }
        }
    }

    /// Searches a block of rows of at most [`AT_ONCE`] columns: `len` from `from` on. `best` and `out` hold the extremes of the
    /// rows before and their indices, -1 for a column that may have a NaN.
    ///
    /// # Safety
    /// As [`Search::widened_columns`]; `buffer` must have room for the block.
    unsafe fn widened_block<M: Storage<Compute = T>>(
        &self,
        matrix: RowMatrix<M>,
        [from, len]: [usize; 2],
        buffer: *mut T,
        best: &mut [T; AT_ONCE],
        out: *mut i64,
    ) {
        let (m, widen) = (matrix.m, Kernels::<M>::new(self.level).widen());
        let mut found = [0; AT_ONCE];
        // SAFETY: as the caller's; an index is less than `len`.
        unsafe {
            let row = |i| matrix.x.at(0, from + i);
            if matrix.x.cs == m as isize {
                widen(len * m, row(0), buffer, CHUNK_AHEAD);
            } else {
                (0..len).for_each(|i| widen(m, row(i), buffer.add(i * m), 0));
            }
            (self.columns)(len, m, buffer, m as isize, found.as_mut_ptr(), 1);
            for (j, (&found, best)) in found.iter().zip(best).enumerate().take(m) {
                let index = out.add(j);
                if found < 0 {
                    index.write(found);
                    continue;
                }
                let value = *buffer.add(found as usize * m + j);
                if from == 0 || *index >= 0 && (self.better)(value, *best) {
                    (*best, *index) = (value, from as i64 + found);
                }
            }
        }
    }

    pub fn argmin(level: Level) -> Self {
        let k = Kernels::<T>::new(level);
        Self {
            vector: k.argmin(),
            better: |a, b| a < b,
            columns: k.argmin_columns(),
            extremes: <Min as FoldOfMany<T>>::rows(level),
            level,
            first: k.first_in_rows(),
        }
    }

    pub fn argmax(level: Level) -> Self {
        let k = Kernels::<T>::new(level);
        Self {
            vector: k.argmax(),
            better: |a, b| a > b,
            columns: k.argmax_columns(),
            extremes: <Max as FoldOfMany<T>>::rows(level),
            level,
            first: k.first_in_rows(),
        }
    }
}

/// Writes the index of the extreme of row i to out\[i\].
///
/// # Safety
/// The rows, which must have at least one element, and `out` must be valid.
#[inline(always)]
pub unsafe fn search<M: Storage>(
    exec: &Exec<'_>,
    search: Search<Compute<M>>,
    rows: RowMatrix<M>,
    out: StridedVector<i64>,
) {
    // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<M>() } {
            return search_elements(exec, search, rows.cast(), out);
        }
        let widened = Widened::<M> {
            kernel: &search,
            rounds: false,
        };
        widened.rows(exec, rows.bytes(), out.bytes());
    }
}

/// [`search`] of elements in the type of arithmetic.
///
/// # Safety
/// As [`search`].
unsafe fn search_elements<T: Element>(
    exec: &Exec<'_>,
    search: Search<T>,
    rows: RowMatrix<T>,
    out: StridedVector<i64>,
) {
    if rows.is_column_major() {
        rows.split(exec, COLUMNS / 4, |_, from, to| {
            let columns = Vectors {
                count: to - from,
                len: rows.n,
                x: rows.row(from),
                layout: VectorLayout::Columns { inc: rows.x.cs },
                work: WorkArea::NONE,
            };
            let out = StridedVector::new(out.at(from), out.inc);
            // SAFETY: these rows lie in the matrix, and no other task writes their results.
            unsafe { search_columns(&search, columns, rows.x.cs, out) };
        });
        return;
    }
    // Longer rows are searched one by one: each is still in a cache when its extreme has been found.
    if let Some(VectorLayout::Rows { inc }) = rows.layout()
        && rows.n < 3 * T::LANES
    {
        return rows.split(exec, 16, |_, from, to| {
            // SAFETY: these rows lie in the matrix, and no other task writes their results.
            unsafe { search_rows(&search, rows, inc, (from, to), out) };
        });
    }
    rows.split(exec, 1, |_, from, to| {
        for i in from..to {
            // SAFETY: row i lies in the matrix, and its result is written by one task.
            unsafe {
                let index = (search.vector)(rows.n, rows.row(i), rows.x.cs);
                out.at(i).cast_mut().write(index as i64);
            }
        }
    });
}

/// Searches contiguous rows in blocks.
///
/// # Safety
/// The machine must have the search's level; rows from..to must be valid, and `out` for each.
unsafe fn search_rows<T: Element>(
    s: &Search<T>,
    rows: RowMatrix<T>,
    inc: isize,
    (from, to): (usize, usize),
    out: StridedVector<i64>,
) {
    let all = Vectors {
        count: to - from,
        len: rows.n,
        x: rows.row(from),
        layout: VectorLayout::Rows { inc },
        work: WorkArea {
            from_memory: rows.is_from_memory(),
            ..WorkArea::NONE
        },
    };
    if is_short(s.level, &all, false) {
        // SAFETY: as the caller's.
        return unsafe { search_short(s, all, StridedVector::new(out.at(from), out.inc)) };
    }
    let block = cached::<T>(rows.n, false).min(COLUMNS);
    for j in (0..all.count).step_by(block) {
        let part = all.part(j, block.min(all.count - j));
        // SAFETY: as the caller's.
        unsafe { search_block(s, part, inc, StridedVector::new(out.at(from + j), out.inc)) };
    }
}

/// Searches short rows. A function of its own, because of its stack.
///
/// # Safety
/// The machine must have the search's level; the rows must be valid, and `out` for each.
#[inline(never)]
unsafe fn search_short<T: Element>(s: &Search<T>, m: Vectors<T>, out: StridedVector<i64>) {
    // SAFETY: as the caller's.
    unsafe {
        in_columns(s.level, m, out, |block, out| match block.layout {
            VectorLayout::Columns { inc } => search_columns(s, block, inc, out),
            VectorLayout::Rows { inc } => search_block(s, block, inc, out),
        });
    }
}

/// Searches at most [`COLUMNS`] contiguous rows: first the extremes of the rows, then their indices.
///
/// # Safety
/// The machine must have the search's level; the rows must be valid, and `out` for each.
unsafe fn search_block<T: Element>(
    s: &Search<T>,
    m: Vectors<T>,
    inc: isize,
    out: StridedVector<i64>,
) {
    let mut values = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
    let values = values.as_mut_ptr().cast();
    // SAFETY: as the caller's.
    unsafe {
        (s.extremes)(
            m.count,
            m.len,
            m.x,
            inc,
            m.x,
            1,
            core::ptr::null(),
            values,
            m.work.from_memory,
        );
        (s.first)(
            m.count,
            m.len,
            m.x,
            inc,
            values,
            out.at(0).cast_mut(),
            out.inc,
        );
    }
}

/// Searches columns.
///
/// # Safety
/// The machine must have the search's level; the columns must be valid, and `out` for each.
unsafe fn search_columns<T: Element>(
    s: &Search<T>,
    m: Vectors<T>,
    inc: isize,
    out: StridedVector<i64>,
) {
    // SAFETY: as the caller's.
    unsafe {
        let results = out.at(0).cast_mut();
        if !(s.columns)(m.len, m.count, m.x, inc, results, out.inc) {
            return;
        }
        for j in 0..m.count {
            if *out.at(j) < 0 {
                let index = (s.vector)(m.len, m.x.wrapping_add(j), inc);
                out.at(j).cast_mut().write(index as i64);
            }
        }
    }
}
