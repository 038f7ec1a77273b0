//! The same reduction of every row, along whichever axis is faster to walk.

use super::fold::Strided;
use super::operation::{COLUMNS, Columns, Operation};
use crate::element::Element;
use crate::exec::{Exec, Shared, share};
use crate::table::Kernels;

/// A matrix argument that has been checked: m rows that are reduced, of n elements.
#[derive(Clone, Copy)]
pub struct Rows<T> {
    pub m: usize,
    pub n: usize,
    pub x: Shared<T>,
    pub rs: isize,
    pub cs: isize,
}

impl<T> Rows<T> {
    /// The address of row i.
    fn row(self, i: usize) -> *const T {
        self.x.get().wrapping_offset(i as isize * self.rs)
    }

    /// Whether the rows lie side by side, so that they are reduced as columns.
    fn are_columns(self) -> bool {
        self.rs == 1 && self.cs != 1 && self.m > 1
    }

    /// Runs `part(from, to)` over the rows, cut at multiples of `grain`.
    fn split(self, exec: &Exec<'_>, grain: usize, part: impl Fn(usize, usize) + Sync) {
        let bytes = self.m.saturating_mul(self.n).saturating_mul(size_of::<T>());
        let grains = share(self.m, grain);
        let tasks = exec.tasks(bytes, grains);
        let each = share(grains, tasks) * grain;
        exec.run(tasks, &|task| {
            let from = (task * each).min(self.m);
            part(from, (from + each).min(self.m));
        });
    }
}

/// out\[i\] = the reduction of row i.
///
/// # Safety
/// The rows and `out` must be valid.
pub unsafe fn reduce<T: Element>(
    exec: &Exec<'_>,
    k: &Kernels<T>,
    op: Operation,
    rows: Rows<T>,
    out: Strided<T>,
) {
    if rows.are_columns() {
        rows.split(exec, COLUMNS / 4, |from, to| {
            let mut results = [T::ZERO; COLUMNS];
            for i in (from..to).step_by(COLUMNS) {
                let cols = COLUMNS.min(to - i);
                let columns = Columns {
                    rows: rows.n,
                    cols,
                    x: rows.row(i),
                    inc: rows.cs,
                };
                // SAFETY: rows i..i + cols lie in the matrix, and no other task writes their results.
                unsafe {
                    op.columns(k, columns, &mut results);
                    for (j, &v) in results.iter().enumerate().take(cols) {
                        out.at(i + j).cast_mut().write(v);
                    }
                }
            }
        });
        return;
    }
    // SAFETY: row i lies in the matrix, and its result is written by one task.
    let one = |exec: &Exec<'_>, i: usize| unsafe {
        let v = op.vector(exec, k, rows.n, Strided::new(rows.row(i), rows.cs));
        out.at(i).cast_mut().write(v);
    };
    if rows.m < exec.threads() {
        return (0..rows.m).for_each(|i| one(exec, i));
    }
    rows.split(exec, 1, |from, to| {
        (from..to).for_each(|i| one(&Exec::new(), i))
    });
}

/// The kernels of argmin or argmax.
#[derive(Clone, Copy)]
pub struct Search<T> {
    pub vector: unsafe fn(usize, *const T, isize) -> usize,
    /// The extremes of columns.
    pub columns: unsafe fn(usize, usize, *const T, isize, *const T, isize, *const T, *mut T),
    /// Whether the first value beats the second.
    pub better: fn(T, T) -> bool,
}

/// out\[i\] = the index of the extreme of row i.
///
/// # Safety
/// The rows, of one element at least, and `out` must be valid.
pub unsafe fn search<T: Element>(
    exec: &Exec<'_>,
    search: Search<T>,
    rows: Rows<T>,
    out: Strided<i64>,
) {
    if rows.are_columns() {
        rows.split(exec, COLUMNS / 4, |from, to| {
            for i in (from..to).step_by(COLUMNS) {
                let cols = COLUMNS.min(to - i);
                // SAFETY: rows i..i + cols lie in the matrix, and no other task writes their results.
                unsafe { search_columns(search, rows, i, cols, out) };
            }
        });
        return;
    }
    rows.split(exec, 1, |from, to| {
        for i in from..to {
            // SAFETY: row i lies in the matrix, and its result is written by one task.
            unsafe {
                let index = (search.vector)(rows.n, rows.row(i), rows.cs);
                out.at(i).cast_mut().write(index as i64);
            }
        }
    });
}

/// Searches rows from..from + count, which lie side by side: the extremes of a block of elements of
/// each are folded at once; the block that held a row's extreme first is then searched.
unsafe fn search_columns<T: Element>(
    s: Search<T>,
    rows: Rows<T>,
    from: usize,
    count: usize,
    out: Strided<i64>,
) {
    /// Elements of each row in a block: few enough to search one by one.
    const BLOCK: usize = 64;
    let mut best = [T::ZERO; COLUMNS];
    let mut block_of = [0usize; COLUMNS];
    let mut extremes = [T::ZERO; COLUMNS];
    for start in (0..rows.n).step_by(BLOCK) {
        let len = BLOCK.min(rows.n - start);
        let p = rows.row(from).wrapping_offset(start as isize * rows.cs);
        // SAFETY: these elements lie in the matrix; count <= COLUMNS.
        unsafe {
            (s.columns)(
                len,
                count,
                p,
                rows.cs,
                p,
                rows.cs,
                core::ptr::null(),
                extremes.as_mut_ptr(),
            )
        };
        for ((best, block), &v) in best
            .iter_mut()
            .zip(&mut block_of)
            .zip(&extremes)
            .take(count)
        {
            if start == 0 || (!best.is_nan() && (v.is_nan() || (s.better)(v, *best))) {
                (*best, *block) = (v, start);
            }
        }
    }
    for (j, &start) in block_of.iter().enumerate().take(count) {
        let p = rows.row(from + j).wrapping_offset(start as isize * rows.cs);
        // SAFETY: the block lies in the row, and the caller vouches for the result.
        unsafe {
            let index = (s.vector)(BLOCK.min(rows.n - start), p, rows.cs);
            out.at(from + j).cast_mut().write((start + index) as i64);
        }
    }
}
