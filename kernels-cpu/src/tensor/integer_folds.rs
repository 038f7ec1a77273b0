//! Reductions of the rows of matrices of integers: contiguous ones piece by piece, columns some rows at a time, others
//! through a buffer.

use crate::aligned::AlignedBytes;
use crate::api::reduce::{MAX_PARTS, RowMatrix, StridedVector};
use crate::copy::{CopyLoop, copy};
use crate::exec::{Exec, Shared, share};
use crate::level::Level;
use crate::ops::integers::prefetch_pages;
use crate::ops::integers::reduce::{FoldRows, IntegerFold, Join, SearchRows};
use crate::tensor::element_type::IntegerType;

/// A reduction of one type of elements.
pub struct IntegerReduction<'a> {
    /// The level whose kernels run.
    pub level: Level,
    /// The fold of the elements.
    pub fold: &'a IntegerFold,
    /// Bytes of a result.
    pub result: usize,
    /// How the first element that is the total is found in columns, if the result is its index instead of the total.
    pub search: Option<&'static [SearchRows; 4]>,
}

/// The total of some elements, and the index of the first that is the total, if it is sought.
#[derive(Clone, Copy)]
pub struct Found {
    pub total: i64,
    pub index: usize,
}

impl Found {
    /// That of no elements.
    pub const fn none(join: Join) -> Self {
        Self {
            total: join.start(),
            index: 0,
        }
    }
}

/// Bytes of the pieces in which an index is sought, and in which rows are gathered.
const PIECE: usize = 4 << 10;

/// The most bytes of a vector in one call of a kernel, between which pages are prefetched if it is long.
const AT_ONCE: usize = 8 << 10;
const LONG: usize = 64 << 10;

/// Memory on the stack.
#[repr(align(64))]
pub(super) struct Aligned<T>(pub T);

impl<'a> IntegerReduction<'a> {
    /// Returns a reduction to results of a type.
    #[inline(always)]
    pub fn new(
        level: Level,
        fold: &'a IntegerFold,
        result: IntegerType,
        search: Option<&'static [SearchRows; 4]>,
    ) -> Self {
        Self {
            level,
            fold,
            result: result.size(),
            search,
        }
    }

    /// Joins the totals of two parts of a vector; the later part begins at element `from`.
    #[inline(always)]
    pub fn join(&self, first: Found, later: Found, from: usize) -> Found {
        let total = self.fold.join.both(first.total, later.total);
        let index = if total == first.total {
            first.index
        } else {
            from + later.index
        };
        Found { total, index }
    }

    /// Writes a result.
    ///
    /// # Safety
    /// `to` must be valid for writing one.
    #[inline(always)]
    pub unsafe fn write(&self, to: *mut u8, found: Found) {
        let result = if self.search.is_some() {
            found.index as i64
        } else {
            found.total
        };
        // SAFETY: as the caller's.
        unsafe {
            match self.result {
                1 => to.cast::<i8>().write(result as i8),
                4 => to.cast::<i32>().write(result as i32),
                _ => to.cast::<i64>().write(result),
            }
        }
    }

    /// Returns a row of elements that change no total.
    #[inline(always)]
    pub(super) fn neutral(&self) -> Aligned<[u64; IntegerFold::ROW / 8]> {
        let bits = match self.fold.size {
            1 => u64::from(self.fold.neutral as u8).wrapping_mul(u64::MAX / 0xFF),
            4 => u64::from(self.fold.neutral as u32).wrapping_mul(u64::MAX / 0xFFFF_FFFF),
            _ => self.fold.neutral,
        };
        Aligned([bits; IntegerFold::ROW / 8])
    }

    /// Returns the kernel.
    #[inline(always)]
    fn kernel(&self) -> FoldRows {
        self.fold.rows[self.level as usize]
    }

    /// Folds rows into the totals of their columns, of which there are as many as a row of the kernel has elements.
    ///
    /// # Safety
    /// The rows, `step` bytes apart, and the totals must be valid.
    #[inline(always)]
    pub(super) unsafe fn fold_rows(
        &self,
        mut rows: usize,
        mut x: *const u8,
        step: isize,
        totals: *mut i64,
    ) {
        while rows > 0 {
            let count = rows.min(self.fold.most);
            // SAFETY: as the caller's.
            unsafe { self.kernel()(count, x, step, None, totals) };
            x = x.wrapping_offset(step.wrapping_mul(count as isize));
            rows -= count;
        }
    }

