//! Functions for callers of the GPU backend: loading, memory, copies.
use crate::error::{Failure, report};
use crate::exec::{dpt_exec, read};
use crate::status::dpt_status;
use core::ffi::c_void;
use diptych::Error;

/// Returns 1 if calls with DPT_DEVICE_CUDA can work, else 0; dpt_last_error then says why.
/// Initialises the CUDA driver if there is one, and creates no context.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_cuda_available() -> i32 {
    let status = report(
        "dpt_cuda_available",
        imp::available().map_err(Failure::from),
    );
    i32::from(status == crate::status::OK)
}

/// Prepares the current context: allocates scratch memory for 32 streams (10 MiB) and loads every
/// kernel. Later calls in this context need no workspace (except lsq_grad of large sizes, and calls
/// that copy large tensors, see TENSORS), load nothing, and may all be captured into graphs. A
/// second call in the same context does nothing.
/// The function waits until the scratch memory is ready.
///
/// Without it:
/// - A call that needs scratch memory (dot, mse_grad and reductions of long vectors or rows, maps
///   over rows, lsq_grad, products with m = 1 or n = 1 and large k, copies of tensors) and has no
///   workspace returns DPT_NOT_PRELOADED; other products with large k are slower.
/// - Each kernel is loaded by its first launch. If the stream is being captured, the launch returns
///   DPT_NOT_PRELOADED.
///
/// The library has the kernels compiled for compute capabilities 8.0, 8.6, 8.9, 9.0, 10.0 and 10.3
/// and drivers of CUDA 12 or newer, unless it was built without them; to load all took 20 ms on a
/// machine with an H200. Elsewhere, and where the driver refuses them, the driver compiles what it
/// loads, 18 s for all kernels there, and keeps the result on disk for later processes. After an
/// error what has been loaded stays loaded, and another call continues from there.
///
/// Errors: the errors of exec; those of the device, DPT_NOT_PRELOADED if anything is missing and the
/// stream is being captured.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_preload(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, by the contract of the header; its stream is a stream.
    let result = unsafe { optional(exec).and_then(|exec| Ok(imp::preload(stream(exec))?)) };
    report("dpt_cuda_preload", result)
}

/// Releases the scratch block that exec->stream uses in calls without a workspace, so that another
/// stream can take it. There are 32 blocks in a context, and a stream keeps its block until this
/// call, even when the stream is destroyed. All work of the stream must be done, and no graph that
/// was captured on it may be launched again. Does nothing if the stream has no block.
///
/// Errors: the errors of exec; those of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_release(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, and its stream is done, by the contract of the header.
    let result = unsafe { optional(exec).and_then(|exec| Ok(imp::release(stream(exec))?)) };
    report("dpt_cuda_release", result)
}

/// Copies `bytes` bytes from `from` to `to`. Each may be host memory, pinned or not, or device
/// memory.
///
/// - If exec is NULL or exec->device is DPT_DEVICE_CPU, both must be host memory. Then, and if both
///   are host memory with DPT_DEVICE_AUTO, the copy is done when the call returns.
/// - Otherwise the driver copies, in the order of exec->stream: use neither place until the stream
///   has done the copy. (Where host memory is not pinned the driver may or may not wait for the
///   device before it returns; do not rely on either.)
///
/// Aliasing: the two must not overlap, else DPT_OVERLAP.
/// Empty: bytes = 0 succeeds, and the pointers may then be NULL.
/// Errors: the errors of exec; DPT_NULL_POINTER; DPT_SIZE_OVERFLOW; DPT_OVERLAP; those of the
/// device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_copy(
    exec: *const dpt_exec,
    bytes: usize,
    from: *const c_void,
    to: *mut c_void,
) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, and the memory is there, by the contract of the header.
    report("dpt_copy", unsafe { copy(exec, bytes, from, to) })
}

/// # Safety
/// As [`dpt_copy`].
unsafe fn copy(
    exec: *const dpt_exec,
    bytes: usize,
    from: *const c_void,
    to: *mut c_void,
) -> Result<(), Failure> {
    // SAFETY: as the caller's.
    let exec = unsafe { optional(exec) }?;
    if bytes == 0 {
        return Ok(());
    }
    apart(bytes, from, to)?;
    let by_driver = match &exec {
        None => false,
        Some(exec) => {
            crate::exec::runs_on_device(exec, &[from], &["from"])?
                || crate::exec::runs_on_device(exec, &[to], &["to"])?
        }
    };
    // SAFETY: as the caller's; apart, as just checked.
    unsafe {
        if by_driver {
            return Ok(imp::memory::copy(stream(exec), bytes, from, to)?);
        }
        core::ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), bytes);
    }
    Ok(())
}

/// Refuses NULL pointers, ranges that leave the address space, and ranges that overlap.
fn apart(bytes: usize, from: *const c_void, to: *mut c_void) -> Result<(), Error> {
    for (address, arg) in [(from.addr(), "from"), (to.addr(), "to")] {
        if address == 0 {
            return Err(Error::NullPointer { arg });
        }
        if bytes > isize::MAX as usize || address.checked_add(bytes).is_none() {
            return Err(Error::SizeOverflow { arg: "bytes" });
        }
    }
    if from.addr().abs_diff(to.addr()) < bytes {
        return Err(Error::Overlap { arg: "to" });
    }
    Ok(())
}

