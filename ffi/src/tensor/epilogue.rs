//! `dpt_tensor_epilogue` and its checked conversion.
use super::{dpt_tensor, optional};
use crate::epilogue::dpt_epilogue_flag;
use crate::error::Failure;
use crate::sized;
use diptych::Error;
use diptych::tensor::Epilogue;

/// What dpt_matmul does to each element before it stores it: first it adds the bias (one rounding),
/// then it clamps. Set the struct to zero, set struct_size to sizeof(dpt_tensor_epilogue), then set
/// the members that you need.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_tensor_epilogue {
    /// sizeof(dpt_tensor_epilogue). Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// 0 or DPT_EPILOGUE_CLAMP. An unknown bit is DPT_UNKNOWN_FLAG.
    pub flags: u32,
    /// 0. Another value is DPT_INVALID_VALUE.
    pub reserved: i32,
    /// The bias, of the type of the matrices: shape (n) is added to every row, (m, 1) to every
    /// column. NULL: none.
    pub bias: *const dpt_tensor,
    /// The lower bound for DPT_EPILOGUE_CLAMP, rounded to the type of the matrices.
    pub lo: f64,
    /// The upper bound for DPT_EPILOGUE_CLAMP, rounded to the type of the matrices.
    pub hi: f64,
}

/// Returns the bias of an epilogue, NULL if it has none or cannot be read.
///
/// # Safety
/// As [`read`].
pub(super) unsafe fn bias(epilogue: *const dpt_tensor_epilogue) -> *const dpt_tensor {
    // SAFETY: as the caller's.
    let c = unsafe { sized::read(epilogue, "epilogue", "epilogue->struct_size") };
    c.map_or(core::ptr::null(), |c| c.bias)
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
    let c = unsafe { sized::read(epilogue, "epilogue", "epilogue->struct_size") }?;
    const CLAMP: u32 = dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32;
    if c.flags & !CLAMP != 0 {
        return Err(Failure::UnknownFlag("epilogue->flags"));
    }
    if c.reserved != 0 {
        let arg = "epilogue->reserved";
        return Err(Error::InvalidValue { arg }.into());
    }
    Ok(Some(Epilogue {
        // SAFETY: passed on from the caller.
        bias: unsafe { optional("epilogue->bias", c.bias) }?,
        clamp: (c.flags & CLAMP != 0).then_some((c.lo, c.hi)),
    }))
}
