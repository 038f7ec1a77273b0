//! The two matrices of a map over rows.

use crate::detect;
use crate::matrix::Matrix;

/// The checked arguments of a map, or a part of them: m rows of n elements each, and where the results go.
pub struct MatrixPair<T> {
    /// The number of rows.
    pub m: usize,
    /// The number of elements in each row.
    pub n: usize,
    /// What is read.
    pub x: Matrix<*const T>,
    /// What is written.
    pub out: Matrix<*mut T>,
}

// SAFETY: the addresses in it are read by each task; what tasks write at them is apart.
unsafe impl<T> Sync for MatrixPair<T> {}

impl<T> Clone for MatrixPair<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatrixPair<T> {}

impl<T> MatrixPair<T> {
    /// Returns the pair with elements of the type `U`, which is `T` under another name.
    pub(super) fn cast<U>(self) -> MatrixPair<U> {
        let (x, out) = (self.x, self.out);
        MatrixPair {
            m: self.m,
            n: self.n,
            x: Matrix::batched(x.ptr.cast(), x.rs, x.cs, x.bs),
            out: Matrix::batched(out.ptr.cast(), out.rs, out.cs, out.bs),
        }
    }

    /// Returns `m` rows, from row `from` on.
    pub fn rows(self, from: usize, m: usize) -> Self {
        let (x, out) = (self.x.offset(from, 0), self.out.offset(from, 0));
        Self { m, x, out, ..self }
    }

    /// Returns `n` columns, from column `from` on.
    pub fn columns(self, from: usize, n: usize) -> Self {
        let (x, out) = (self.x.offset(0, from), self.out.offset(0, from));
        Self { n, x, out, ..self }
    }

    /// Returns the bytes of the elements that are read.
    pub fn bytes(&self) -> usize {
        let elements = self.m.saturating_mul(self.n);
        elements.saturating_mul(size_of::<T>())
    }

    /// Returns whether the output is expected to leave the caches before it is read.
    pub(crate) fn streams(&self) -> bool {
        let is_in_place = self.x.ptr == self.out.ptr.cast_const();
        !is_in_place && detect::exceeds_llc(self.bytes().saturating_mul(2))
    }
}
