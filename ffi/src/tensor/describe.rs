//! Types and shapes of tensors in error texts.
use super::{Tensors, described, dpt_tensor};
use core::fmt;
use diptych::backend::tensor::MAX_RANK;

/// Writes ": x is float32 (2, 3), y is float64 (4,)".
pub(super) struct Described<'a> {
    tensors: Tensors<'a>,
}

impl<'a> Described<'a> {
    /// # Safety
    /// Each of the tensors is NULL or valid, for as long as the value lives.
    pub(super) unsafe fn new(tensors: Tensors<'a>) -> Self {
        Self { tensors }
    }
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = ": ";
        for &(name, tensor) in self.tensors {
            // SAFETY: the maker vouches for it.
            let Some(tensor) = (unsafe { described(tensor) }) else {
                continue;
            };
            write!(f, "{separator}{name} is ")?;
            write_type(f, tensor)?;
            // SAFETY: the maker vouches for it.
            unsafe { write_shape(f, tensor) }?;
            separator = ", ";
        }
        Ok(())
    }
}

fn write_type(f: &mut fmt::Formatter<'_>, tensor: &dpt_tensor) -> fmt::Result {
    let bits = tensor.dtype_bits;
    match tensor.dtype_code {
        0 => write!(f, "int{bits}"),
        1 => write!(f, "uint{bits}"),
        2 => write!(f, "float{bits}"),
        4 => write!(f, "bfloat{bits}"),
        6 => f.write_str("bool"),
        code => write!(f, "type {code} of {bits} bits"),
    }?;
    match tensor.dtype_lanes {
        1 => Ok(()),
        lanes => write!(f, "x{lanes}"),
    }
}

/// # Safety
/// The shape must be valid.
unsafe fn write_shape(f: &mut fmt::Formatter<'_>, tensor: &dpt_tensor) -> fmt::Result {
    let rank = tensor.ndim;
    if !(0..=MAX_RANK as i32).contains(&rank) {
        return write!(f, " of {rank} axes");
    }
    if rank > 0 && (tensor.shape.is_null() || !tensor.shape.is_aligned()) {
        return Ok(());
    }
    f.write_str(" (")?;
    for axis in 0..rank as usize {
        // SAFETY: the caller vouches for `rank` numbers.
        let count = unsafe { tensor.shape.add(axis).read() };
        let comma = if axis > 0 { ", " } else { "" };
        write!(f, "{comma}{count}")?;
    }
    f.write_str(if rank == 1 { ",)" } else { ")" })
}
