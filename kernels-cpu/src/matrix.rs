//! The matrices of a call: where they lie in memory.
#![forbid(unsafe_code)]

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

impl<P> Matrix<P, i64> {
    /// Returns a single matrix.
    #[inline(always)]
    pub fn new(ptr: P, rs: i64, cs: i64) -> Self {
        Self::batched(ptr, rs, cs, 0)
    }

    /// Returns a batch of matrices.
    #[inline(always)]
    pub fn batched(ptr: P, rs: i64, cs: i64, bs: i64) -> Self {
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
