//! Vectors and matrices in buffers.

use super::buffer::{DeviceBuffer, Item};
use super::context::Stream;
use crate::Result;
use diptych::Error;

/// The elements of a buffer, or every `inc`-th from one on.
#[derive(Clone, Copy)]
pub struct VecRef<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *const T,
    pub(super) n: i64,
    pub(super) inc: i64,
}

impl<'b, T: Item> VecRef<'b, T> {
    /// `n` elements from element `first` on, `inc` apart.
    ///
    /// # Errors
    /// `ShapeMismatch` when they do not all lie in the buffer.
    pub fn new(
        buffer: &'b DeviceBuffer<'_, T>,
        first: usize,
        n: usize,
        inc: isize,
    ) -> Result<Self> {
        inside(buffer.len(), first, [(n, inc), (1, 0)])?;
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

/// A matrix in a buffer, to be read.
#[derive(Clone, Copy)]
pub struct MatRef<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *const T,
    pub(super) rows: i64,
    pub(super) cols: i64,
    pub(super) rs: i64,
    pub(super) cs: i64,
}

impl<'b, T: Item> MatRef<'b, T> {
    /// The whole buffer, row after row.
    ///
    /// # Errors
    /// `ShapeMismatch` when it has another number of elements.
    pub fn new(buffer: &'b DeviceBuffer<'_, T>, rows: usize, cols: usize) -> Result<Self> {
        whole(buffer.len(), rows, cols)?;
        Self::strided(buffer, 0, (rows, cols as isize), (cols, 1))
    }

    /// `rows` and `cols` with their strides, from element `first` on.
    ///
    /// # Errors
    /// `ShapeMismatch` when they do not all lie in the buffer.
    pub fn strided(
        buffer: &'b DeviceBuffer<'_, T>,
        first: usize,
        (rows, rs): (usize, isize),
        (cols, cs): (usize, isize),
    ) -> Result<Self> {
        inside(buffer.len(), first, [(rows, rs), (cols, cs)])?;
        Ok(MatRef {
            stream: buffer.stream(),
            start: buffer.pointer().wrapping_add(first),
            rows: rows as i64,
            cols: cols as i64,
            rs: rs as i64,
            cs: cs as i64,
        })
    }

    /// The transpose: the same memory.
    pub fn t(self) -> Self {
        MatRef {
            rows: self.cols,
            cols: self.rows,
            rs: self.cs,
            cs: self.rs,
            ..self
        }
    }
}

/// A matrix in a buffer, to be written.
pub struct MatMut<'b, T> {
    pub(super) stream: &'b Stream,
    pub(super) start: *mut T,
    pub(super) rows: i64,
    pub(super) cols: i64,
    pub(super) rs: i64,
    pub(super) cs: i64,
}

impl<'b, T: Item> MatMut<'b, T> {
    /// The whole buffer, row after row.
    ///
    /// # Errors
    /// `ShapeMismatch` when it has another number of elements.
    pub fn new(buffer: &'b mut DeviceBuffer<'_, T>, rows: usize, cols: usize) -> Result<Self> {
        whole(buffer.len(), rows, cols)?;
        Self::strided(buffer, 0, (rows, cols as isize), (cols, 1))
    }

    /// `rows` and `cols` with their strides, from element `first` on.
    ///
    /// # Errors
    /// `ShapeMismatch` when they do not all lie in the buffer.
    pub fn strided(
        buffer: &'b mut DeviceBuffer<'_, T>,
        first: usize,
        (rows, rs): (usize, isize),
        (cols, cs): (usize, isize),
    ) -> Result<Self> {
        inside(buffer.len(), first, [(rows, rs), (cols, cs)])?;
        Ok(MatMut {
            stream: buffer.stream(),
            start: buffer.pointer().wrapping_add(first),
            rows: rows as i64,
            cols: cols as i64,
            rs: rs as i64,
            cs: cs as i64,
        })
    }
}

fn whole(len: usize, rows: usize, cols: usize) -> Result<()> {
    if rows.checked_mul(cols) == Some(len) {
        return Ok(());
    }
    Err(Error::ShapeMismatch { arg: "buffer" }.into())
}

/// Refuses views that leave their buffer.
fn inside(len: usize, first: usize, dims: [(usize, isize); 2]) -> Result<()> {
    if dims.iter().any(|&(count, _)| count == 0) {
        return Ok(());
    }
    let reach =
        |count: usize, stride: isize| i128::from(stride as i64).checked_mul(count as i128 - 1);
    let (mut low, mut high) = (first as i128, first as i128);
    for (count, stride) in dims {
        let reach = reach(count, stride).ok_or(Error::SizeOverflow { arg: "strides" })?;
        low += reach.min(0);
        high += reach.max(0);
    }
    if low < 0 || high >= len as i128 {
        return Err(Error::ShapeMismatch { arg: "buffer" }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::inside;

    #[test]
    fn views_stay_in_their_buffers() {
        assert!(inside(12, 0, [(3, 4), (4, 1)]).is_ok());
        assert!(inside(12, 11, [(3, -4), (4, -1)]).is_ok());
        assert!(inside(0, 5, [(0, 4), (4, 1)]).is_ok());
        for (first, dims) in [
            (1, [(3, 4), (4, 1)]),
            (7, [(3, -4), (1, 0)]),
            (0, [(2, isize::MAX), (2, 1)]),
        ] {
            assert!(inside(12, first, dims).is_err());
        }
    }
}
