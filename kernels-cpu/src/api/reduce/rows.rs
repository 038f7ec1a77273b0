//! Reductions of every row of a matrix to elements or counts, which walk memory along the faster axis.

use super::fold::StridedVector;
use super::output::Output;
use super::reduction::ReductionKernels;
use super::vectors::{COLUMNS, VectorLayout, Vectors};
use core::marker::PhantomData;

use super::kernel::{Elements, Kernel};
use super::widened::Widened;
use crate::detect::is_from_memory;
use crate::dispatch::{Compute, is_element};
use crate::element::{Element, Storage};
use crate::exec::{Exec, Shared, share};
use crate::matrix::Matrix;
use crate::ops::reduce::{WorkArea, chunk_len, work_bytes};

/// A checked matrix: m rows to reduce, of n elements each.
pub struct RowMatrix<T> {
    pub m: usize,
    pub n: usize,
    pub x: Matrix<Shared<T>>,
}

impl<T> Clone for RowMatrix<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for RowMatrix<T> {}

impl<T> RowMatrix<T> {
    pub fn new([m, n]: [usize; 2], x: *const T, [rs, cs]: [isize; 2]) -> Self {
        let x = Matrix::new(Shared::new(x), rs, cs);
        Self { m, n, x }
    }
}

impl RowMatrix<u8> {
    /// Returns the matrix of elements of the type `T` that begin at these bytes; its strides count bytes.
    pub fn elements<T>(self) -> RowMatrix<T> {
        let Matrix { ptr, rs, cs, .. } = self.x;
        let strides = [rs, cs].map(|bytes| bytes / size_of::<T>() as isize);
        RowMatrix::new([self.m, self.n], ptr.get().cast(), strides)
    }
}

impl<T: Storage> RowMatrix<T> {
    /// Returns the matrix with elements of the type `U`, which is `T` under another name.
    pub(super) fn cast<U>(self) -> RowMatrix<U> {
        let Matrix { ptr, rs, cs, .. } = self.x;
        RowMatrix::new([self.m, self.n], ptr.get().cast(), [rs, cs])
    }

    /// Returns the matrix with strides in bytes.
    pub(super) fn bytes(self) -> RowMatrix<u8> {
        let Matrix { ptr, rs, cs, .. } = self.x;
        let strides = [rs, cs].map(|stride| stride * size_of::<T>() as isize);
        RowMatrix::new([self.m, self.n], ptr.get().cast(), strides)
    }

    /// Returns `count` rows from row i on.
    pub(super) fn part(self, i: usize, count: usize) -> Self {
        RowMatrix::new([count, self.n], self.row(i), [self.x.rs, self.x.cs])
    }

    /// Returns the address of row i.
    pub(super) fn row(self, i: usize) -> *const T {
        self.x.at(i, 0)
    }

    /// Returns whether the matrix is column-major, so that many rows are reduced together as columns in memory.
    pub(super) fn is_column_major(self) -> bool {
        self.x.rs == 1 && (self.x.cs != 1 || self.n == 1) && self.m > 1
    }

    /// Returns whether the elements are expected in memory rather than in a cache.
    pub(super) fn is_from_memory(self) -> bool {
        is_from_memory::<T>(self.m.saturating_mul(self.n))
    }

    /// Returns the layout of the rows if there are kernels that reduce many of them together.
    pub(super) fn layout(self) -> Option<VectorLayout> {
        if self.is_column_major() {
            Some(VectorLayout::Columns { inc: self.x.cs })
        } else if self.x.cs == 1 && self.m > 1 && self.n > 0 && self.n <= chunk_len::<Compute<T>>()
        {
            Some(VectorLayout::Rows { inc: self.x.rs })
        } else {
            None
        }
    }

    /// Splits the rows at multiples of `grain` and runs `part(task, first row, end row)` on each piece.
    pub(super) fn split(
        self,
        exec: &Exec<'_>,
        grain: usize,
        part: impl Fn(usize, usize, usize) + Sync,
    ) {
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
#[inline(always)]
pub unsafe fn reduce<M: Storage, O: Output<Compute<M>>>(
    exec: &Exec<'_>,
    reduction: &ReductionKernels<Compute<M>>,
    rows: RowMatrix<M>,
    out: StridedVector<O>,
) {
    // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<M>() } {
            return reduce_elements(exec, reduction, rows.cast(), out);
        }
        let widened = Widened::<M> {
            kernel: &Elements::<Compute<M>, O::Unrounded>(reduction, PhantomData),
            rounds: O::IS_ROUNDED,
        };
        widened.rows(exec, rows.bytes(), out.bytes());
    }
}

/// [`reduce`] of elements in the type of arithmetic.
///
/// # Safety
/// As [`reduce`].
unsafe fn reduce_elements<T: Element, O: Output<T>>(
    exec: &Exec<'_>,
    reduction: &ReductionKernels<T>,
    rows: RowMatrix<T>,
    out: StridedVector<O>,
) {
    let has_kernel =
        |layout: &VectorLayout| matches!(layout, VectorLayout::Rows { .. }) || rows.n <= O::LONGEST;
    if let Some(layout) = rows.layout().filter(has_kernel) {
        let (grain, bytes) = match layout {
            VectorLayout::Columns { .. } => (
                COLUMNS / 4,
                work_bytes::<T>(rows.n, rows.m, reduction.recipe.accumulators()),
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
            StridedVector::new(rows.row(i), rows.x.cs),
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
pub(super) fn cached<T>(len: usize, are_columns: bool) -> usize {
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
unsafe fn reduce_many<T: Element, O: Output<T>>(
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
    let long_runs = LONG_RUN_LEN + 1..=T::LANES;
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
unsafe fn scatter<T: Element, O: Output<T>>(
    reduction: &ReductionKernels<T>,
    many: Vectors<T>,
    out: StridedVector<O>,
    from: usize,
    block: usize,
) {
    let mut results = [T::ZERO; SCATTERED];
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
