//! Views of buffers: vectors, matrices and batches of matrices.

use super::buffer::{DeviceBuffer, Item};
use super::context::Stream;
use crate::Result;
use diptych::Error;

/// A strided vector in a buffer, for reading.
#[derive(Clone, Copy)]
pub struct VecRef<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *const T,
    pub(super) n: i64,
    pub(super) inc: i64,
}

impl<'b, T: Item> VecRef<'b, T> {
    /// Makes a view of `n` elements, the first at index `first`, with increment `inc`.
    ///
    /// # Errors
    /// `ShapeMismatch` if they do not all lie in the buffer.
    pub fn new(
        buffer: &'b DeviceBuffer<'_, T>,
        first: usize,
        n: usize,
        inc: isize,
    ) -> Result<Self> {
        inside(buffer.len(), first, [(n, inc)])?;
        Ok(VecRef {
            stream: buffer.stream(),
            start: buffer.pointer().wrapping_add(first),
            n: n as i64,
            inc: inc as i64,
        })
    }
}

impl<'b, T: Item> From<&'b DeviceBuffer<'_, T>> for VecRef<'b, T> {
    fn from(buffer: &'b DeviceBuffer<'_, T>) -> Self {
        let n = buffer.len() as i64;
        VecRef {
            stream: buffer.stream(),
            start: buffer.pointer(),
            n,
            inc: 1,
        }
    }
}

/// A matrix in a buffer, for reading.
#[derive(Clone, Copy)]
pub struct MatRef<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *const T,
    pub(super) rows: i64,
    pub(super) cols: i64,
    pub(super) rs: i64,
    pub(super) cs: i64,
}

/// A matrix in a buffer, for writing.
pub struct MatMut<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *mut T,
    pub(super) rows: i64,
    pub(super) cols: i64,
    pub(super) rs: i64,
    pub(super) cs: i64,
}

/// A batch of matrices of one shape in a buffer, for reading.
#[derive(Clone, Copy)]
pub struct BatchRef<'b, T> {
    /// The first matrix.
    pub(super) first: MatRef<'b, T>,
    pub(super) matrices: i64,
    /// Elements from one matrix to the next.
    pub(super) bs: i64,
}

/// A batch of matrices of one shape in a buffer, for writing.
pub struct BatchMut<'b, T> {
    /// The first matrix.
    pub(super) first: MatMut<'b, T>,
    pub(super) matrices: i64,
    /// Elements from one matrix to the next.
    pub(super) bs: i64,
}

/// Expands the transpose and the constructors of a matrix and a batch view, for reading or, with `mut`, for writing.
macro_rules! constructors {
    ($Mat:ident, $Batch:ident $(, $mut:tt)?) => {
        impl<T> $Mat<'_, T> {
            /// Returns the transpose, which is a view of the same memory.
            pub fn t(self) -> Self {
                $Mat {
                    rows: self.cols,
                    cols: self.rows,
                    rs: self.cs,
                    cs: self.rs,
                    ..self
                }
            }
        }

        impl<'b, T: Item> $Mat<'b, T> {
            /// Views the whole buffer as a row-major matrix.
            ///
            /// # Errors
            /// `ShapeMismatch` if the buffer does not have exactly `rows * cols` elements.
            pub fn new(
                buffer: &'b $($mut)? DeviceBuffer<'_, T>,
                rows: usize,
                cols: usize,
            ) -> Result<Self> {
                Ok($Batch::new(buffer, 1, rows, cols)?.first)
            }

            /// Makes a view whose element (0, 0) is at index `first`; `rows` and `cols` are (count, stride).
            ///
            /// # Errors
            /// `ShapeMismatch` if the elements do not all lie in the buffer.
            pub fn strided(
                buffer: &'b $($mut)? DeviceBuffer<'_, T>,
                first: usize,
                rows: (usize, isize),
                cols: (usize, isize),
            ) -> Result<Self> {
                Ok($Batch::strided(buffer, first, (1, 0), rows, cols)?.first)
            }
        }

        impl<'b, T: Item> $Batch<'b, T> {
            /// Views the whole buffer as row-major matrices, one after the other.
            ///
            /// # Errors
            /// `ShapeMismatch` if the buffer does not have exactly `matrices * rows * cols` elements.
            pub fn new(
                buffer: &'b $($mut)? DeviceBuffer<'_, T>,
                matrices: usize,
                rows: usize,
                cols: usize,
            ) -> Result<Self> {
                let pitch = whole(buffer.len(), matrices, rows, cols)?;
                let (matrices, rows, cols) = ((matrices, pitch), (rows, cols as isize), (cols, 1));
                Self::strided(buffer, 0, matrices, rows, cols)
            }

            /// Makes a view whose first element is at index `first`; `matrices`, `rows` and `cols` are (count,
            /// stride). A view for reading may have a batch stride of 0: all products then read the same matrix.
            ///
            /// # Errors
            /// `ShapeMismatch` if the elements do not all lie in the buffer.
            pub fn strided(
                buffer: &'b $($mut)? DeviceBuffer<'_, T>,
                first: usize,
                (matrices, bs): (usize, isize),
                (rows, rs): (usize, isize),
                (cols, cs): (usize, isize),
            ) -> Result<Self> {
                inside(buffer.len(), first, [(matrices, bs), (rows, rs), (cols, cs)])?;
                Ok($Batch {
                    first: $Mat {
                        stream: buffer.stream(),
                        start: buffer.pointer().wrapping_add(first),
                        rows: rows as i64,
                        cols: cols as i64,
                        rs: rs as i64,
                        cs: cs as i64,
                    },
                    matrices: matrices as i64,
                    bs: bs as i64,
                })
            }
        }
    };
}

