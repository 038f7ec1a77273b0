//! Products with a matrix that was packed before.
use super::epilogue::{self as last, dpt_tensor_epilogue};
use super::{dpt_tensor, needed, run};
use crate::backend::Backend;
use crate::error::Failure;
use crate::exec::dpt_exec;
use crate::status::dpt_status;
use core::ffi::c_void;
use diptych::{Error, tensor};

/// Writes to *size how many bytes the matrix b takes when dpt_matmul_pack has packed it. b is of
/// shape (k, n) and of a type that b can have in dpt_matmul; its elements are not read.
///
/// Errors: the common ones; DPT_UNSUPPORTED for a b that is not in memory of the host, and for a
/// device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_matmul_packed_size(
    exec: *const dpt_exec,
    b: *const dpt_tensor,
    size: *mut usize,
) -> dpt_status {
    let operation = |backend: Backend<'_, '_>| {
        let exec = on_host(backend, "b")?;
        if size.is_null() {
            return Err(Error::NullPointer { arg: "size" }.into());
        }
        if !size.is_aligned() {
            return Err(Error::Misaligned { arg: "size" }.into());
        }
        // SAFETY: the tensor is as the header demands; `size` is not NULL, and aligned.
        unsafe { size.write(tensor::matmul_packed_size(exec, needed("b", b)?)?) };
        Ok(())
    };
    // SAFETY: `exec` is as the header demands.
    unsafe { run("dpt_matmul_packed_size", exec, &[("b", b)], &operation) }
}

/// Packs the matrix b, of any strides, for use in many products: dpt_matmul_packed. Writes
/// dpt_matmul_packed_size bytes to packed, whose size is packed_size and which must be aligned to
/// 64 bytes and must not overlap b.
///
/// The bytes contain no addresses, so they may be copied, stored in a file and used by other
/// processes. Their layout depends on the type, the version of the library, the CPU level and the
/// instructions that products of this type use there; a product that needs another layout refuses
/// them (DPT_PACKED_LAYOUT). A packed int8 matrix serves an a of int8 and of uint8.
///
/// Errors: those of dpt_matmul_packed_size; DPT_NULL_POINTER; DPT_MISALIGNED; DPT_INVALID_VALUE if
/// packed_size is too small; DPT_OVERLAP.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_matmul_pack(
    exec: *const dpt_exec,
    b: *const dpt_tensor,
    packed: *mut c_void,
    packed_size: usize,
) -> dpt_status {
    let operation = |backend: Backend<'_, '_>| {
        let exec = on_host(backend, "b")?;
        // SAFETY: the tensor and the bytes are as the header demands.
        unsafe { tensor::matmul_pack(exec, needed("b", b)?, packed.cast(), packed_size)? };
        Ok(())
    };
    // SAFETY: `exec` is as the header demands.
    unsafe { run("dpt_matmul_pack", exec, &[("b", b)], &operation) }
}

/// dpt_matmul with a packed b, which has no batch axes: the same bits. A workspace that is large
/// enough for dpt_matmul is large enough here. The header in packed is checked before use; corrupt
/// data after it can give wrong results but never an access outside of packed_size bytes.
///
/// Errors: those of dpt_matmul; DPT_PACKED_LAYOUT if b was packed for another CPU level, for other
/// instructions or by another version; DPT_INVALID_VALUE if packed is not a packed matrix, or is
/// truncated; DPT_MISALIGNED; DPT_OVERLAP if c overlaps packed; DPT_UNSUPPORTED for a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_matmul_packed(
    exec: *const dpt_exec,
    alpha: f64,
    a: *const dpt_tensor,
    packed: *const c_void,
    packed_size: usize,
    beta: f64,
    c: *mut dpt_tensor,
    epilogue: *const dpt_tensor_epilogue,
) -> dpt_status {
    let operation = |backend: Backend<'_, '_>| {
        let exec = on_host(backend, "a")?;
        // SAFETY: the tensors and the bytes are as the header demands.
        unsafe {
            let (a, c) = (needed("a", a)?, needed("c", c)?);
            let epilogue = last::read(epilogue)?;
            let packed = packed.cast();
            tensor::matmul_packed(
                exec,
                alpha,
                a,
                packed,
                packed_size,
                beta,
                c,
                epilogue.as_ref(),
            )?;
        }
        Ok(())
    };
    // SAFETY: `exec` and `epilogue` are as the header demands.
    unsafe {
        let [bias, row_scale, column_scale] = last::tensors(epilogue);
        let tensors: super::Tensors<'_> = &[
            ("a", a),
            ("c", c),
            ("bias", bias),
            ("row_scale", row_scale),
            ("column_scale", column_scale),
        ];
        run("dpt_matmul_packed", exec, tensors, &operation)
    }
}

/// Returns the settings for the CPU. On a device, whose memory the argument is in, there are no packed matrices.
fn on_host<'a, 'b>(
    backend: Backend<'a, 'b>,
    #[cfg_attr(not(feature = "gpu"), expect(unused_variables))] arg: &'static str,
) -> Result<&'a diptych::Exec<'b>, Failure> {
    match backend {
        Backend::Host(exec) => Ok(exec),
        #[cfg(feature = "gpu")]
        Backend::Device(_) => Err(Error::Unsupported { arg }.into()),
    }
}
