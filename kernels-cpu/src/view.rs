//! Strided views of slices: vectors, matrices and batches of matrices.
//!
//! A stride is the distance, in elements, from one element (row, column, matrix) to the next. It may be zero or
//! negative; outputs with two elements at one address are refused by the operations.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// The layout of a view: the index of element 0 in the slice, and a count and a stride for each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout<const D: usize> {
    offset: usize,
    dims: [(usize, isize); D],
}

impl<const D: usize> Layout<D> {
    /// Checks that every element lies within a slice of `len` elements.
    fn new(len: usize, offset: usize, dims: [(usize, isize); D]) -> Result<Self> {
        let error = Error::ShapeMismatch { arg: "view" };
        let layout = Self { offset, dims };
        if dims.iter().any(|&(count, _)| count == 0) {
            return Ok(Self { offset: 0, dims });
        }
        let (mut low, mut high) = (offset as i128, offset as i128);
        for (count, stride) in dims {
            let count = isize::try_from(count).map_err(|_| error)?;
            let reach = (count as i128 - 1) * stride as i128;
            let end = if reach < 0 { &mut low } else { &mut high };
            *end = end.saturating_add(reach);
        }
        if low < 0 || high >= len as i128 {
            Err(error)
        } else {
            Ok(layout)
        }
    }
}

macro_rules! view {
    ($(#[$ref_doc:meta])* $Ref:ident, $(#[$mut_doc:meta])* $Mut:ident, $D:literal) => {
        $(#[$ref_doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $Ref<'a, T> {
            data: &'a [T],
            layout: Layout<$D>,
        }

        $(#[$mut_doc])*
        #[derive(Debug)]
        pub struct $Mut<'a, T> {
            data: &'a mut [T],
            layout: Layout<$D>,
        }

        impl<T> $Ref<'_, T> {
            /// Returns the address of element 0.
            pub(crate) fn ptr(&self) -> *const T {
                self.data.as_ptr().wrapping_add(self.layout.offset)
            }
            fn dim(&self, d: usize) -> (usize, isize) {
                self.layout.dims[d]
            }
        }

        impl<T> $Mut<'_, T> {
            /// Returns the address of element 0.
            pub(crate) fn ptr(&mut self) -> *mut T {
                self.data.as_mut_ptr().wrapping_add(self.layout.offset)
            }
            fn dim(&self, d: usize) -> (usize, isize) {
                self.layout.dims[d]
            }
            /// Returns the same view, for reading.
            pub fn as_ref(&self) -> $Ref<'_, T> {
                $Ref { data: self.data, layout: self.layout }
            }
            /// Returns the same view with a shorter borrow, so that this one can be used again afterwards.
            pub fn reborrow(&mut self) -> $Mut<'_, T> {
                $Mut { data: self.data, layout: self.layout }
            }
        }
    };
}