constructors!(MatRef, BatchRef);
constructors!(MatMut, BatchMut, mut);

/// Refuses buffers of another size than the batch; returns the elements of one matrix.
fn whole(len: usize, matrices: usize, rows: usize, cols: usize) -> Result<isize> {
    let size = rows.checked_mul(cols);
    match size {
        Some(size) if size.checked_mul(matrices) == Some(len) => Ok(size as isize),
        _ => Err(Error::ShapeMismatch { arg: "buffer" }.into()),
    }
}

/// Refuses views that reach outside of a buffer of `len` elements; `dims` are (count, stride).
fn inside<const N: usize>(len: usize, first: usize, dims: [(usize, isize); N]) -> Result<()> {
    if dims.iter().any(|&(count, _)| count == 0) {
        return Ok(());
    }
    // Offsets are clamped to a distance longer than any buffer, so that the sums cannot overflow: a sum is exact, or
    // out of bounds in any case.
    const FAR: i128 = 1 << 64;
    let (mut low, mut high) = (first as i128, first as i128);
    for (count, stride) in dims {
        let reach = i128::from(stride as i64).saturating_mul(count as i128 - 1);
        low += reach.clamp(-FAR, 0);
        high += reach.clamp(0, FAR);
    }
    if low < 0 || high >= len as i128 {
        return Err(Error::ShapeMismatch { arg: "buffer" }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{inside, whole};

    #[test]
    fn views_stay_in_their_buffers() {
        assert!(inside(12, 0, [(3, 4), (4, 1)]).is_ok());
        assert!(inside(12, 11, [(3, -4), (4, -1)]).is_ok());
        assert!(inside(0, 5, [(0, 4), (4, 1)]).is_ok());
        assert!(inside(12, 0, [(2, 6), (2, 3), (3, 1)]).is_ok());
        assert!(inside(12, 0, [(7, 0), (3, 4), (4, 1)]).is_ok());
        assert!(inside(12, 0, [(3, 6), (2, 3), (3, 1)]).is_err());
        for (first, dims) in [
            (1, [(3, 4), (4, 1)]),
            (7, [(3, -4), (1, 0)]),
            (0, [(2, isize::MAX), (2, 1)]),
            (0, [(usize::MAX, isize::MAX), (usize::MAX, isize::MAX)]),
        ] {
            assert!(inside(12, first, dims).is_err());
        }
    }
    #[test]
    fn batches_fill_their_buffers() {
        assert_eq!(whole(24, 2, 3, 4), Ok(12));
        assert_eq!(whole(0, 0, 3, 4), Ok(12));
        for (len, matrices) in [(23, 2), (24, 3), (24, usize::MAX)] {
            assert!(whole(len, matrices, 3, 4).is_err());
        }
        assert!(whole(0, 1, usize::MAX, 2).is_err());
    }
}
