//! `dpt_tensor_epilogue` and its checked conversion.
use super::{dpt_tensor, optional};
use crate::epilogue::dpt_epilogue_flag;
use crate::error::Failure;
use crate::sized;
use core::mem::offset_of;
use diptych::Error;
use diptych::tensor::Epilogue;

/// What dpt_matmul does to each element before it stores it: it multiplies by the factors, adds the
/// bias (each with one rounding), then it clamps. Set the struct to zero, set struct_size to
/// sizeof(dpt_tensor_epilogue), then set the members that you need.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_tensor_epilogue {
    /// sizeof(dpt_tensor_epilogue), in this version of the struct or an older one. Another value is
    /// DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// 0 or DPT_EPILOGUE_CLAMP. An unknown bit is DPT_UNKNOWN_FLAG.
    pub flags: u32,
    /// 0. Another value is DPT_INVALID_VALUE.
    pub reserved: i32,
    /// The bias, of the type of a, or of float for matrices of bytes or 16-bit floats: shape (n) is
    /// added to every row, (m, 1) to every column. NULL: none.
    pub bias: *const dpt_tensor,
    /// The lower bound for DPT_EPILOGUE_CLAMP, rounded to the type of the matrices.
    pub lo: f64,
    /// The upper bound for DPT_EPILOGUE_CLAMP, rounded to the type of the matrices.
    pub hi: f64,
    /// A factor for each row, floats of shape (m): for matrices of bytes and a c of float only. NULL:
    /// none.
    pub row_scale: *const dpt_tensor,
    /// A factor for each column, floats of shape (n): as row_scale. NULL: none.
    pub column_scale: *const dpt_tensor,
}

/// The size of the struct before it had factors.
const FIRST_SIZE: usize = offset_of!(dpt_tensor_epilogue, row_scale);

/// Reads the struct, in any version.
///
/// # Safety
/// As [`read`].
unsafe fn members(epilogue: *const dpt_tensor_epilogue) -> Result<dpt_tensor_epilogue, Failure> {
    // SAFETY: passed on from the caller.
    unsafe { sized::read_from(epilogue, FIRST_SIZE, "epilogue", "epilogue->struct_size") }
}

/// Returns the tensors of an epilogue, NULL where it has none or cannot be read: the bias, and the factors of rows and
/// columns.
///
/// # Safety
/// As [`read`].
pub(super) unsafe fn tensors(epilogue: *const dpt_tensor_epilogue) -> [*const dpt_tensor; 3] {
    // SAFETY: as the caller's.
    let c = unsafe { members(epilogue) };
    c.map_or([core::ptr::null(); 3], |c| {
        [c.bias, c.row_scale, c.column_scale]
    })
}

/// Reads an epilogue, if there is one.
///
/// # Safety
/// NULL, or points to readable memory as large as its `struct_size` says; its bias is NULL or points to a tensor.
pub(super) unsafe fn read<'a>(
    epilogue: *const dpt_tensor_epilogue,
) -> Result<Option<Epilogue<'a>>, Failure> {
    if epilogue.is_null() {
        return Ok(None);
    }
    // SAFETY: passed on from the caller.
    let c = unsafe { members(epilogue) }?;
    const CLAMP: u32 = dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32;
    if c.flags & !CLAMP != 0 {
        return Err(Failure::UnknownFlag("epilogue->flags"));
    }
    if c.reserved != 0 {
        let arg = "epilogue->reserved";
        return Err(Error::InvalidValue { arg }.into());
    }
    // SAFETY: passed on from the caller.
    let tensor = |arg, tensor| unsafe { optional(arg, tensor) };
    Ok(Some(Epilogue {
        bias: tensor("epilogue->bias", c.bias)?,
        clamp: (c.flags & CLAMP != 0).then_some((c.lo, c.hi)),
        row_scale: tensor("epilogue->row_scale", c.row_scale)?,
        column_scale: tensor("epilogue->column_scale", c.column_scale)?,
    }))
}
