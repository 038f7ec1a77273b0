//! Folds of vectors, split for threads without changing the tree of the canonical order.

use super::widened_chunks::fold_widened;
use crate::dispatch::{Compute, FoldColumns, FoldOf, FoldOfMany, FoldRows, FoldVector, is_element};
use crate::element::{Element, Storage};
use crate::exec::{Exec, Shared, share};
use crate::level::Level;
use crate::ops::reduce::{self, chunk_len};
use crate::recipe::{self, Folded};

/// The kernel of a fold of one vector.
pub struct FoldKernels<T: Element> {
    pub(super) vector: FoldVector<T>,
    /// How the results of two parts are combined.
    pub(crate) join: Join,
    pub(crate) level: Level,
}

/// The kernels of a fold of many vectors.
pub struct FoldManyKernels<T: Element> {
    pub columns: FoldColumns<T>,
    pub rows: FoldRows<T>,
}

/// How two results are combined.
#[derive(Clone, Copy)]
pub enum Join {
    Add,
    Mul,
    Min,
    Max,
}

impl Join {
    #[inline(always)]
    fn join<T: Element>(self, a: T, b: T) -> T {
        match self {
            Self::Add => a + b,
            Self::Mul => a * b,
            Self::Min => recipe::minimum(a, b),
            Self::Max => recipe::maximum(a, b),
        }
    }

    #[inline(always)]
    pub(crate) fn both<T: Element>(self, a: Folded<T>, b: Folded<T>) -> Folded<T> {
        Folded(self.join(a.0, b.0), self.join(a.1, b.1))
    }
}

/// A type of `ops::reduce` that names a fold.
pub trait Named {
    /// How the results of two parts are combined.
    const JOIN: Join;
}

macro_rules! joins {
    ($($Fold:ident $Join:ident;)*) => {
        $(impl Named for reduce::$Fold {
            const JOIN: Join = Join::$Join;
        })*
    };
}

joins! {
    Sum Add;
    AbsSum Add;
    SumSq Add;
    Deviations Add;
    Nonzero Add;
    ExpSum Add;
    Dot Add;
    Product Mul;
    Min Min;
    Max Max;
    MaxAbs Max;
}

impl<T: Element> FoldKernels<T> {
    /// Returns the kernel of the fold `F`.
    #[inline(always)]
    pub fn of<F: FoldOf<T> + Named>(level: Level) -> Self {
        Self {
            vector: F::vector(level),
            join: F::JOIN,
            level,
        }
    }

    /// Folds `n` elements, on this thread. Those of another type than `T` are widened.
    ///
    /// # Safety
    /// As [`fold`].
    #[inline(always)]
    pub unsafe fn run<M: Storage<Compute = T>>(
        self,
        n: usize,
        x: StridedVector<M>,
        y: StridedVector<M>,
        param: T,
    ) -> Folded<T> {
        // SAFETY: as the caller's. Elements that are not widened are of the type `T`.
        unsafe {
            if const { is_element::<M>() } {
                let (p, q) = (x.at(0).cast(), y.at(0).cast());
                (self.vector)(n, p, x.inc, q, y.inc, param)
            } else {
                fold_widened(self, n, x, y, param)
            }
        }
    }
}

impl<T: Element> FoldManyKernels<T> {
    /// Returns the kernels of the fold `F`.
    #[inline(always)]
    pub fn of<F: FoldOfMany<T>>(level: Level) -> Self {
        Self {
            columns: F::columns(level),
            rows: F::rows(level),
        }
    }
}

impl<T: Element> Clone for FoldKernels<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for FoldKernels<T> {}

impl<T: Element> Clone for FoldManyKernels<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element> Copy for FoldManyKernels<T> {}

/// A checked, strided vector.
pub struct StridedVector<T> {
    pub(crate) p: Shared<T>,
    pub inc: isize,
}

impl<T> StridedVector<T> {
    pub fn new(p: *const T, inc: isize) -> Self {
        Self {
            p: Shared::new(p),
            inc,
        }
    }
    /// Returns the address of element i.
    pub fn at(self, i: usize) -> *const T {
        self.p.get().wrapping_offset(i as isize * self.inc)
    }

    /// Returns the elements from element i on.
    pub fn from(self, i: usize) -> Self {
        Self::new(self.at(i), self.inc)
    }