    /// Folds n > 0 contiguous elements.
    ///
    /// # Safety
    /// They must be valid.
    pub unsafe fn vector(&self, n: usize, x: *const u8) -> Found {
        if self.search.is_none() {
            // SAFETY: as the caller's.
            let total = unsafe { self.total(n, x) };
            return Found { total, index: 0 };
        }
        // The piece with the first element that is the total is read once more, from L1.
        let longest = PIECE / self.fold.size.max(1);
        let (mut best, mut at, mut from) = (self.fold.join.start(), 0, 0);
        while from < n {
            let len = longest.min(n - from);
            if n * self.fold.size > LONG {
                prefetch_pages(self.level, x.wrapping_add(from * self.fold.size), PIECE);
            }
            // SAFETY: the piece lies in 0..n.
            let total = unsafe { self.total(len, x.wrapping_add(from * self.fold.size)) };
            let both = self.fold.join.both(best, total);
            if both != best {
                (best, at) = (both, from);
            }
            from += len;
        }
        let piece = x.wrapping_add(at * self.fold.size);
        // SAFETY: as above.
        let within = unsafe { self.position(best, longest.min(n - at), piece) };
        Found {
            total: best,
            index: at + within,
        }
    }

    /// Returns the total of contiguous elements.
    ///
    /// # Safety
    /// They must be valid.
    #[inline(always)]
    unsafe fn total(&self, n: usize, mut x: *const u8) -> i64 {
        let (width, size) = (self.fold.width.max(1), self.fold.size);
        let (mut rows, rest) = (n / width, n % width);
        let row = width * size;
        let most = self.fold.most.min(AT_ONCE / row.max(1));
        let is_long = n * size > LONG;
        let mut total = self.fold.join.start();
        let kernel = self.kernel();
        while rows > most {
            if is_long {
                prefetch_pages(self.level, x, most * row);
            }
            // SAFETY: the rows lie in 0..n.
            unsafe { kernel(most, x, row as isize, Some(0), &mut total) };
            x = x.wrapping_add(most * row);
            rows -= most;
        }
        // SAFETY: as above.
        unsafe { kernel(rows, x, row as isize, Some(rest), &mut total) };
        total
    }

    /// Returns the index of the first of n contiguous elements that is `value`; 0 if none is.
    ///
    /// # Safety
    /// They must be valid.
    unsafe fn position(&self, value: i64, n: usize, x: *const u8) -> usize {
        /// Returns the first block of elements with the value, then its place there.
        unsafe fn find<T: Copy + PartialEq>(value: T, n: usize, x: *const T) -> usize {
            const BLOCK: usize = 32;
            let mut from = 0;
            while n - from > BLOCK {
                // SAFETY: the block lies in 0..n.
                let block = unsafe { x.add(from).cast::<[T; BLOCK]>().read() };
                if block.iter().fold(false, |any, &x| any | (x == value)) {
                    break;
                }
                from += BLOCK;
            }
            // SAFETY: as above.
            let rest = (from..n).find(|&i| unsafe { x.add(i).read() } == value);
            rest.unwrap_or(0)
        }
        // SAFETY: as the caller's.
        unsafe {
            match self.fold.size {
                1 => find(value as u8, n, x),
                4 => find(value as u32, n, x.cast()),
                _ => find(value as u64, n, x.cast()),
            }
        }
    }