view!(
    /// A vector for reading: elements of a slice at a fixed distance, the stride. Slices, arrays and, with the feature
    /// `std`, `Vec`s convert into one.
    ///
    /// ```
    /// use diptych::{Exec, VecRef, sum};
    ///
    /// let x = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let odd = VecRef::with_stride(&x, 0, 3, 2)?; // 1, 3, 5
    /// assert_eq!(sum(&Exec::new(), odd)?, 9.0);
    /// // Column 1 of the row-major 2 x 3 matrix in x: it starts at element 1, and has 2 elements, 3 apart.
    /// assert_eq!(sum(&Exec::new(), VecRef::with_stride(&x, 1, 2, 3)?)?, 7.0);
    /// // Backwards: the offset is that of element 0 of the view, here the last one in memory.
    /// assert_eq!(VecRef::with_stride(&x, 5, 6, -1)?.elements(), 6);
    /// # Ok::<(), diptych::Error>(())
    /// ```
    VecRef,
    /// A vector for writing: elements of a slice at a fixed distance, the stride. Mutable slices, arrays and, with the
    /// feature `std`, `Vec`s convert into one.
    ///
    /// An operation refuses a vector of several elements with stride 0 as an output:
    /// [`Error::Overlap`].
    VecMut,
    1
);
view!(
    /// A matrix for reading: elements of a slice with a stride from row to row and a stride from column to column.
    ///
    /// A row-major matrix without gaps ([`MatRef::new`]) has the row stride `cols` and the column stride 1, a
    /// column-major one the row stride 1 and the column stride `rows`.
    ///
    /// ```
    /// use diptych::{Exec, MatRef, sum_rows};
    ///
    /// let x = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let row_major = MatRef::new(&x, 2, 3)?; // [1 2 3; 4 5 6]
    /// let column_major = MatRef::with_strides(&x, 0, 2, 3, 1, 2)?; // [1 3 5; 2 4 6]
    /// let block = MatRef::with_strides(&x, 1, 2, 2, 3, 1)?; // [2 3; 5 6]
    /// let mut sums = [0.0; 2];
    /// sum_rows(&Exec::new(), row_major, &mut sums)?;
    /// assert_eq!(sums, [6.0, 15.0]);
    /// sum_rows(&Exec::new(), column_major, &mut sums)?;
    /// assert_eq!(sums, [9.0, 12.0]);
    /// sum_rows(&Exec::new(), block.t(), &mut sums)?;
    /// assert_eq!(sums, [7.0, 9.0]);
    /// # Ok::<(), diptych::Error>(())
    /// ```
    MatRef,
    /// A matrix for writing: elements of a slice with a stride from row to row and a stride from column to column, as
    /// [`MatRef`].
    ///
    /// An operation refuses a matrix that has two elements at one address as an output:
    /// [`Error::Overlap`].
    MatMut,
    2
);
view!(
    /// Matrices of one shape for reading, at a fixed distance from each other in a slice. With a distance of 0 all
    /// matrices of the batch are the same.
    BatchRef,
    /// Matrices of one shape for writing, at a fixed distance from each other in a slice.
    ///
    /// An operation refuses a batch as an output if elements share an address, or if the matrices lie within each other
    /// so that it cannot tell: [`Error::Overlap`].
    BatchMut,
    3
);

macro_rules! shape {
    ($View:ident, [$($get:ident $stride:ident $d:literal),*]) => {
        impl<T> $View<'_, T> {
            $(
                #[doc = concat!("Returns the number of ", stringify!($get), ".")]
                pub fn $get(&self) -> usize {
                    self.dim($d).0
                }
                pub(crate) fn $stride(&self) -> isize {
                    self.dim($d).1
                }
            )*
        }
    };
}

shape!(VecRef, [elements inc 0]);
shape!(VecMut, [elements inc 0]);
shape!(MatRef, [rows rs 0, cols cs 1]);
shape!(MatMut, [rows rs 0, cols cs 1]);
shape!(BatchRef, [matrices bs 0, rows rs 1, cols cs 2]);
shape!(BatchMut, [matrices bs 0, rows rs 1, cols cs 2]);

impl<T> VecRef<'_, T> {
    /// Returns where the elements lie: the first, and the stride.
    pub(crate) fn vector(&self) -> (*const T, i64) {
        (self.ptr(), self.inc() as i64)
    }
}

macro_rules! matrices {
    ($($View:ident $this:ty: $P:ty, $new:ident($($stride:ident),*);)*) => {$(
        impl<T> $View<'_, T> {
            /// Returns the rows and columns.
            pub(crate) fn shape(&self) -> (usize, usize) {
                (self.rows(), self.cols())
            }
            /// Returns where the elements lie.
            pub(crate) fn matrix(self: $this) -> Matrix<$P, i64> {
                Matrix::$new(self.ptr(), $(self.$stride() as i64),*)
            }
        }
    )*};
}

matrices! {
    MatRef &Self: *const T, new(rs, cs);
    MatMut &mut Self: *mut T, new(rs, cs);
    BatchRef &Self: *const T, batched(rs, cs, bs);
    BatchMut &mut Self: *mut T, batched(rs, cs, bs);
}

