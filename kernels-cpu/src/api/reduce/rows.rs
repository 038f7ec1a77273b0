//! Reductions of every row of a matrix, which walk memory along the faster axis.

use core::mem::MaybeUninit;

use super::fold::StridedVector;
use super::output::Output;
use super::reduction::{COLUMNS, ReductionKernels, VectorLayout, Vectors};
use super::short::{in_columns, is_short};
use crate::dispatch::{Compute, FoldRows, Kernels, Rows as KernelOfRows};
use crate::element::{Element, Storage};
use crate::exec::{Exec, Shared, share};
use crate::level::Level;
use crate::ops::is_from_memory;
use crate::ops::reduce::{Max, Min, WorkArea, chunk_len, work_bytes};

/// A checked matrix: m rows to reduce, of n elements each.
pub struct RowMatrix<T> {
    pub m: usize,
    pub n: usize,
    pub x: Shared<T>,
    pub rs: isize,
    pub cs: isize,
}

impl<T> Clone for RowMatrix<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RowMatrix<T> {}

impl<T: Storage> RowMatrix<T> {
    /// Returns the address of row i.
    fn row(self, i: usize) -> *const T {
        self.x.get().wrapping_offset(i as isize * self.rs)
    }

    /// Returns whether the matrix is column-major, so that many rows are reduced together as columns in memory.
    fn is_column_major(self) -> bool {
        self.rs == 1 && (self.cs != 1 || self.n == 1) && self.m > 1
    }

    /// Returns whether the elements are expected in memory rather than in a cache.
    fn is_from_memory(self) -> bool {
        is_from_memory::<T>(self.m.saturating_mul(self.n))
    }

    /// Returns the layout of the rows if there are kernels that reduce many of them together.
    fn layout(self) -> Option<VectorLayout> {
        if self.is_column_major() {
            Some(VectorLayout::Columns { inc: self.cs })
        } else if self.cs == 1 && self.m > 1 && self.n > 0 && self.n <= chunk_len::<Compute<T>>() {
            Some(VectorLayout::Rows { inc: self.rs })
        } else {
            None
        }
    }

    /// Splits the rows at multiples of `grain` and runs `part(task, first row, end row)` on each piece.
    fn split(self, exec: &Exec<'_>, grain: usize, part: impl Fn(usize, usize, usize) + Sync) {
        let bytes = self.m.saturating_mul(self.n).saturating_mul(size_of::<T>());
        let grains = share(self.m, grain);
        let tasks = exec.tasks(bytes, grains);
        if tasks <= 1 {
            return part(0, 0, self.m);
        }
        let each = share(grains, tasks) * grain;
        exec.run(tasks, &|task| {
            let from = (task * each).min(self.m);
            part(task, from, (from + each).min(self.m));
        });
    }
}

/// Writes the reduction of row i to out\[i\].
///
/// # Safety
/// The rows and `out` must be valid.
pub unsafe fn reduce<T: Storage, O: Output<T>>(
    exec: &Exec<'_>,
    reduction: &ReductionKernels<T>,
    rows: RowMatrix<T>,
    out: StridedVector<O>,
) {
    let has_kernel = |layout: &VectorLayout| {
        matches!(layout, VectorLayout::Rows { .. })
            || (reduction.takes_columns() && rows.n <= O::LONGEST)
    };
    if let Some(layout) = rows.layout().filter(has_kernel) {
        let (grain, bytes) = match layout {
            VectorLayout::Columns { .. } => (
                COLUMNS / 4,
                work_bytes::<Compute<T>>(rows.n, rows.m, reduction.recipe.accumulators()),
            ),
            VectorLayout::Rows { .. } => (16, 0),
        };
        return exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
            rows.split(exec, grain, |task, from, to| {
                scratch.with_optional_block(task, |p, bytes| {
                    let many = Vectors {
                        count: to - from,
                        len: rows.n,
                        x: rows.row(from),
                        layout,
                        work: WorkArea {
                            p,
                            bytes,
                            from_memory: rows.is_from_memory(),
                        },
                    };
                    // SAFETY: these rows lie in the matrix, and no other task writes their results.
                    unsafe { reduce_many(reduction, many, out, from) };
                });
            });
        });
    }
    // SAFETY: row i lies in the matrix, and its result is written by one task.
    let one = |exec: &Exec<'_>, i: usize| unsafe {
        let result = O::of_vector(
            exec,
            &reduction.one,
            rows.n,
            StridedVector::new(rows.row(i), rows.cs),
        );
        out.at(i).cast_mut().write(result);
    };
    if rows.m < exec.threads() {
        return (0..rows.m).for_each(|i| one(exec, i));
    }
    rows.split(exec, 1, |_, from, to| {
        (from..to).for_each(|i| one(&Exec::new(), i))
    });
}

