//! Operations over tensors in the memory of a device.
use super::{Tensors, described, dpt_tensor};
use crate::backend::Backend;
use crate::error::Failure;
use crate::exec::dpt_exec;

/// Memory of a CUDA device, and memory managed by CUDA (`kDLCUDA`, `kDLCUDAManaged`).
const DEVICE: [i32; 2] = [2, 13];

/// Returns the tensor if it is in memory that a device reads and writes.
///
/// # Safety
/// NULL or points to a tensor.
unsafe fn reachable<'a>(tensor: *const dpt_tensor) -> Option<&'a dpt_tensor> {
    // SAFETY: passed on from the caller.
    let tensor = unsafe { described(tensor) };
    tensor.filter(|tensor| DEVICE.contains(&tensor.device_type))
}

/// Returns whether one of the tensors is in such memory.
///
/// # Safety
/// Each is NULL or points to a tensor.
pub(super) unsafe fn any(tensors: Tensors<'_>) -> bool {
    // SAFETY: passed on from the caller.
    tensors
        .iter()
        .any(|(_, tensor)| unsafe { reachable(*tensor) }.is_some())
}

/// Returns whether a tensor has no elements, as far as its description is valid.
///
/// # Safety
/// Its shape is NULL or valid.
#[cfg(feature = "gpu")]
unsafe fn is_empty(tensor: &dpt_tensor) -> bool {
    let rank = usize::try_from(tensor.ndim).unwrap_or(0);
    if !(1..=diptych::backend::tensor::MAX_RANK).contains(&rank)
        || tensor.shape.is_null()
        || !tensor.shape.is_aligned()
    {
        return false;
    }
    // SAFETY: not NULL and aligned; passed on from the caller.
    unsafe { core::slice::from_raw_parts(tensor.shape, rank) }.contains(&0)
}

/// Runs an operation on the device.
///
/// # Safety
/// The promises of `exec` hold; each tensor is NULL or points to one.
#[cfg(feature = "gpu")]
pub(super) unsafe fn run(
    exec: &dpt_exec,
    tensors: Tensors<'_>,
    operation: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    use diptych_gpu::driver::Arguments;
    /// No operation has more tensors.
    const MOST: usize = 8;
    let (mut pointers, mut names) = ([core::ptr::null(); MOST], [""; MOST]);
    let slots = pointers.iter_mut().zip(&mut names);
    for ((pointer, name), &(arg, tensor)) in slots.zip(tensors) {
        // SAFETY: passed on from the caller. The address of no elements may be any.
        if let Some(tensor) = unsafe { reachable(tensor).filter(|tensor| !is_empty(tensor)) } {
            *pointer = tensor
                .data
                .wrapping_byte_add(tensor.byte_offset as usize)
                .cast_const();
            *name = arg;
        }
    }
    let arguments = Arguments {
        pointers: &pointers,
        names: &names,
    };
    // SAFETY: passed on from the caller.
    unsafe { crate::backend::on_device(exec, arguments, operation) }
}

/// This build has no device.
///
/// # Safety
/// None.
#[cfg(not(feature = "gpu"))]
pub(super) unsafe fn run(
    _: &dpt_exec,
    _: Tensors<'_>,
    _: &dyn Fn(Backend<'_, '_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    Err(Failure::NoDevice)
}