    /// Reduces each row of a matrix. All strides count bytes.
    ///
    /// # Safety
    /// The rows and `out` must be valid.
    pub unsafe fn reduce_rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>) {
        let size = self.fold.size as isize;
        let are_columns = rows.x.rs == size && (rows.x.cs != size || rows.n == 1) && rows.m > 1;
        let bytes = rows.m.saturating_mul(rows.n).saturating_mul(self.fold.size);
        let grain = if are_columns { 256 } else { 1 };
        let tasks = exec.tasks(bytes, MAX_PARTS);
        let most = share(rows.m, grain);
        if tasks > most && rows.n > tasks {
            // SAFETY: as the caller's.
            unsafe { self.split_elements(exec, rows, out, (are_columns, tasks)) };
            return;
        }
        let tasks = tasks.min(most).max(1);
        let each = share(most, tasks) * grain;
        exec.run(tasks, &|task| {
            let from = (task * each).min(rows.m);
            let count = each.min(rows.m - from);
            // SAFETY: these rows lie in the matrix, and no other task writes their results.
            unsafe {
                self.reduce_part(
                    rows,
                    (from, count),
                    (0, rows.n),
                    are_columns,
                    &mut |i, found| {
                        self.write(out.at(i).cast_mut(), found);
                    },
                );
            }
        });
    }

    /// Reduces few rows with threads that each take some of the elements.
    ///
    /// # Safety
    /// As [`IntegerReduction::reduce_rows`].
    #[inline(never)]
    unsafe fn split_elements(
        &self,
        exec: &Exec<'_>,
        rows: RowMatrix<u8>,
        out: StridedVector<u8>,
        (are_columns, tasks): (bool, usize),
    ) {
        /// Results of all tasks.
        const SLOTS: usize = 512;
        let tasks = tasks.min(MAX_PARTS);
        let at_once = (SLOTS / tasks.max(1)).max(1);
        let each = share(rows.n, tasks);
        let mut from = 0;
        while from < rows.m {
            let count = at_once.min(rows.m - from);
            let mut slots = [Found::none(self.fold.join); SLOTS];
            let all = Shared::new(slots.as_mut_ptr());
            exec.run(tasks, &move |task| {
                let first = (task * each).min(rows.n);
                let elements = (first, each.min(rows.n - first));
                // SAFETY: these elements lie in the matrix, and the slots are this task's own.
                unsafe {
                    self.reduce_part(
                        rows,
                        (from, count),
                        elements,
                        are_columns,
                        &mut |i, found| {
                            all.get().add(task * count + i - from).write(found);
                        },
                    );
                }
            });
            for i in 0..count {
                let mut found = Found::none(self.fold.join);
                for task in 0..tasks {
                    let first = (task * each).min(rows.n);
                    if let Some(&part) = slots.get(task * count + i)
                        && first < rows.n
                    {
                        found = self.join(found, part, first);
                    }
                }
                // SAFETY: as the caller's.
                unsafe { self.write(out.at(from + i).cast_mut(), found) };
            }
            from += count;
        }
    }

    /// Reduces some elements of some rows, on this thread, and passes the number of each row and the result on.
    ///
    /// # Safety
    /// The elements must be valid.
    unsafe fn reduce_part(
        &self,
        rows: RowMatrix<u8>,
        (from, count): (usize, usize),
        (first, n): (usize, usize),
        are_columns: bool,
        done: &mut dyn FnMut(usize, Found),
    ) {
        let x = rows.x.ptr.get().cast_const();
        let [rs, cs] = [rows.x.rs, rows.x.cs];
        let x = x.wrapping_offset(rs.wrapping_mul(from as isize));
        let x = x.wrapping_offset(cs.wrapping_mul(first as isize));
        if n == 0 {
            return (0..count).for_each(|i| done(from + i, Found::none(self.fold.join)));
        }
        // SAFETY: as the caller's.
        unsafe {
            if are_columns {
                self.columns((n, count), x, cs, &mut |j, found| done(from + j, found));
                return;
            }
            for i in 0..count {
                let row = x.wrapping_offset(rs.wrapping_mul(i as isize));
                let found = if cs == self.fold.size as isize || n == 1 {
                    self.vector(n, row)
                } else {
                    self.strided(n, row, cs)
                };
                done(from + i, found);
            }
        }
    }

    /// Folds n elements, `step` bytes apart.
    ///
    /// # Safety
    /// They must be valid.
    #[inline(never)]
    unsafe fn strided(&self, n: usize, x: *const u8, step: isize) -> Found {
        let size = self.fold.size;
        let mut piece = AlignedBytes::<PIECE>::new();
        let piece: *mut u8 = piece.start();
        let (mut found, mut from) = (Found::none(self.fold.join), 0);
        while from < n {
            let count = (PIECE / size.max(1)).min(n - from);
            let one = CopyLoop {
                count,
                to: size as isize,
                from: step,
            };
            // SAFETY: the elements lie in 0..n, and fit the piece.
            unsafe {
                let x = x.wrapping_offset(step.wrapping_mul(from as isize));
                copy(self.level, size, piece, x, &[one]);
                found = self.join(found, self.vector(count, piece), from);
            }
            from += count;
        }
        found
    }
}