    /// Returns the vector with a stride in bytes.
    pub fn bytes(self) -> StridedVector<u8> {
        StridedVector::new(self.at(0).cast(), self.inc * size_of::<T>() as isize)
    }
}

impl StridedVector<u8> {
    /// Returns the vector of elements of the type `T` that begin at these bytes; its stride counts bytes.
    pub fn elements<T>(self) -> StridedVector<T> {
        StridedVector::new(self.at(0).cast(), self.inc / size_of::<T>() as isize)
    }
}

impl<T> Clone for StridedVector<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for StridedVector<T> {}

/// The largest number of parts that a vector is split into.
pub const MAX_PARTS: usize = 64;

/// Folds `n` elements, on several threads if that pays.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid at `n` elements.
#[inline]
pub unsafe fn fold<T: Storage>(
    exec: &Exec<'_>,
    fold: FoldKernels<Compute<T>>,
    n: usize,
    x: StridedVector<T>,
    y: StridedVector<T>,
    param: Compute<T>,
) -> Folded<Compute<T>> {
    // SAFETY: as the caller's.
    unsafe {
        // To split costs more than a small fold.
        if exec.threads() == 1 {
            return fold.run(n, x, y, param);
        }
        fold_in_parts(exec, fold, n, x, y, param)
    }
}

/// Folds `n` elements in parts, on several threads if that pays, and joins the results in the pairwise tree.
///
/// # Safety
/// As [`fold`].
#[inline(never)]
unsafe fn fold_in_parts<T: Storage>(
    exec: &Exec<'_>,
    fold: FoldKernels<Compute<T>>,
    n: usize,
    x: StridedVector<T>,
    y: StridedVector<T>,
    param: Compute<T>,
) -> Folded<Compute<T>> {
    let parts = Parts::new::<Compute<T>>(exec, n, n.saturating_mul(size_of::<T>()));
    if parts.tasks == 1 {
        // SAFETY: as the caller's.
        return unsafe { fold.run(n, x, y, param) };
    }
    let mut results = [Folded(Compute::<T>::ZERO, Compute::<T>::ZERO); MAX_PARTS];
    let slots = Shared::new(results.as_mut_ptr());
    exec.run(parts.tasks, &move |task| {
        for (p, from, count) in parts.of_task(task) {
            // SAFETY: the part lies in 0..n; slot p < MAX_PARTS is this part's own.
            unsafe {
                slots
                    .get()
                    .add(p)
                    .write(fold.run(count, x.from(from), y.from(from), param));
            }
        }
    });
    pairwise(&mut results, parts.count, |a, b| fold.join.both(a, b))
}

/// Combines the first `count` values in the pairwise tree, level by level; an odd value at the end moves up unchanged.
pub fn pairwise<T: Copy>(values: &mut [T; MAX_PARTS], count: usize, join: impl Fn(T, T) -> T) -> T {
    // count <= MAX_PARTS. The mask shows the compiler that the index is in bounds.
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

/// How a reduction of `n` elements is split: into aligned runs of 2^j chunks, so that the tree over their results is
/// the top of the tree over all chunks.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The number of tasks.
    pub tasks: usize,
    /// The number of elements.
    n: usize,
    /// Elements of a part.
    len: usize,
    /// Parts of a task.
    share: usize,
    /// The number of parts.
    pub count: usize,
}

impl Parts {
    /// Splits `n` elements, `bytes` in memory.
    pub fn new<T: Element>(exec: &Exec<'_>, n: usize, bytes: usize) -> Self {
        let chunks = n.div_ceil(chunk_len::<T>()).max(1);
        let tasks = exec.tasks(bytes, chunks);
        let parts = if tasks == 1 {
            1
        } else {
            (4 * tasks).min(MAX_PARTS)
        };
        let len = share(chunks, parts).next_power_of_two() * chunk_len::<T>();
        let count = share(n, len).max(1);
        Self {
            tasks,
            n,
            len,
            share: share(count, tasks),
            count,
        }
    }

    /// Returns the parts of a task, each as (number of the part, first element, elements).
    pub fn of_task(self, task: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        let numbers = task * self.share..self.count.min((task + 1) * self.share);
        numbers.map(move |p| (p, p * self.len, self.len.min(self.n - p * self.len)))
    }
}
