//! The short way for small tensors that all lie in memory as one array: a few comparisons show that the arguments are
//! valid. A call that fails them, for whatever reason, takes the general way, which checks each argument and names the
//! one at fault.

use super::kind::{Location, Type};
use super::list::MAX_RANK;
use super::operand::Tensor;
use crate::api::fast_path;

/// Bytes of an array below which neither a second thread nor non-temporal stores would pay.
const SMALL: usize = 256 << 10;

/// A small tensor in row-major order, with elements.
pub struct Plain<'a> {
    tensor: &'a Tensor,
    /// The type of elements.
    pub of: Type,
    /// The number of elements.
    pub count: usize,
}

impl<'a> Plain<'a> {
    /// Returns the tensor if it qualifies.
    ///
    /// # Safety
    /// As [`Operand::new`](super::operand::Operand::new).
    #[inline(always)]
    pub unsafe fn new(tensor: &'a Tensor) -> Option<Self> {
        let of = Type::of(tensor.dtype_code, tensor.dtype_bits)?;
        let rank = tensor.ndim as usize;
        if rank > MAX_RANK || !is_valid(tensor) {
            return None;
        }
        let mut count = 1_usize;
        for i in (0..rank).rev() {
            // SAFETY: as the caller's.
            unsafe {
                let size = *tensor.shape.add(i);
                // No overflow: both factors are below `SMALL`.
                if size <= 0 || size >= SMALL as i64 || count >= SMALL {
                    return None;
                }
                let is_dense =
                    tensor.strides.is_null() || size == 1 || *tensor.strides.add(i) == count as i64;
                if !is_dense {
                    return None;
                }
                count *= size as usize;
            }
        }
        let plain = Self { tensor, of, count };
        let p = plain.first();
        let is_address = fast_path::is_small(count as i64, p) && p.addr() & (of.size() - 1) == 0;
        (is_address && count <= SMALL / of.size()).then_some(plain)
    }

    /// Returns the address of the first element.
    #[inline(always)]
    pub fn first(&self) -> *mut u8 {
        self.tensor
            .data
            .cast::<u8>()
            .wrapping_add(self.tensor.byte_offset as usize)
    }

    /// Returns whether a tensor has this one's type and shape, lies in memory in the same way, and is exactly this one
    /// or disjoint from it.
    ///
    /// # Safety
    /// As [`Plain::new`].
    #[inline(always)]
    pub unsafe fn fits(&self, other: &Tensor) -> bool {
        let own = self.tensor;
        let is_alike = (other.ndim, other.dtype_code, other.dtype_bits)
            == (own.ndim, own.dtype_code, own.dtype_bits)
            && is_valid(other);
        if !is_alike {
            return false;
        }
        let mut count = 1;
        for i in (0..own.ndim as usize).rev() {
            // SAFETY: as the caller's; the ranks are equal.
            unsafe {
                let size = *own.shape.add(i);
                let is_dense =
                    other.strides.is_null() || size == 1 || *other.strides.add(i) == count;
                if *other.shape.add(i) != size || !is_dense {
                    return false;
                }
                count *= size;
            }
        }
        let p = (other.data.cast::<u8>()).wrapping_add(other.byte_offset as usize);
        let is_address = fast_path::is_small(count, p) && p.addr() & (self.of.size() - 1) == 0;
        let bytes = (self.count * self.of.size()) as i64;
        is_address && fast_path::is_same_or_apart(bytes, p, self.first())
    }

    /// Returns a tensor of any type that has this one's shape, lies in memory in the same way, and is disjoint from it.
    ///
    /// # Safety
    /// As [`Plain::new`].
    #[inline(always)]
    pub unsafe fn converts_from(&self, x: &'a Tensor) -> Option<Self> {
        // SAFETY: as the caller's; the ranks are equal.
        unsafe {
            let other = Self::new(x).filter(|_| x.ndim == self.tensor.ndim)?;
            for i in 0..x.ndim as usize {
                if *self.tensor.shape.add(i) != *x.shape.add(i) {
                    return None;
                }
            }
            let (low, from) = (self.first().addr(), other.first().addr());
            let high = low + self.count * self.of.size();
            let is_apart = from >= high || from + other.count * other.of.size() <= low;
            is_apart.then_some(other)
        }
    }

    /// Returns whether a tensor is a number of this one's type, outside it.
    ///
    /// # Safety
    /// As [`Plain::new`].
    #[inline(always)]
    pub unsafe fn takes_number(&self, number: &Tensor) -> bool {
        if number.ndim != 0 {
            return false;
        }
        let (low, bytes) = (self.first().addr(), self.count * self.of.size());
        // SAFETY: as the caller's.
        let number = unsafe { Plain::new(number) };
        number.is_some_and(|number| {
            let at = number.first().addr();
            number.of == self.of && (at + self.of.size() <= low || low + bytes <= at)
        })
    }
}

/// Returns whether a tensor of no more than [`MAX_RANK`] axes can be read: it has data and a shape, on the host.
#[inline(always)]
fn is_valid(tensor: &Tensor) -> bool {
    tensor.dtype_lanes == 1
        && !tensor.data.is_null()
        && (tensor.data as u64)
            .checked_add(tensor.byte_offset)
            .is_some()
        && Location::Host.holds(tensor.device_type)
        && (tensor.ndim == 0 || (!tensor.shape.is_null() && tensor.shape.is_aligned()))
}
