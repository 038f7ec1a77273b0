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
        // SAFETY: passed on from the caller.
        if let Some(tensor) = unsafe { reachable(tensor) } {
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
