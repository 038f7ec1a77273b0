//! Folds of vectors, cut for threads without changing the tree.

use crate::element::Element;
use crate::exec::{Exec, Shared, share};
use crate::ops::reduce::{Work, chunk_len};
use crate::table::Kernels;

/// A fold of a vector; see `ops::reduce::vector`.
type VectorKernel<T> = unsafe fn(usize, *const T, isize, *const T, isize, T) -> T;
/// A fold of columns; see `ops::reduce::columns`.
type ColumnsKernel<T> =
    unsafe fn(usize, usize, *const T, isize, *const T, isize, *const T, *mut T, Work);
/// A fold of rows; see `ops::reduce::rows`.
pub type RowsKernel<T> =
    unsafe fn(usize, usize, *const T, isize, *const T, isize, *const T, *mut T);

/// How the results of chunks become one.
#[derive(Clone, Copy)]
pub enum Combine {
    Add,
    Mul,
    /// In any order: by the fold itself.
    Free,
}

/// The kernels of one fold.
#[derive(Clone, Copy)]
pub struct Fold<T> {
    pub vector: VectorKernel<T>,
    pub columns: ColumnsKernel<T>,
    pub rows: RowsKernel<T>,
    combine: Combine,
}

macro_rules! folds {
    ($($vector:ident, $columns:ident, $rows:ident, $combine:ident;)*) => {
        impl<T: Element> Fold<T> {
            $(
                pub fn $vector(k: &Kernels<T>) -> Self {
                    Fold {
                        vector: k.$vector,
                        columns: k.$columns,
                        rows: k.$rows,
                        combine: Combine::$combine,
                    }
                }
            )*
        }
    };
}

folds! {
    sum, sum_columns, sum_rows, Add;
    asum, asum_columns, asum_rows, Add;
    sumsq, sumsq_columns, sumsq_rows, Add;
    deviation_sq, deviation_sq_columns, deviation_sq_rows, Add;
    exp_sum, exp_sum_columns, exp_sum_rows, Add;
    dot, dot_columns, dot_rows, Add;
    prod, prod_columns, prod_rows, Mul;
    min, min_columns, min_rows, Free;
    max, max_columns, max_rows, Free;
}

/// The folds of nrm2 beyond the range of squares: of one vector at a time, so their columns and rows are
/// not asked for.
impl<T: Element> Fold<T> {
    pub fn scaled_sumsq(k: &Kernels<T>) -> Self {
        Self {
            vector: k.scaled_sumsq,
            ..Self::sumsq(k)
        }
    }
    pub fn max_abs(k: &Kernels<T>) -> Self {
        Self {
            vector: k.max_abs,
            ..Self::max(k)
        }
    }
}

/// A strided vector argument that has been checked.
pub struct Strided<T> {
    pub p: Shared<T>,
    pub inc: isize,
}

impl<T> Strided<T> {
    pub fn new(p: *const T, inc: isize) -> Self {
        Self {
            p: Shared::new(p),
            inc,
        }
    }
    /// The address of element i.
    pub fn at(self, i: usize) -> *const T {
        self.p.get().wrapping_offset(i as isize * self.inc)
    }
}

impl<T> Clone for Strided<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Strided<T> {}

/// Results of parts that are kept at once.
pub const MAX_PARTS: usize = 64;

/// The fold of `n` elements, on several threads where that pays.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid at `n` elements.
#[inline]
pub unsafe fn fold<T: Element>(
    exec: &Exec<'_>,
    fold: Fold<T>,
    n: usize,
    x: Strided<T>,
    y: Strided<T>,
    param: T,
) -> T {
    // SAFETY: as the caller's.
    unsafe {
        // Cutting costs more than a small fold.
        if exec.threads() == 1 {
            return (fold.vector)(n, x.at(0), x.inc, y.at(0), y.inc, param);
        }
        fold_in_parts(exec, fold, n, x, y, param)
    }
}

/// As [`fold`], where there are several threads.
///
/// # Safety
/// As [`fold`].
#[inline(never)]
unsafe fn fold_in_parts<T: Element>(
    exec: &Exec<'_>,
    fold: Fold<T>,
    n: usize,
    x: Strided<T>,
    y: Strided<T>,
    param: T,
) -> T {
    let parts = Parts::new::<T>(exec, n, n.saturating_mul(size_of::<T>()));
    if parts.tasks == 1 {
        // SAFETY: as the caller's.
        return unsafe { (fold.vector)(n, x.at(0), x.inc, y.at(0), y.inc, param) };
    }
    let mut results = [T::ZERO; MAX_PARTS];
    let slots = Shared::new(results.as_mut_ptr());
    exec.run(parts.tasks, &move |task| {
        for (p, from, count) in parts.of_task(task) {
            // SAFETY: the part lies in 0..n; slot p < MAX_PARTS is this part's own.
            unsafe {
                let result = (fold.vector)(count, x.at(from), x.inc, y.at(from), y.inc, param);
                slots.get().add(p).write(result);
            }
        }
    });
    combine(fold, &mut results, parts.count)
}

/// The result of the first `count` parts.
fn combine<T: Element>(fold: Fold<T>, results: &mut [T; MAX_PARTS], count: usize) -> T {
    match fold.combine {
        Combine::Add => pairwise(results, count, |a, b| a + b),
        Combine::Mul => pairwise(results, count, |a, b| a * b),
        Combine::Free => {
            let p = results.as_ptr();
            // SAFETY: `count` results have been written.
            unsafe { (fold.vector)(count, p, 1, p, 1, T::ZERO) }
        }
    }
}

/// The pairwise tree over the first `count` values, level by level; an odd last one passes up.
pub fn pairwise<T: Copy>(values: &mut [T; MAX_PARTS], count: usize, join: impl Fn(T, T) -> T) -> T {
    // The index is masked for the compiler alone: count <= MAX_PARTS.
    let at = |i: usize| i % MAX_PARTS;
    let mut width = count;
    while width > 1 {
        for i in 0..width / 2 {
            values[at(i)] = join(values[at(2 * i)], values[at(2 * i + 1)]);
        }
        if width % 2 == 1 {
            values[at(width / 2)] = values[at(width - 1)];
        }
        width = width.div_ceil(2);
    }
    values[0]
}

/// How a reduction of `n` elements is cut: aligned runs of 2^j chunks, so that the tree over their
/// results is the tree over all chunks.
#[derive(Clone, Copy)]
pub struct Parts {
    pub tasks: usize,
    n: usize,
    /// Elements of a part, and parts of a task.
    len: usize,
    share: usize,
    pub count: usize,
}

impl Parts {
    /// The cut of `n` elements of which `bytes` are touched.
    pub fn new<T: Element>(exec: &Exec<'_>, n: usize, bytes: usize) -> Self {
        let chunks = n.div_ceil(chunk_len::<T>()).max(1);
        let tasks = exec.tasks(bytes, chunks);
        let wanted = if tasks == 1 {
            1
        } else {
            (4 * tasks).min(MAX_PARTS)
        };
        let len = share(chunks, wanted).next_power_of_two() * chunk_len::<T>();
        let count = share(n, len).max(1);
        Self {
            tasks,
            n,
            len,
            share: share(count, tasks),
            count,
        }
    }

    /// The parts of a task, each as (its number, first element, elements).
    pub fn of_task(self, task: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let numbers = task * self.share..self.count.min((task + 1) * self.share);
        numbers.map(move |p| (p, p * self.len, self.len.min(self.n - p * self.len)))
    }
}
