//! The reductions of one type of elements behind one interface, so that the loops over tensors are compiled once.

use core::marker::PhantomData;

use crate::api::reduce::{
    Chunks, Output, ReductionKernels, RowMatrix, Search, StridedVector, reduce_rows, search_rows,
};
use crate::element::{Element, Storage};
use crate::exec::{Exec, Shared};
use crate::level::Level;

/// A matrix, whose m rows of n elements are reduced. All distances are in bytes.
#[derive(Clone, Copy)]
pub struct ByteMatrix {
    pub m: usize,
    pub n: usize,
    pub x: *const u8,
    pub rs: isize,
    pub cs: isize,
    pub out: *mut u8,
    pub inc_out: isize,
}

/// A reduction of elements of one type.
pub trait Kernel: Sync {
    /// The level whose kernels it has.
    fn level(&self) -> Level;

    /// Bytes of a result.
    fn result_size(&self) -> usize;

    /// Returns whether columns are reduced faster than if each were reduced by itself.
    fn takes_columns(&self) -> bool;

    /// Reduces each row.
    ///
    /// # Safety
    /// The matrix must be valid at all elements and results, and aligned.
    unsafe fn rows(&self, exec: &Exec<'_>, matrix: ByteMatrix);

    /// Reduces `vectors` vectors of n > 0 elements, at most [`MAX_GATHERED`](crate::api::reduce::MAX_GATHERED), and
    /// writes the results `inc` bytes apart.
    ///
    /// # Safety
    /// The vectors must be valid and have `n` elements, and `out` be valid for the results.
    unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
        out: *mut u8,
        inc: isize,
    );
}

/// Returns the rows and the results of a matrix.
fn of_matrix<T, O>(m: ByteMatrix) -> (RowMatrix<T>, StridedVector<O>) {
    let [rs, cs] = [m.rs, m.cs].map(|bytes| bytes / size_of::<T>() as isize);
    let x = Shared::new(m.x.cast());
    let out = StridedVector::new(m.out.cast::<O>(), m.inc_out / size_of::<O>() as isize);
    let ByteMatrix { m, n, .. } = m;
    (RowMatrix { m, n, x, rs, cs }, out)
}

/// A reduction with results of the type `O`.
pub struct Elements<'a, T: Storage, O>(pub &'a ReductionKernels<T>, pub PhantomData<fn() -> O>);

impl<T: Storage, O: Output<T>> Kernel for Elements<'_, T, O> {
    fn level(&self) -> Level {
        self.0.level
    }

    fn result_size(&self) -> usize {
        size_of::<O>()
    }

    fn takes_columns(&self) -> bool {
        self.0.takes_columns()
    }

    unsafe fn rows(&self, exec: &Exec<'_>, matrix: ByteMatrix) {
        let (rows, out) = of_matrix::<T, O>(matrix);
        // SAFETY: as the caller's.
        unsafe { reduce_rows(exec, self.0, rows, out) };
    }

    unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
        out: *mut u8,
        inc: isize,
    ) {
        let mut from = 0;
        while from < n {
            let len = O::LONGEST.min(n - from);
            // SAFETY: as the caller's.
            let results = unsafe { self.0.one.gathered(vectors, from, len, chunks) };
            let mut to = out;
            for &result in results.iter().take(vectors) {
                let part = O::of(result);
                // SAFETY: as the caller's; the results of the first part have been written.
                unsafe {
                    let to = to.cast::<O>();
                    to.write(if from == 0 {
                        part
                    } else {
                        to.read().with(part)
                    });
                }
                to = to.wrapping_offset(inc);
            }
            from += len;
        }
    }
}

impl<T: Element> Kernel for Search<T> {
    fn level(&self) -> Level {
        self.level
    }

    fn result_size(&self) -> usize {
        size_of::<i64>()
    }

    fn takes_columns(&self) -> bool {
        true
    }

    unsafe fn rows(&self, exec: &Exec<'_>, matrix: ByteMatrix) {
        let (rows, out) = of_matrix::<T, i64>(matrix);
        // SAFETY: as the caller's.
        unsafe { search_rows(exec, *self, rows, out) };
    }

    unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
        out: *mut u8,
        inc: isize,
    ) {
        // SAFETY: as the caller's.
        let indices = unsafe { Search::gathered(self, vectors, n, chunks) };
        let mut to = out;
        for &index in indices.iter().take(vectors) {
            // SAFETY: as the caller's.
            unsafe { to.cast::<i64>().write(index) };
            to = to.wrapping_offset(inc);
        }
    }
}
