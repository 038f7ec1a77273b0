//! Where the arrays of a fingerprint are.
use super::calls::Calls;
use super::{Refused, checked};
use crate::exec::{dpt_device, dpt_exec, read, runs_on_device};
use crate::{dpt_cuda_alloc, dpt_cuda_free, dpt_gemm_f64_workspace, dpt_lsq_grad_f64_workspace};
use core::ffi::c_void;
use core::ptr;
use diptych::Error;
use diptych::fingerprint::{Memory, WORKSPACE};

/// Bytes of scratch memory that the calls on a device need.
const ON_DEVICE: usize = 1 << 20;

/// Calls `body` with memory for the arrays and with what `exec` asks for.
///
/// # Safety
/// `exec` is NULL or points to a `dpt_exec` whose promises hold.
pub(super) unsafe fn lend<R>(
    exec: *const dpt_exec,
    body: impl FnOnce(&mut Calls, &mut Memory) -> Result<R, Refused>,
) -> Result<R, Refused> {
    let mut host = plain();
    let mut on_device = false;
    if !exec.is_null() {
        // SAFETY: passed on from the caller.
        host = unsafe { read(exec) }?;
        on_device = runs_on_device(&host, &[], &[])?;
    }
    // SAFETY: passed on from the caller.
    unsafe {
        if on_device {
            return on_device_of(host, body);
        }
        host.device = dpt_device::DPT_DEVICE_CPU as i32;
        if host.workspace.is_null() {
            let own = Own::new()?;
            return body(&mut Calls { host, device: None }, &mut *own.0);
        }
        let first = split(&mut host)?;
        body(&mut Calls { host, device: None }, &mut *first.cast())
    }
}

/// [`lend`] for a device.
///
/// # Safety
/// The promises of `exec` hold.
unsafe fn on_device_of<R>(
    exec: dpt_exec,
    body: impl FnOnce(&mut Calls, &mut Memory) -> Result<R, Refused>,
) -> Result<R, Refused> {
    let (host, mut device) = (plain(), exec);
    let own = Own::new()?;
    let mut allocated = ptr::null_mut();
    // SAFETY: passed on from the caller; the memory is freed when all work is done.
    unsafe {
        if device.workspace.is_null() {
            device.workspace_size = WORKSPACE + ON_DEVICE;
            checked(dpt_cuda_alloc(device.workspace_size, &mut allocated))?;
            device.workspace = allocated;
        }
        let there = split(&mut device);
        let done = there.map_err(Refused::from).and_then(|there| {
            let device = Some((device, there.cast()));
            body(&mut Calls { host, device }, &mut *own.0)
        });
        let freed = checked(dpt_cuda_free(allocated));
        done.and_then(|done| freed.map(|()| done))
    }
}

/// Takes the memory of the arrays out of the workspace; the rest stays one if it is large enough for every call.
///
/// # Safety
/// The promises of `exec` hold.
unsafe fn split(exec: &mut dpt_exec) -> Result<*mut c_void, Error> {
    if exec.workspace_size < WORKSPACE {
        return Err(Error::WorkspaceTooSmall { needed: WORKSPACE });
    }
    let first = exec.workspace;
    let skipped = first.align_offset(align_of::<Memory>());
    let rest = exec.workspace_size - WORKSPACE;
    (exec.workspace, exec.workspace_size) = (ptr::null_mut(), 0);
    // SAFETY: passed on from the caller.
    if rest >= unsafe { needed(exec) } {
        (exec.workspace, exec.workspace_size) = (first.wrapping_byte_add(WORKSPACE), rest);
    }
    Ok(first.wrapping_byte_add(skipped))
}

/// Returns the bytes of workspace that are enough for every call.
///
/// # Safety
/// The promises of `exec` hold.
unsafe fn needed(exec: &dpt_exec) -> usize {
    if exec.device == dpt_device::DPT_DEVICE_CUDA as i32 {
        return ON_DEVICE;
    }
    let (mut product, mut gradient) = (usize::MAX, usize::MAX);
    // SAFETY: passed on from the caller. What cannot be found out is too much.
    unsafe {
        dpt_gemm_f64_workspace(exec, 1000, 1000, 1000, &mut product);
        dpt_lsq_grad_f64_workspace(exec, 1000, 1000, &mut gradient);
    }
    product.max(gradient)
}

/// On the CPU, on the calling thread, without a workspace.
fn plain() -> dpt_exec {
    dpt_exec {
        struct_size: size_of::<dpt_exec>(),
        device: dpt_device::DPT_DEVICE_CPU as i32,
        flags: 0,
        stream: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_size: 0,
        parallel_for: None,
        pool: ptr::null_mut(),
        max_threads: 0,
        reserved: 0,
    }
}

/// Host memory of this function's own.
struct Own(*mut Memory);

#[cfg(feature = "std")]
impl Own {
    const LAYOUT: std::alloc::Layout = std::alloc::Layout::new::<Memory>();

    fn new() -> Result<Self, Error> {
        // SAFETY: not of size 0.
        let memory = unsafe { std::alloc::alloc_zeroed(Self::LAYOUT) };
        match memory.is_null() {
            true => Err(Error::OutOfMemory),
            false => Ok(Self(memory.cast())),
        }
    }
}

#[cfg(feature = "std")]
impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: `new` allocated it.
        unsafe { std::alloc::dealloc(self.0.cast(), Self::LAYOUT) };
    }
}

#[cfg(not(feature = "std"))]
impl Own {
    /// A freestanding build has no memory of its own.
    fn new() -> Result<Self, Error> {
        Err(Error::WorkspaceTooSmall { needed: WORKSPACE })
    }
}
