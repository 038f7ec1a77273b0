//! The matrices of a call: where they lie in memory.
#![forbid(unsafe_code)]

use crate::exec::Shared;

/// A matrix in memory, or a batch of matrices. Strides count elements; they are `i64` in the arguments of a call, and
/// `isize` once these have been checked.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<P, I = isize> {
    /// The first element.
    pub ptr: P,
    /// The row stride.
    pub rs: I,
    /// The column stride.
    pub cs: I,
    /// The batch stride: from one matrix of a batch to the next.
    pub bs: I,
}

impl<P, I: Default> Matrix<P, I> {
    /// Returns a single matrix.
    #[inline(always)]
    pub fn new(ptr: P, rs: I, cs: I) -> Self {
        Self::batched(ptr, rs, cs, I::default())
    }

    /// Returns a batch of matrices.
    #[inline(always)]
    pub fn batched(ptr: P, rs: I, cs: I, bs: I) -> Self {
        Self { ptr, rs, cs, bs }
    }
}

impl<T, I> Matrix<*mut T, I> {
    /// Returns the same matrix, for reading.
    #[inline(always)]
    pub fn cast_const(self) -> Matrix<*const T, I> {
        let Self { ptr, rs, cs, bs } = self;
        let ptr = ptr.cast_const();
        Matrix { ptr, rs, cs, bs }
    }
}

impl<P> Matrix<P> {
    /// Returns the transpose.
    #[inline(always)]
    pub fn transposed(self) -> Self {
        Self {
            rs: self.cs,
            cs: self.rs,
            ..self
        }
    }
}

macro_rules! addresses {
    ($($P:ty),*) => {$(
        impl<T> Matrix<$P> {
            /// Returns the address of element (i, j).
            #[inline(always)]
            pub fn at(&self, i: usize, j: usize) -> $P {
                self.ptr.wrapping_offset(i as isize * self.rs + j as isize * self.cs)
            }

            /// Returns the part from element (i, j) on.
            #[inline(always)]
            pub fn offset(self, i: usize, j: usize) -> Self {
                Self { ptr: self.at(i, j), ..self }
            }

            /// Returns matrix `index` of the batch.
            #[inline(always)]
            pub fn item(self, index: usize) -> Self {
                Self { ptr: self.ptr.wrapping_offset(index as isize * self.bs), ..self }
            }
        }
    )*};
}

addresses!(*const T, *mut T);

impl<T> Matrix<Shared<T>> {
    /// Returns the address of element (i, j).
    #[inline(always)]
    pub fn at(self, i: usize, j: usize) -> *mut T {
        let Self { ptr, rs, cs, bs } = self;
        let ptr = ptr.get();
        Matrix { ptr, rs, cs, bs }.at(i, j)
    }
}