macro_rules! constructors {
    ($Vec:ident, $Mat:ident, $Batch:ident, $($slice:tt)+) => {
        impl<'a, T> $Vec<'a, T> {
            /// Returns a view of the whole slice.
            pub fn new(data: &'a $($slice)+) -> Self {
                let layout = Layout { offset: 0, dims: [(data.len(), 1)] };
                Self { data, layout }
            }
            /// Returns a view of `len` elements: `data[offset]`, `data[offset + inc]`, `data[offset + 2 * inc]`, ...
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] when an element would lie outside `data`.
            pub fn with_stride(data: &'a $($slice)+, offset: usize, len: usize, inc: isize) -> Result<Self> {
                let layout = Layout::new(data.len(), offset, [(len, inc)])?;
                Ok(Self { data, layout })
            }
        }

        impl<'a, T> From<&'a $($slice)+> for $Vec<'a, T> {
            fn from(data: &'a $($slice)+) -> Self {
                Self::new(data)
            }
        }

        impl<'a, T> $Mat<'a, T> {
            /// Returns a row-major matrix without gaps: element (i, j) is `data[i * cols + j]`.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] unless `data` has exactly `rows * cols` elements.
            pub fn new(data: &'a $($slice)+, rows: usize, cols: usize) -> Result<Self> {
                if rows.checked_mul(cols) != Some(data.len()) {
                    return Err(Error::ShapeMismatch { arg: "view" });
                }
                Self::with_strides(data, 0, rows, cols, cols as isize, 1)
            }
            /// Returns a matrix whose element (i, j) is `data[offset + i * rs + j * cs]`.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] when an element would lie outside `data`.
            pub fn with_strides(
                data: &'a $($slice)+, offset: usize, rows: usize, cols: usize, rs: isize, cs: isize,
            ) -> Result<Self> {
                let layout = Layout::new(data.len(), offset, [(rows, rs), (cols, cs)])?;
                Ok(Self { data, layout })
            }
            /// Returns the transpose: a view of the same elements with rows and columns exchanged. Copies nothing.
            pub fn t(self) -> Self {
                let Layout { offset, dims: [rows, cols] } = self.layout;
                Self { data: self.data, layout: Layout { offset, dims: [cols, rows] } }
            }
        }

        impl<'a, T> $Batch<'a, T> {
            /// Returns row-major matrices without gaps, one after the other: element (i, j) of matrix b is
            /// `data[(b * rows + i) * cols + j]`.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] unless `data` has exactly `matrices * rows * cols` elements.
            pub fn new(data: &'a $($slice)+, matrices: usize, rows: usize, cols: usize) -> Result<Self> {
                let size = rows.checked_mul(cols);
                match size.and_then(|size| size.checked_mul(matrices)) {
                    Some(len) if len == data.len() => {
                        Self::with_strides(data, 0, [matrices, rows, cols], [(rows * cols) as isize, cols as isize, 1])
                    }
                    _ => Err(Error::ShapeMismatch { arg: "view" }),
                }
            }
            /// Returns matrices where element (i, j) of matrix b is `data[offset + b * bs + i * rs + j * cs]`, with
            /// `shape` = \[matrices, rows, cols\] and `strides` = \[bs, rs, cs\].
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] when an element would lie outside `data`.
            pub fn with_strides(
                data: &'a $($slice)+, offset: usize, shape: [usize; 3], strides: [isize; 3],
            ) -> Result<Self> {
                let dims = [(shape[0], strides[0]), (shape[1], strides[1]), (shape[2], strides[2])];
                let layout = Layout::new(data.len(), offset, dims)?;
                Ok(Self { data, layout })
            }
        }
    };
}

constructors!(VecRef, MatRef, BatchRef, [T]);
constructors!(VecMut, MatMut, BatchMut, mut [T]);

impl<'a, T, const N: usize> From<&'a [T; N]> for VecRef<'a, T> {
    fn from(data: &'a [T; N]) -> Self {
        Self::new(data)
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for VecMut<'a, T> {
    fn from(data: &'a mut [T; N]) -> Self {
        Self::new(data)
    }
}

#[cfg(feature = "std")]
impl<'a, T> From<&'a std::vec::Vec<T>> for VecRef<'a, T> {
    fn from(data: &'a std::vec::Vec<T>) -> Self {
        Self::new(data)
    }
}

#[cfg(feature = "std")]
impl<'a, T> From<&'a mut std::vec::Vec<T>> for VecMut<'a, T> {
    fn from(data: &'a mut std::vec::Vec<T>) -> Self {
        Self::new(data)
    }
}
