//! Reductions of the columns of row-major matrices of integers: some rows at a time into totals in L1, so that memory is
//! read along rows.

use core::ptr;

use super::integer_folds::{Found, IntegerReduction};
use crate::aligned::AlignedBytes;
use crate::ops::integers::reduce::{IntegerFold, MOST_SEARCHED, SearchRows};

/// Columns that are reduced together: their totals fit a part of L1.
const COLUMNS: usize = 1024;
/// The most columns of which several rows are read as one.
const NARROW: usize = 256;
/// Columns in which indices are sought together.
const COLUMNS_OF_SEARCH: usize = 256;
/// Rows that are read side by side: as many as hardware prefetchers follow.
const ROWS: usize = 32;
const _: () = assert!(ROWS <= MOST_SEARCHED);

/// A value of each of so many columns. A kernel writes whole rows, which may be longer.
#[repr(C, align(64))]
struct Columns<T, const COUNT: usize>([T; COUNT], [T; IntegerFold::WIDEST]);

impl<T: Copy, const COUNT: usize> Columns<T, COUNT> {
    fn new(value: T) -> Self {
        Self([value; COUNT], [value; IntegerFold::WIDEST])
    }

    /// Returns the address of the first; all lie in one piece.
    fn start(&mut self) -> *mut T {
        ptr::from_mut(self).cast()
    }
}

/// Rows of a matrix that a kernel takes: how many, the number of the first, where they begin, and the bytes between them.
struct SomeRows {
    count: usize,
    first: usize,
    x: *const u8,
    step: isize,
}

