//! Tensors of few axes for the functions on pointers, which check the addresses themselves.

use super::kind::{Location, Type};
use super::operand::{Operand, Tensor};

/// The first element of a tensor with `N` axes, their lengths, and the strides in elements.
#[derive(Clone, Copy)]
pub struct Given<const N: usize> {
    /// The first element.
    pub p: *mut u8,
    /// The lengths of the axes.
    pub shape: [i64; N],
    /// The strides in elements.
    pub strides: [i64; N],
}

impl<const N: usize> Given<N> {
    /// Reads a tensor with elements of the type `of`, unless its description needs a closer look: it has another rank
    /// or type, has no address, lies in memory of another device, or has sizes that are negative or huge.
    ///
    /// # Safety
    /// As [`Operand::new`].
    #[inline(always)]
    pub unsafe fn read(tensor: &Tensor, of: Type) -> Option<Self> {
        let valid = tensor.ndim == N as i32
            && tensor.dtype_lanes == 1
            && !tensor.data.is_null()
            && Location::Host.holds(tensor.device_type)
            && Type::of(tensor.dtype_code, tensor.dtype_bits) == Some(of)
            && (tensor.data as u64)
                .checked_add(tensor.byte_offset)
                .is_some()
            && (N == 0 || (!tensor.shape.is_null() && tensor.shape.is_aligned()));
        if !valid {
            return None;
        }
        let mut given = Self {
            p: (tensor.data.cast::<u8>()).wrapping_add(tensor.byte_offset as usize),
            shape: [0; N],
            strides: [0; N],
        };
        let mut next = 1_i64;
        let axes = given.shape.iter_mut().zip(&mut given.strides);
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
        Some(given)
    }

    /// As [`Given::of`]; along axes of fewer than two elements, where strides have no meaning, they are 1.
    pub fn contiguous_if_short(operand: &Operand) -> Self {
        let mut given = Self::of(operand);
        for (count, stride) in given.shape.iter().zip(&mut given.strides) {
            if *count < 2 {
                *stride = 1;
            }
        }
        given
    }

    /// Returns a checked operand with `N` axes.
    pub fn of(operand: &Operand) -> Self {
        let mut given = Self {
            p: operand.p,
            shape: [0; N],
            strides: [0; N],
        };
        let axes = given.shape.iter_mut().zip(&mut given.strides);
        for (i, (count, stride)) in axes.enumerate() {
            let axis = operand.axis(i);
            (*count, *stride) = (axis.count as i64, axis.stride(operand.of) as i64);
        }
        given
    }
}
