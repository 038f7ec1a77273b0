//! Reductions of the columns of row-major matrices of integers: some rows at a time into totals in L1, so that memory is
//! read along rows.

use core::mem::MaybeUninit;
use core::ptr;

use super::integer_folds::{Aligned, Found, IntegerReduction};
use crate::ops::integers::reduce::IntegerFold;

/// Columns that are reduced together: their totals fit a part of L1.
const COLUMNS: usize = 1024;
/// The most columns of which several rows are read as one.
const NARROW: usize = 256;
/// Rows that are folded at a time, and read side by side: as many as hardware prefetchers follow.
const ROWS: usize = 32;
/// Columns in which indices are sought together, and rows among which the index is sought element by element.
const COLUMNS_OF_SEARCH: usize = 256;
const ROWS_OF_SEARCH: usize = 16;

/// The last columns, fewer than the kernel takes: copies of their rows, filled up with elements that change no total.
struct Tail {
    rows: Aligned<MaybeUninit<[u8; ROWS * IntegerFold::ROW]>>,
    totals: Aligned<[i64; IntegerFold::WIDEST]>,
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
        let (size, most) = match self.finds {
            true => (self.fold.size, COLUMNS_OF_SEARCH),
            false => (self.fold.size, COLUMNS),
        };
        let has_gaps = step != (columns * size) as isize;
        let mut from = 0;
        while from < columns {
            let count = most.min(columns - from);
            let part = x.wrapping_add(from * size);
            let mut pass = |j, found| done(from + j, found);
            // SAFETY: these columns lie in the matrix.
            unsafe {
                if self.finds {
                    self.search_columns((n, count), part, step, &mut pass);
                } else if columns <= NARROW && !has_gaps {
                    self.narrow_columns((n, count), part, &mut pass);
                } else {
                    let mut totals = Aligned([self.fold.join.start(); COLUMNS]);
                    self.fold_columns((n, count), part, step, totals.0.as_mut_ptr());
                    let all = totals.0.iter().take(count).enumerate();
                    all.for_each(|(j, &total)| pass(j, Found { total, index: 0 }));
                }
            }
            from += count;
        }
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
        let mut totals = Aligned([join.start(); COLUMNS]);
        let at_once = (COLUMNS / columns.max(1)).min(n).max(1);
        let row = columns * self.fold.size;
        let (rows, rest) = (n / at_once, n % at_once);
        let (step, behind) = (row * at_once, x.wrapping_add(rows * at_once * row));
        // SAFETY: all rows lie in the matrix, and there are totals for so many columns.
        unsafe {
            let p = totals.0.as_mut_ptr();
            self.fold_columns((rows, columns * at_once), x, step as isize, p);
            self.fold_columns((rest, columns), behind, row as isize, p);
        }
        for j in 0..columns {
            let own = totals.0.iter().skip(j).step_by(columns).take(at_once);
            let total = own.fold(join.start(), |a, &b| join.both(a, b));
            done(j, Found { total, index: 0 });
        }
    }

    /// Folds columns into their totals.
    ///
    /// # Safety
    /// The elements and the totals must be valid.
    #[inline(never)]
    unsafe fn fold_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        totals: *mut i64,
    ) {
        let (width, size) = (self.fold.width.max(1), self.fold.size);
        let whole = columns - columns % width;
        let mut i = 0;
        while i < n {
            let count = ROWS.min(n - i);
            let rows = x.wrapping_offset(step.wrapping_mul(i as isize));
            let mut j = 0;
            while j < whole {
                // SAFETY: these columns and their totals are among the caller's.
                unsafe {
                    self.fold_rows(count, rows.wrapping_add(j * size), step, totals.add(j));
                }
                j += width;
            }
            i += count;
        }
        if whole < columns {
            let (x, count) = (x.wrapping_add(whole * size), columns - whole);
            // SAFETY: as above.
            unsafe { self.fold_tail((n, count), x, step, totals.add(whole)) };
        }
    }

    /// Folds fewer columns than the kernel takes.
    ///
    /// # Safety
    /// As [`IntegerReduction::fold_columns`].
    #[inline(never)]
    unsafe fn fold_tail(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        totals: *mut i64,
    ) {
        let (width, size, join) = (self.fold.width, self.fold.size, self.fold.join);
        let pitch = width * size;
        let mut tail = Tail {
            rows: Aligned(MaybeUninit::uninit()),
            totals: Aligned([join.start(); IntegerFold::WIDEST]),
        };
        let rows: *mut u8 = tail.rows.0.as_mut_ptr().cast();
        let neutral = self.neutral();
        for i in 0..ROWS.min(n) {
            // SAFETY: there is room for so many rows.
            unsafe {
                let row = rows.add(i * pitch);
                ptr::copy_nonoverlapping(neutral.0.as_ptr().cast(), row, pitch);
            }
        }
        let mut i = 0;
        while i < n {
            let count = ROWS.min(n - i);
            // SAFETY: the rows are the caller's; their copies are shorter than a row of the kernel.
            unsafe {
                for k in 0..count {
                    let row = x.wrapping_offset(step.wrapping_mul((i + k) as isize));
                    ptr::copy_nonoverlapping(row, rows.add(k * pitch), columns * size);
                }
                self.fold_rows(count, rows, pitch as isize, tail.totals.0.as_mut_ptr());
            }
            i += count;
        }
        for (j, &total) in tail.totals.0.iter().take(columns).enumerate() {
            // SAFETY: as the caller's.
            unsafe {
                let to = totals.add(j);
                to.write(join.both(to.read(), total));
            }
        }
    }

    /// Finds the first element of each column that is its total: some rows at a time, and then among those that the total
    /// is from.
    ///
    /// # Safety
    /// As [`IntegerReduction::columns`]; at most [`COLUMNS_OF_SEARCH`].
    #[inline(never)]
    unsafe fn search_columns(
        &self,
        (n, columns): (usize, usize),
        x: *const u8,
        step: isize,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let join = self.fold.join;
        let mut best = [join.start(); COLUMNS_OF_SEARCH];
        let mut at = [0; COLUMNS_OF_SEARCH];
        let mut i = 0;
        while i < n {
            let count = ROWS_OF_SEARCH.min(n - i);
            let rows = x.wrapping_offset(step.wrapping_mul(i as isize));
            let mut totals = Aligned([join.start(); COLUMNS_OF_SEARCH]);
            // SAFETY: these rows are the caller's.
            unsafe { self.fold_columns((count, columns), rows, step, totals.0.as_mut_ptr()) };
            let both = best.iter_mut().zip(at.iter_mut()).zip(totals.0);
            for ((best, at), total) in both.take(columns) {
                let joined = join.both(*best, total);
                *at = if joined == *best { *at } else { i };
                *best = joined;
            }
            i += count;
        }
        for (j, (&total, &at)) in best.iter().zip(&at).take(columns).enumerate() {
            let column = x.wrapping_add(j * self.fold.size);
            let element = |i: usize| column.wrapping_offset(step.wrapping_mul(i as isize));
            // SAFETY: as the caller's.
            let is_it = |&i: &usize| unsafe { self.read(element(i)) == total };
            let index = (at..n.min(at + ROWS_OF_SEARCH)).find(is_it).unwrap_or(0);
            done(j, Found { total, index });
        }
    }
}
