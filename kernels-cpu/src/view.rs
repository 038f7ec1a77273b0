//! Strided views of slices: how vectors, matrices and batches of matrices are passed.
//!
//! A stride is the distance, in elements, from one element (row, column, matrix) to the next. It
//! may be zero or negative for inputs.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};

/// Where the elements of a view lie: per dimension a count and a stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout<const D: usize> {
    offset: usize,
    dims: [(usize, isize); D],
}

impl<const D: usize> Layout<D> {
    /// Checks that every element lies within `len`.
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
    ($(#[$doc:meta])* $Ref:ident, $Mut:ident, $D:literal) => {
        $(#[$doc])*
        /// A view for reading.
        #[derive(Clone, Copy, Debug)]
        pub struct $Ref<'a, T> {
            data: &'a [T],
            layout: Layout<$D>,
        }

        $(#[$doc])*
        /// A view for writing.
        #[derive(Debug)]
        pub struct $Mut<'a, T> {
            data: &'a mut [T],
            layout: Layout<$D>,
        }

        impl<T> $Ref<'_, T> {
            /// The address of the first element.
            pub(crate) fn ptr(&self) -> *const T {
                self.data.as_ptr().wrapping_add(self.layout.offset)
            }
            fn dim(&self, d: usize) -> (usize, isize) {
                self.layout.dims[d]
            }
        }

        impl<T> $Mut<'_, T> {
            /// The address of the first element.
            pub(crate) fn ptr(&mut self) -> *mut T {
                self.data.as_mut_ptr().wrapping_add(self.layout.offset)
            }
            fn dim(&self, d: usize) -> (usize, isize) {
                self.layout.dims[d]
            }
            /// The same view, for reading.
            pub fn as_ref(&self) -> $Ref<'_, T> {
                $Ref { data: self.data, layout: self.layout }
            }
            /// The same view, borrowed anew.
            pub fn reborrow(&mut self) -> $Mut<'_, T> {
                $Mut { data: self.data, layout: self.layout }
            }
        }
    };
}

view!(
    /// A vector with a stride.
    VecRef, VecMut, 1
);
view!(
    /// A matrix with a row stride and a column stride.
    MatRef, MatMut, 2
);
view!(
    /// Matrices of one shape at a fixed distance.
    BatchRef, BatchMut, 3
);

macro_rules! shape {
    ($View:ident, [$($get:ident $stride:ident $d:literal),*]) => {
        impl<T> $View<'_, T> {
            $(
                #[doc = concat!("The number of ", stringify!($get), ".")]
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

macro_rules! constructors {
    ($Vec:ident, $Mat:ident, $Batch:ident, $($slice:tt)+) => {
        impl<'a, T> $Vec<'a, T> {
            /// The whole slice.
            pub fn new(data: &'a $($slice)+) -> Self {
                let layout = Layout { offset: 0, dims: [(data.len(), 1)] };
                Self { data, layout }
            }
            /// `len` elements: `data[offset]`, `data[offset + inc]`, ...
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
            /// A row-major matrix without gaps: element (i, j) is `data[i * cols + j]`.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] unless `data` has `rows * cols` elements.
            pub fn new(data: &'a $($slice)+, rows: usize, cols: usize) -> Result<Self> {
                if rows.checked_mul(cols) != Some(data.len()) {
                    return Err(Error::ShapeMismatch { arg: "view" });
                }
                Self::with_strides(data, 0, rows, cols, cols as isize, 1)
            }
            /// Element (i, j) is `data[offset + i * rs + j * cs]`.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] when an element would lie outside `data`.
            pub fn with_strides(
                data: &'a $($slice)+, offset: usize, rows: usize, cols: usize, rs: isize, cs: isize,
            ) -> Result<Self> {
                let layout = Layout::new(data.len(), offset, [(rows, rs), (cols, cs)])?;
                Ok(Self { data, layout })
            }
            /// The transpose: a view of the same elements.
            pub fn t(self) -> Self {
                let Layout { offset, dims: [rows, cols] } = self.layout;
                Self { data: self.data, layout: Layout { offset, dims: [cols, rows] } }
            }
        }

        impl<'a, T> $Batch<'a, T> {
            /// Row-major matrices without gaps, one after the other.
            ///
            /// # Errors
            /// [`Error::ShapeMismatch`] unless `data` has `matrices * rows * cols` elements.
            pub fn new(data: &'a $($slice)+, matrices: usize, rows: usize, cols: usize) -> Result<Self> {
                let size = rows.checked_mul(cols);
                match size.and_then(|size| size.checked_mul(matrices)) {
                    Some(len) if len == data.len() => {
                        Self::with_strides(data, 0, [matrices, rows, cols], [(rows * cols) as isize, cols as isize, 1])
                    }
                    _ => Err(Error::ShapeMismatch { arg: "view" }),
                }
            }
            /// Element (i, j) of matrix b is `data[offset + b * bs + i * rs + j * cs]`, with
            /// `shape` = [matrices, rows, cols] and `strides` = [bs, rs, cs].
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