impl IntegerReduction<'_> {
    /// Reduces the columns of n > 0 rows, `step` bytes apart, of `columns` contiguous elements. Passes the number of each
    /// column and its result on.
    ///
    /// # Safety
    /// The elements must be valid.
    pub(super) unsafe fn columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let size = self.fold.size;
        let has_gaps = step != (columns * size) as isize;
        let most = match self.search {
            Some(_) => COLUMNS_OF_SEARCH,
            None => COLUMNS,
        };
        let mut from = 0;
        while from < columns {
            let count = most.min(columns - from);
            let part = x.wrapping_add(from * size);
            let mut pass = |j, found| done(from + j, found);
            // SAFETY: these columns lie in the matrix.
            unsafe {
                match self.search {
                    Some(search) => {
                        let search = search[self.level as usize];
                        self.search_columns((n, count), part, step, search, &mut pass);
                    }
                    None if columns <= NARROW && !has_gaps => {
                        self.narrow_columns((n, count), part, &mut pass);
                    }
                    None => self.wide_columns((n, count), part, step, &mut pass),
                }
            }
            from += count;
        }
    }

    /// Reduces at most [`COLUMNS`] columns.
    ///
    /// # Safety
    /// As [`IntegerReduction::columns`].
    #[inline(never)]
    unsafe fn wide_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let mut totals = Columns::<i64, COLUMNS>::new(self.fold.join.start());
        // SAFETY: as the caller's; there is a total of each column.
        unsafe { self.fold_columns((n, columns), x, step, totals.start()) };
        let all = totals.0.iter().take(columns).enumerate();
        all.for_each(|(j, &total)| done(j, Found { total, index: 0 }));
    }

    /// Reduces few columns without gaps between rows: several rows are read as one.
    ///
    /// # Safety
    /// As [`IntegerReduction::columns`].
    #[inline(never)]
    unsafe fn narrow_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let join = self.fold.join;
        let mut totals = Columns::<i64, COLUMNS>::new(join.start());
        let at_once = (COLUMNS / columns.max(1)).min(n).max(1);
        let row = columns * self.fold.size;
        let (rows, rest) = (n / at_once, n % at_once);
        let (step, behind) = (row * at_once, x.wrapping_add(rows * at_once * row));
        // SAFETY: all rows lie in the matrix, and there are totals for so many columns.
        unsafe {
            self.fold_columns((rows, columns * at_once), x, step as isize, totals.start());
            self.fold_columns((rest, columns), behind, row as isize, totals.start());
        }
        for j in 0..columns {
            let own = totals
                .0
                .iter()
                .skip(j)
                .step_by(columns.max(1))
                .take(at_once);
            let total = own.fold(join.start(), |a, &b| join.both(a, b));
            done(j, Found { total, index: 0 });
        }
    }

    /// Folds columns into their totals.
    ///
    /// # Safety
    /// The elements must be valid; there must be totals for whole rows of the kernel.
    unsafe fn fold_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        totals: *mut i64,
    ) {
        // SAFETY: as the caller's.
        unsafe {
            self.for_each_strip((n, columns), x, step, &mut |rows, column| {
                self.fold_rows(rows.count, rows.x, rows.step, totals.add(column));
            });
        }
    }

    /// Finds the first element of each of at most [`COLUMNS_OF_SEARCH`] columns that is its total.
    ///
    /// # Safety
    /// As [`IntegerReduction::columns`].
    #[inline(never)]
    unsafe fn search_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        search: SearchRows,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let mut totals = Columns::<i64, COLUMNS_OF_SEARCH>::new(self.fold.join.start());
        let mut indices = Columns::<usize, COLUMNS_OF_SEARCH>::new(0);
        let (to, at) = (totals.start(), indices.start());
        // SAFETY: as the caller's; there is a total and an index of each column.
        unsafe {
            self.for_each_strip((n, columns), x, step, &mut |rows, column| {
                let SomeRows {
                    count,
                    first,
                    x,
                    step,
                } = rows;
                search(count, x, step, first, to.add(column), at.add(column));
            });
        }
        let all = totals.0.iter().zip(&indices.0).take(columns).enumerate();
        all.for_each(|(j, (&total, &index))| done(j, Found { total, index }));
    }

    /// Calls `job` with some rows at a time, of as many columns as the kernel takes, and with the number of the first
    /// column. Of the last columns, if they are fewer, it gets copies filled up with elements that change no total.
    ///
    /// # Safety
    /// The elements must be valid.
    unsafe fn for_each_strip(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        job: &mut dyn FnMut(SomeRows, usize),
    ) {
        let (width, size) = (self.fold.width.max(1), self.fold.size);
        let whole = columns - columns % width;
        let mut first = 0;
        while first < n {
            let count = ROWS.min(n - first);
            let rows = x.wrapping_offset(step.wrapping_mul(first as isize));
            let mut column = 0;
            while column < whole {
                let x = rows.wrapping_add(column * size);
                let strip = SomeRows {
                    count,
                    first,
                    x,
                    step,
                };
                job(strip, column);
                column += width;
            }
            first += count;
        }
        if whole < columns {
            let (x, count) = (x.wrapping_add(whole * size), columns - whole);
            // SAFETY: as the caller's.
            unsafe { self.last_columns((n, count), x, step, &mut |rows| job(rows, whole)) };
        }
    }

    /// The last columns of [`IntegerReduction::for_each_strip`].
    ///
    /// # Safety
    /// As that.
    #[inline(never)]
    unsafe fn last_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        job: &mut dyn FnMut(SomeRows),
    ) {
        let (size, pitch) = (self.fold.size, self.fold.width * self.fold.size);
        let mut copies = AlignedBytes::<{ ROWS * IntegerFold::ROW }>::new();
        let copies: *mut u8 = copies.start();
        let neutral = self.neutral();
        for i in 0..ROWS.min(n) {
            // SAFETY: there is room for so many rows.
            unsafe {
                let row = copies.add(i * pitch);
                ptr::copy_nonoverlapping(neutral.0.as_ptr().cast(), row, pitch);
            }
        }
        let mut first = 0;
        while first < n {
            let count = ROWS.min(n - first);
            for i in 0..count {
                let row = x.wrapping_offset(step.wrapping_mul((first + i) as isize));
                // SAFETY: the row is the caller's; its copy is shorter than a row of the kernel.
                unsafe { ptr::copy_nonoverlapping(row, copies.add(i * pitch), columns * size) };
            }
            job(SomeRows {
                count,
                first,
                x: copies,
                step: pitch as isize,
            });
            first += count;
        }
    }
}
