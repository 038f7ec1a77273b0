//! The fast path for small tensors that each lie in memory as one array: a few comparisons show that the arguments are
//! valid. A call that fails them, for whatever reason, takes the general path, which checks each argument and names the
//! one at fault.

use super::header::{Header, is_aligned};
use super::kind::Type;
use super::operand::Tensor;
use crate::api::fast_path;

/// Bytes of an array below which neither a second thread nor non-temporal stores would pay.
const SMALL: usize = 256 << 10;

/// A small tensor in row-major order, with elements.
pub struct ContiguousTensor<'a> {
    tensor: &'a Tensor,
    /// The first element.
    pub p: *mut u8,
    /// The type of elements.
    pub of: Type,
    /// The number of elements.
    pub count: usize,
}

impl<'a> ContiguousTensor<'a> {
    /// Returns the tensor if it qualifies.
    ///
    /// # Safety
    /// As [`Operand::new`](super::operand::Operand::new).
    #[inline(always)]
    pub unsafe fn new(tensor: &'a Tensor) -> Option<Self> {
        let of = Type::of(tensor.dtype_code, tensor.dtype_bits)?;
        let Header { p, .. } = Header::on_host(tensor, of)?;
        let mut count = 1_usize;
        for i in (0..tensor.ndim as usize).rev() {
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
        let is_address = fast_path::is_small(count as i64, p) && is_aligned(p, of);
        (is_address && count <= SMALL / of.size()).then_some(Self {
            tensor,
            p,
            of,
            count,
        })
    }

    /// Returns whether a tensor has this one's type; cheaper than [`Type::of`].
    #[inline(always)]
    fn has_type_of(&self, other: &Tensor) -> bool {
        let own = self.tensor;
        (other.dtype_code, other.dtype_bits) == (own.dtype_code, own.dtype_bits)
    }

    /// Returns whether a tensor has this one's type and shape, lies in memory in the same way, and is exactly this one
    /// or disjoint from it.
    ///
    /// # Safety
    /// As [`ContiguousTensor::new`].
    #[inline(always)]
    pub unsafe fn fits(&self, other: &Tensor) -> bool {
        let own = self.tensor;
        if other.ndim != own.ndim {
            return false;
        }
        if !self.has_type_of(other) {
            return false;
        }
        let Some(Header { of, p }) = Header::on_host(other, self.of) else {
            return false;
        };
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
        let is_address = fast_path::is_small(count, p) && is_aligned(p, of);
        let bytes = (self.count * self.of.size()) as i64;
        is_address && fast_path::is_same_or_apart(bytes, p, self.p)
    }

    /// Returns a tensor of any type that has this one's shape, lies in memory in the same way, and is disjoint from it.
    ///
    /// # Safety
    /// As [`ContiguousTensor::new`].
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
            let (low, from) = (self.p.addr(), other.p.addr());
            let high = low + self.count * self.of.size();
            let is_apart = from >= high || from + other.count * other.of.size() <= low;
            is_apart.then_some(other)
        }
    }

    /// Returns whether a tensor is a number of this one's type, outside it.
    ///
    /// # Safety
    /// As [`ContiguousTensor::new`].
    #[inline(always)]
    pub unsafe fn takes_number(&self, number: &Tensor) -> bool {
        if number.ndim != 0 || !self.has_type_of(number) {
            return false;
        }
        let Some(Header { of, p }) = Header::on_host(number, self.of) else {
            return false;
        };
        let (low, bytes, at) = (self.p.addr(), self.count * of.size(), p.addr());
        let is_address = fast_path::is_small(1, p) && is_aligned(p, of);
        is_address && (at + of.size() <= low || low + bytes <= at)
    }
}