/// Returns how many vectors of `len` elements a reduction with two passes takes at once, so that the second pass finds
/// them in a cache: columns in L1, rows in L2, because a call should take many rows.
fn cached<T>(len: usize, are_columns: bool) -> usize {
    const COLUMNS_BYTES: usize = 32 << 10;
    const ROWS_BYTES: usize = 256 << 10;
    let bytes = if are_columns {
        COLUMNS_BYTES
    } else {
        ROWS_BYTES
    };
    let fitting = bytes / size_of::<T>() / len.max(1);
    (fitting / 16 * 16).max(16)
}

/// Writes the reduction of vector j to out\[from + j\].
///
/// # Safety
/// The machine must have the kernels' level; the vectors must be valid, and `out` from `from` on, for one element for
/// each.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
unsafe fn reduce_many<T: Storage, O: Output<T>>(
    reduction: &ReductionKernels<T>,
    many: Vectors<T>,
    out: StridedVector<O>,
    from: usize,
) {
    /// The shortest contiguous run of a row that is worth reading by itself, in bytes.
    const RUN_BYTES: usize = 2 << 10;
    /// The bytes of such runs, one for each element of a column, that a cache keeps for the second pass.
    const CACHED_BYTES: usize = 512 << 10;
    /// The bytes of a run for columns from memory with more than `LONG_RUN_LEN` elements and at most one per lane.
    const LONG_RUN_BYTES: usize = 4 << 10;
    const LONG_RUN_LEN: usize = 32;
    let are_columns = matches!(many.layout, VectorLayout::Columns { .. });
    let cached = cached::<T>(many.len, are_columns);
    let long_runs = LONG_RUN_LEN + 1..=Compute::<T>::LANES;
    let block = match (reduction.recipe.usual_passes(), are_columns) {
        (1, _) => usize::MAX,
        // Long columns: reading memory twice is faster than reading it in short runs.
        (_, true) if many.len > CACHED_BYTES / RUN_BYTES => usize::MAX,
        (_, true) if many.work.from_memory && long_runs.contains(&many.len) => {
            LONG_RUN_BYTES / size_of::<T>()
        }
        (_, true) => cached.max(RUN_BYTES / size_of::<T>()),
        (_, false) => cached.min(COLUMNS),
    };
    let block = if reduction.splits(&many) {
        usize::MAX
    } else {
        block.min(reduction.most_at_once())
    };
    if out.inc != 1 || !O::IS_COMPUTED {
        // SAFETY: as the caller's.
        return unsafe { scatter(reduction, many, out, from, block.min(SCATTERED)) };
    }
    let mut j = 0;
    while j < many.count {
        let part = many.part(j, block.min(many.count - j));
        // SAFETY: as the caller's.
        unsafe { reduction.many(part, out.at(from + j).cast_mut().cast()) };
        j += part.count;
    }
}

/// How many vectors [`scatter`] reduces at once.
const SCATTERED: usize = 256;

/// Reduces vectors to a block of results on the stack, and writes these to an output that is strided or has another
/// type.
///
/// # Safety
/// As [`reduce_many`]; block <= [`SCATTERED`].
#[inline(never)]
unsafe fn scatter<T: Storage, O: Output<T>>(
    reduction: &ReductionKernels<T>,
    many: Vectors<T>,
    out: StridedVector<O>,
    from: usize,
    block: usize,
) {
    let mut results = [Compute::<T>::ZERO; SCATTERED];
    let mut j = 0;
    while j < many.count {
        let part = many.part(j, block.min(many.count - j));
        // SAFETY: as the caller's; block <= SCATTERED.
        unsafe {
            reduction.many(part, results.as_mut_ptr());
            for (i, &v) in results.iter().enumerate().take(part.count) {
                out.at(from + j + i).cast_mut().write(O::of(v));
            }
        }
        j += part.count;
    }
}

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

impl<T: Element> Search<T> {
    pub fn argmin(level: Level) -> Self {
        let k = Kernels::<T>::new(level);
        Self {
            vector: k.argmin(),
            better: |a, b| a < b,
            columns: k.argmin_columns(),
            extremes: <Min as KernelOfRows<T>>::rows(level),
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
            extremes: <Max as KernelOfRows<T>>::rows(level),
            level,
            first: k.first_in_rows(),
        }
    }
}

/// Writes the index of the extreme of row i to out\[i\].
///
/// # Safety
/// The rows, which must have at least one element, and `out` must be valid.
pub unsafe fn search<T: Element>(
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
                layout: VectorLayout::Columns { inc: rows.cs },
                work: WorkArea::NONE,
            };
            let out = StridedVector::new(out.at(from), out.inc);
            // SAFETY: these rows lie in the matrix, and no other task writes their results.
            unsafe { search_columns(&search, columns, rows.cs, out) };
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
                let index = (search.vector)(rows.n, rows.row(i), rows.cs);
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
