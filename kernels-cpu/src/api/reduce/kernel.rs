//! The reductions of one type of elements behind one interface, so that the loops over tensors are compiled once.

use core::marker::PhantomData;

use super::fold::StridedVector;
use super::gathered::Chunks;
use super::output::Output;
use super::reduction::ReductionKernels;
use super::rows::{RowMatrix, reduce};
use super::search::{Search, search};
use super::widened_columns::{ColumnsArea, reduce_columns};
use crate::dispatch::Compute;
use crate::element::{Element, Storage};
use crate::exec::Exec;
use crate::level::Level;

/// A reduction of elements of one type.
pub trait Kernel: Sync {
    /// The level whose kernels it has.
    fn level(&self) -> Level;

    /// Bytes of a result.
    fn result_size(&self) -> usize;

    /// Reduces each row of a matrix. All strides count bytes.
    ///
    /// # Safety
    /// The rows must be valid and aligned, `out` be valid for a result of each.
    unsafe fn rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>);

    /// Reduces `vectors` vectors of n > 0 elements, at most [`MAX_GATHERED`](super::MAX_GATHERED), and
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

/// A reduction that takes a vector of elements of the type `M` too, which it widens.
pub trait KernelOf<M: Storage>: Kernel {
    /// Reduces a vector to a result, with the threads of `exec`.
    ///
    /// # Safety
    /// The vector must be valid and have `n` elements, and `out` be valid for a result.
    unsafe fn vector(&self, exec: &Exec<'_>, n: usize, x: StridedVector<M>, out: *mut u8);

    /// Reduces vectors that are the columns of a row-major matrix, to results that lie one after the other.
    ///
    /// # Safety
    /// The matrix must be valid, and `out` be valid for a result of each column; the area must suffice for so many columns.
    unsafe fn columns(&self, matrix: RowMatrix<M>, area: ColumnsArea<Compute<M>>, out: *mut u8);
}

/// A reduction with results of the type `O`.
pub struct Elements<'a, T: Element, O>(pub &'a ReductionKernels<T>, pub PhantomData<fn() -> O>);

impl<M: Storage, O: Output<Compute<M>>> KernelOf<M> for Elements<'_, Compute<M>, O> {
    // Not inlined: `columns` calls it for few vectors.
    #[inline(never)]
    unsafe fn vector(&self, exec: &Exec<'_>, n: usize, x: StridedVector<M>, out: *mut u8) {
        // SAFETY: as the caller's.
        unsafe { out.cast::<O>().write(O::of_vector(exec, &self.0.one, n, x)) };
    }

    unsafe fn columns(&self, matrix: RowMatrix<M>, area: ColumnsArea<Compute<M>>, out: *mut u8) {
        let (recipe, out, inc) = (self.0.recipe, out.cast::<O>(), matrix.x.cs);
        let mut from = 0;
        loop {
            let len = O::LONGEST.min(matrix.n - from);
            let x = matrix.x.at(0, from);
            // SAFETY: as the caller's; the results of the first part have been written.
            unsafe {
                reduce_columns(self.0, [len, matrix.m], x.cast(), inc, area);
                for j in 0..matrix.m {
                    let (value, to) = (*area.values.add(j), out.add(j));
                    if recipe.needs_pass(recipe.usual_passes(), value) {
                        let column = StridedVector::new(x.wrapping_add(j), inc);
                        KernelOf::<M>::vector(self, &Exec::new(), len, column, to.cast());
                        continue;
                    }
                    let part = O::of(value);
                    to.write(if from == 0 {
                        part
                    } else {
                        to.read().with(part)
                    });
                }
            }
            from += len;
            if from == matrix.n {
                return;
            }
        }
    }
}

impl<M: Storage> KernelOf<M> for Search<Compute<M>> {
    unsafe fn vector(&self, _exec: &Exec<'_>, n: usize, x: StridedVector<M>, out: *mut u8) {
        // SAFETY: as the caller's.
        unsafe { out.cast::<i64>().write(self.of_widened(n, x)) };
    }

    unsafe fn columns(&self, matrix: RowMatrix<M>, area: ColumnsArea<Compute<M>>, out: *mut u8) {
        // SAFETY: as the caller's.
        unsafe { self.widened_columns(matrix, area, out.cast()) };
    }
}

impl<T: Element, O: Output<T>> Kernel for Elements<'_, T, O> {
    fn level(&self) -> Level {
        self.0.level
    }

    fn result_size(&self) -> usize {
        size_of::<O>()
    }

    unsafe fn rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>) {
        let (rows, out) = (rows.elements::<T>(), out.elements::<O>());
        // SAFETY: as the caller's.
        unsafe { reduce(exec, self.0, rows, out) };
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

    unsafe fn rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>) {
        let (rows, out) = (rows.elements::<T>(), out.elements::<i64>());
        // SAFETY: as the caller's.
        unsafe { search(exec, *self, rows, out) };
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
