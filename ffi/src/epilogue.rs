//! `dpt_epilogue` and its checked conversion.
use crate::error::Failure;
use crate::sized;
use core::ffi::c_void;
use diptych::raw::RawEpilogue;

/// How dpt_epilogue.bias is added to the matrix.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_bias_kind {
    /// No bias.
    DPT_BIAS_NONE = 0,
    /// The bias has m elements; element i is added to every element of row i.
    DPT_BIAS_PER_ROW = 1,
    /// The bias has n elements; element j is added to every element of column j.
    DPT_BIAS_PER_COLUMN = 2,
}

/// The bits of dpt_epilogue.flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_epilogue_flag {
    /// Clamp the elements to the range from lo to hi.
    DPT_EPILOGUE_CLAMP = 1,
}

/// What dpt_gemm_fused_f32 and dpt_gemm_fused_f64 do to each element before they store it: first
/// they add the bias (one rounding), then they clamp. Set the struct to zero, set struct_size to
/// sizeof(dpt_epilogue), then set the members that you need.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_epilogue {
    /// sizeof(dpt_epilogue). Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// 0 or DPT_EPILOGUE_CLAMP. An unknown bit is DPT_UNKNOWN_FLAG.
    pub flags: u32,
    /// A value of dpt_bias_kind. An unknown value is DPT_UNKNOWN_ENUM.
    pub bias_kind: i32,
    /// The bias, in the type of the matrices. It may be NULL if bias_kind is DPT_BIAS_NONE.
    pub bias: *const c_void,
    /// The stride of bias, in elements; it may be 0 or negative.
    pub bias_inc: i64,
    /// The lower bound for DPT_EPILOGUE_CLAMP, converted to the type of the matrices.
    pub lo: f64,
    /// The upper bound for DPT_EPILOGUE_CLAMP, converted to the type of the matrices.
    pub hi: f64,
}

/// Reads a `dpt_epilogue` and refuses what this version does not know. Returns the struct, the kind
/// of bias and whether to clamp.
///
/// # Safety
/// `epilogue` is NULL or points to readable memory as large as its `struct_size` says.
pub(crate) unsafe fn read(
    epilogue: *const dpt_epilogue,
) -> Result<(dpt_epilogue, diptych::BiasKind, bool), Failure> {
    use diptych::BiasKind;
    // SAFETY: passed on from the caller.
    let c = unsafe { sized::read(epilogue, "epilogue", "epilogue->struct_size") }?;
    const CLAMP: u32 = dpt_epilogue_flag::DPT_EPILOGUE_CLAMP as u32;
    if c.flags & !CLAMP != 0 {
        return Err(Failure::UnknownFlag("epilogue->flags"));
    }
    const NONE: i32 = dpt_bias_kind::DPT_BIAS_NONE as i32;
    const ROW: i32 = dpt_bias_kind::DPT_BIAS_PER_ROW as i32;
    const COLUMN: i32 = dpt_bias_kind::DPT_BIAS_PER_COLUMN as i32;
    let kind = match c.bias_kind {
        NONE => BiasKind::None,
        ROW => BiasKind::PerRow,
        COLUMN => BiasKind::PerColumn,
        _ => return Err(Failure::UnknownEnum("epilogue->bias_kind")),
    };
    Ok((c, kind, c.flags & CLAMP != 0))
}

/// Returns the bias of an epilogue, NULL if it has none or cannot be read.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn bias(epilogue: *const dpt_epilogue) -> *const c_void {
    // SAFETY: as the caller's.
    match unsafe { read(epilogue) } {
        Ok((c, diptych::BiasKind::PerRow | diptych::BiasKind::PerColumn, _)) => c.bias,
        _ => core::ptr::null(),
    }
}

/// Converts the epilogue for the operation; `narrow` rounds the bounds to the type of the matrices.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn raw<T>(
    epilogue: *const dpt_epilogue,
    narrow: impl Fn(f64) -> T,
) -> Result<RawEpilogue<T>, Failure> {
    // SAFETY: as the caller's.
    let (c, bias_kind, clamp) = unsafe { read(epilogue) }?;
    Ok(RawEpilogue {
        bias: c.bias.cast(),
        bias_inc: c.bias_inc,
        bias_kind,
        clamp: clamp.then(|| bounds(&c, narrow)),
    })
}

/// Rounds the bounds. Not inlined: else the compiler may round bounds that are not used, which raises flags.
#[inline(never)]
fn bounds<T>(epilogue: &dpt_epilogue, narrow: impl Fn(f64) -> T) -> (T, T) {
    (narrow(epilogue.lo), narrow(epilogue.hi))
}
