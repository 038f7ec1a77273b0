//! Tensors of few axes for the functions on pointers, which check the addresses themselves.

use super::header::Header;
use super::kind::Type;
use super::operand::{Operand, Tensor};
use crate::matrix::Matrix;

/// The first element of a tensor with `N` axes, their lengths, and the strides in elements.
#[derive(Clone, Copy)]
pub struct StridedTensor<const N: usize> {
    /// The first element.
    pub p: *mut u8,
    /// The lengths of the axes.
    pub shape: [i64; N],
    /// The strides in elements.
    pub strides: [i64; N],
}

impl<const N: usize> StridedTensor<N> {
    /// Reads a tensor with elements of the type `of`, unless its description needs a closer look: it has another rank
    /// or type, has no address, lies in memory of another device, or has sizes that are negative or huge.
    ///
    /// # Safety
    /// As [`Operand::new`].
    #[inline(always)]
    pub unsafe fn read(tensor: &Tensor, of: Type) -> Option<Self> {
        // Cheaper than `Type::of`: the two numbers are the same for all tensors of a call.
        let has_type =
            tensor.dtype_code == of.code() && usize::from(tensor.dtype_bits) == 8 * of.size();
        if tensor.ndim != N as i32 || !has_type {
            return None;
        }
        let header = Header::on_host(tensor, of)?;
        let mut strided = Self {
            p: header.p,
            shape: [0; N],
            strides: [0; N],
        };
        let mut next = 1_i64;
        let axes = strided.shape.iter_mut().zip(&mut strided.strides);
        for (i, (count, stride)) in axes.enumerate().rev() {
            // SAFETY: as the caller's.
            unsafe {
                *count = *tensor.shape.add(i);
                *stride = if tensor.strides.is_null() {
                    next
                } else {
                    *tensor.strides.add(i)
                };
            }
            let is_small = |value: i64| i32::try_from(value).is_ok();
            if *count < 0 || !is_small(*count) || !is_small(*stride) {
                return None;
            }
            // No overflow: both factors are small.
            next *= *count;
        }
        Some(strided)
    }

    /// As [`StridedTensor::of`]; along axes of fewer than two elements, where strides have no meaning, they are 1.
    pub fn contiguous_if_short(operand: &Operand) -> Self {
        let mut strided = Self::of(operand);
        for (count, stride) in strided.shape.iter().zip(&mut strided.strides) {
            if *count < 2 {
                *stride = 1;
            }
        }
        strided
    }

    /// Returns a checked operand with `N` axes.
    pub fn of(operand: &Operand) -> Self {
        let mut strided = Self {
            p: operand.p,
            shape: [0; N],
            strides: [0; N],
        };
        let axes = strided.shape.iter_mut().zip(&mut strided.strides);
        for (i, (count, stride)) in axes.enumerate() {
            let axis = operand.axis(i);
            (*count, *stride) = (axis.count as i64, axis.stride(operand.of) as i64);
        }
        strided
    }
}

impl StridedTensor<1> {
    /// Returns the vector, whose elements are of the type `T`, and its stride.
    #[inline(always)]
    pub fn vector<T>(&self) -> (*const T, i64) {
        (self.p.cast_const().cast(), self.strides[0])
    }
}

impl StridedTensor<2> {
    /// Returns the matrix, whose elements are of the type `T`.
    #[inline(always)]
    pub fn matrix<T>(&self) -> Matrix<*mut T, i64> {
        Matrix::new(self.p.cast(), self.strides[0], self.strides[1])
    }
}