/// Allocates device memory and writes its address to *out, or NULL after a failure. It waits for no
/// work on any stream, but is not allowed while a stream is being captured. Free the memory with
/// dpt_cuda_free.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_DEVICE_OUT_OF_MEMORY; those of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_alloc(bytes: usize, out: *mut *mut c_void) -> dpt_status {
    // SAFETY: `out` is NULL or a place for a pointer, by the contract of the header.
    report("dpt_cuda_alloc", unsafe {
        hand_out(out, || Ok(imp::memory::allocate(bytes)?))
    })
}

/// Waits until all work launched so far is done, then frees device memory. NULL is allowed.
///
/// Errors: DPT_DRIVER_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_free(pointer: *mut c_void) -> dpt_status {
    // SAFETY: `pointer` came from `dpt_cuda_alloc`, by the contract of the header.
    report("dpt_cuda_free", unsafe {
        imp::memory::free(pointer).map_err(Failure::from)
    })
}

/// Allocates pinned host memory and writes its address to *out, or NULL after a failure. The device
/// reads and writes pinned memory directly, so copies are faster and run while the caller goes on.
/// Free the memory with dpt_cuda_free_pinned.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_DEVICE_OUT_OF_MEMORY; those of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_alloc_pinned(bytes: usize, out: *mut *mut c_void) -> dpt_status {
    // SAFETY: `out` is NULL or a place for a pointer, by the contract of the header.
    report("dpt_cuda_alloc_pinned", unsafe {
        hand_out(out, || Ok(imp::memory::allocate_pinned(bytes)?))
    })
}

/// Frees pinned host memory that no copy uses any more. NULL is allowed.
///
/// Errors: DPT_DRIVER_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_free_pinned(pointer: *mut c_void) -> dpt_status {
    // SAFETY: `pointer` came from `dpt_cuda_alloc_pinned`, by the contract of the header.
    report("dpt_cuda_free_pinned", unsafe {
        imp::memory::free_pinned(pointer).map_err(Failure::from)
    })
}

/// Waits until all work of exec->stream is done. Operations never wait for the device. Of the other
/// functions dpt_cuda_free, dpt_advise_measure and dpt_fingerprint do, dpt_cuda_preload waits for
/// its own work, and dpt_copy may wait where host memory is not pinned.
///
/// Errors: the errors of exec; DPT_DRIVER_FAILED if work of the stream failed; those of the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_synchronize(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, by the contract of the header; its stream is a stream.
    let result =
        unsafe { optional(exec).and_then(|exec| Ok(imp::memory::synchronize(stream(exec))?)) };
    report("dpt_cuda_synchronize", result)
}

/// Reads `exec` unless it is NULL.
///
/// # Safety
/// `exec` is NULL or points to a `dpt_exec`.
unsafe fn optional(exec: *const dpt_exec) -> Result<Option<dpt_exec>, Failure> {
    if exec.is_null() {
        return Ok(None);
    }
    // SAFETY: not NULL.
    unsafe { read(exec) }.map(Some)
}

fn stream(exec: Option<dpt_exec>) -> *mut c_void {
    exec.map_or(core::ptr::null_mut(), |exec| exec.stream)
}

/// Writes the result of `make` to `out`, NULL after a failure.
///
/// # Safety
/// `out` is NULL or a place for a pointer.
unsafe fn hand_out(
    out: *mut *mut c_void,
    make: impl FnOnce() -> Result<*mut c_void, Failure>,
) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Error::NullPointer { arg: "out" }.into());
    }
    if !out.is_aligned() {
        return Err(Error::Misaligned { arg: "out" }.into());
    }
    let made = make();
    // SAFETY: not NULL and aligned.
    unsafe { out.write(*made.as_ref().unwrap_or(&core::ptr::null_mut())) };
    made.map(|_| ())
}

#[cfg(feature = "gpu")]
use diptych_gpu::driver as imp;

/// The answers of a build without GPU support.
#[cfg(not(feature = "gpu"))]
mod imp {
    use crate::error::Failure;
    use core::ffi::c_void;

    /// There is no device.
    pub(super) struct NoDevice;

    impl From<NoDevice> for Failure {
        fn from(_: NoDevice) -> Self {
            Failure::NoDevice
        }
    }

    pub(super) fn available() -> Result<(), NoDevice> {
        Err(NoDevice)
    }
    pub(super) unsafe fn preload(_: *mut c_void) -> Result<(), NoDevice> {
        Err(NoDevice)
    }
    pub(super) unsafe fn release(_: *mut c_void) -> Result<(), NoDevice> {
        Err(NoDevice)
    }

    pub(super) mod memory {
        use super::{NoDevice, c_void};

        type Result<T> = core::result::Result<T, NoDevice>;

        pub(crate) unsafe fn copy(
            _: *mut c_void,
            _: usize,
            _: *const c_void,
            _: *mut c_void,
        ) -> Result<()> {
            Err(NoDevice)
        }
        pub(crate) fn allocate(_: usize) -> Result<*mut c_void> {
            Err(NoDevice)
        }
        pub(crate) unsafe fn free(_: *mut c_void) -> Result<()> {
            Ok(())
        }
        pub(crate) fn allocate_pinned(_: usize) -> Result<*mut c_void> {
            Err(NoDevice)
        }
        pub(crate) unsafe fn free_pinned(_: *mut c_void) -> Result<()> {
            Ok(())
        }
        pub(crate) unsafe fn synchronize(_: *mut c_void) -> Result<()> {
            Err(NoDevice)
        }
    }
}
