//! The checks of a tensor that do not depend on its axes.
#![forbid(unsafe_code)]

use super::kind::{Location, Type};
use super::list::MAX_RANK;
use super::operand::Tensor;
use crate::error::{Error, Result};

/// What a tensor says of its elements, apart from the axes.
#[derive(Clone, Copy)]
pub struct Header {
    /// The type of elements.
    pub of: Type,
    /// The first element, with all indices 0.
    pub p: *mut u8,
}

impl Header {
    /// Checks the rank, the type, the memory, and that there is a shape. `of` is what [`Type::of`] returns for the
    /// tensor. The address is unchecked: a tensor without elements may have any.
    ///
    /// # Errors
    /// In this order: `InvalidValue` for a bad rank, `UnsupportedType`, `Unsupported` for other memory, `NullPointer`
    /// for a missing shape.
    #[inline(always)]
    pub fn check(
        tensor: &Tensor,
        of: Option<Type>,
        arg: &'static str,
        memory: Location,
    ) -> Result<Self> {
        // As `usize`, a negative rank exceeds the limit too.
        let rank = tensor.ndim as usize;
        if rank > MAX_RANK {
            return Err(Error::InvalidValue { arg });
        }
        // Two tests, because `filter` makes the compiler build a second `Option`, which small calls notice.
        let Some(of) = of else {
            return Err(Error::UnsupportedType { arg });
        };
        if tensor.dtype_lanes != 1 {
            return Err(Error::UnsupportedType { arg });
        }
        if !memory.holds(tensor.device_type) {
            return Err(Error::Unsupported { arg });
        }
        if rank > 0 && (tensor.shape.is_null() || !tensor.shape.is_aligned()) {
            return Err(Error::NullPointer { arg });
        }
        let p = (tensor.data.cast::<u8>()).wrapping_add(tensor.byte_offset as usize);
        Ok(Self { of, p })
    }

    /// Returns the header of a tensor on the host, with elements of the type `of`, if [`Header::check`] accepts it and
    /// it has an address.
    #[inline(always)]
    pub fn on_host(tensor: &Tensor, of: Type) -> Option<Self> {
        let Ok(header) = Self::check(tensor, Some(of), "", Location::Host) else {
            return None;
        };
        if tensor.data.is_null() || address(tensor).is_none() {
            return None;
        }
        Some(header)
    }
}

/// Returns whether an address is a multiple of the size of an element.
#[inline(always)]
pub fn is_aligned(p: *const u8, of: Type) -> bool {
    // Sizes are powers of two.
    p.addr() & (of.size() - 1) == 0
}

/// Returns the address of the first element; `None` if it is outside the address space.
#[inline(always)]
pub fn address(tensor: &Tensor) -> Option<usize> {
    let offset = usize::try_from(tensor.byte_offset).ok()?;
    tensor.data.addr().checked_add(offset)
}
