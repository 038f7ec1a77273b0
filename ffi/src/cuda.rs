//! What callers of the device panel need beside the operations: loading, memory, copies.
use crate::error::{Failure, report};
use crate::exec::{dpt_exec, read};
use crate::status::dpt_status;
use core::ffi::c_void;
use diptych::Error;

/// 1 when calls with DPT_DEVICE_CUDA can work, else 0; dpt_last_error then says why. Initialises the CUDA
/// driver when there is one, and makes no context.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_cuda_available() -> i32 {
    let status = report(
        "dpt_cuda_available",
        imp::available().map_err(Failure::from),
    );
    i32::from(status == crate::status::OK)
}

/// Makes scratch memory for 32 streams (10 MiB) and loads every kernel in the current CUDA context (the primary
/// context of device 0, made current, where there is none), so that later calls in it need no workspace and load
/// nothing, and all may be captured into graphs. Again in the same context: nothing. Only exec->stream is looked
/// at; exec may be NULL. It waits until the scratch memory is ready.
///
/// Without it a call that needs scratch memory (dot, mse_grad and reductions of long vectors or rows, lsq_grad)
/// and has no workspace is DPT_NOT_PRELOADED, a product with large k is slower, and each kernel is loaded by its
/// first launch, unless that is being captured. The driver compiles what it loads, and keeps the result on disk
/// for later processes. NVIDIA's assembler takes 0.07 s for the median kernel, 0.6 s for the longest and 13 s for
/// all of them (on one core of a Zen 4 CPU; not measured on a machine with a GPU).
///
/// After an error what has been loaded stays, and another call goes on from there.
///
/// Errors: the common ones of exec; DPT_NO_DRIVER, DPT_DRIVER_TOO_OLD, DPT_NO_DEVICE, DPT_DEVICE_TOO_OLD;
/// DPT_NOT_PRELOADED when anything is missing and the stream is being captured; DPT_DEVICE_OUT_OF_MEMORY,
/// DPT_DRIVER_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_preload(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, by the contract of the header; its stream is a stream.
    let result = unsafe { optional(exec).and_then(|exec| Ok(imp::preload(stream(exec))?)) };
    report("dpt_cuda_preload", result)
}

/// Gives back the block of scratch memory that calls without a workspace on exec->stream have (exec NULL: on the
/// default stream), so that another of a context's streams may have one: there are 32, and a stream keeps its
/// own, destroyed or not, until this call. All work of the stream must have run, and no graph that was captured
/// on it may be launched again. Where the stream has none: nothing.
///
/// Errors: the common ones of exec; those of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_release(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, and its stream is done, by the contract of the header.
    let result = unsafe { optional(exec).and_then(|exec| Ok(imp::release(stream(exec))?)) };
    report("dpt_cuda_release", result)
}

/// Copies `bytes` bytes from `from` to `to`, which may be host memory, pinned or not, or device memory, in
/// stream order of exec->stream. With exec NULL or DPT_DEVICE_CPU both are host memory, and so they may be
/// with DPT_DEVICE_AUTO: then the copy is done when the call returns. Else the driver copies, and both
/// places must be left alone until the stream has come that far. (Where host memory is not pinned the
/// driver may wait for the device before it returns, or not: do not rely on it.)
///
/// Aliasing: DPT_OVERLAP when the two overlap.
/// Empty: bytes = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones of exec; DPT_NULL_POINTER; DPT_SIZE_OVERFLOW; DPT_OVERLAP; those of a device.
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

/// Refuses NULL, what leaves the address space, and what overlaps.
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

/// Allocates device memory in the current CUDA context (the primary context of device 0 where there is
/// none), and writes its address to *out, NULL after a failure. It waits for nothing that runs on a stream,
/// but is not allowed while one is being captured. dpt_cuda_free gives it back.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_DEVICE_OUT_OF_MEMORY; those of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_alloc(bytes: usize, out: *mut *mut c_void) -> dpt_status {
    // SAFETY: `out` is NULL or a place for a pointer, by the contract of the header.
    report("dpt_cuda_alloc", unsafe {
        hand_out(out, || Ok(imp::memory::allocate(bytes)?))
    })
}

/// Frees device memory, after all work that was launched before has run. NULL is allowed.
///
/// Errors: DPT_DRIVER_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_free(pointer: *mut c_void) -> dpt_status {
    // SAFETY: `pointer` came from `dpt_cuda_alloc`, by the contract of the header.
    report("dpt_cuda_free", unsafe {
        imp::memory::free(pointer).map_err(Failure::from)
    })
}

/// Allocates pinned host memory, which the device reads and writes by itself: copies are faster, and run
/// while the caller goes on. Its address is written to *out, NULL after a failure.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_DEVICE_OUT_OF_MEMORY; those of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_alloc_pinned(bytes: usize, out: *mut *mut c_void) -> dpt_status {
    // SAFETY: `out` is NULL or a place for a pointer, by the contract of the header.
    report("dpt_cuda_alloc_pinned", unsafe {
        hand_out(out, || Ok(imp::memory::allocate_pinned(bytes)?))
    })
}

/// Frees pinned memory that no copy uses any more. NULL is allowed.
///
/// Errors: DPT_DRIVER_FAILED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_free_pinned(pointer: *mut c_void) -> dpt_status {
    // SAFETY: `pointer` came from `dpt_cuda_alloc_pinned`, by the contract of the header.
    report("dpt_cuda_free_pinned", unsafe {
        imp::memory::free_pinned(pointer).map_err(Failure::from)
    })
}

/// Waits until all work of exec->stream (exec NULL: of the default stream) is done. No operation waits for the
/// device; of the other functions, dpt_cuda_free and dpt_advise_measure do, dpt_cuda_preload does for work of
/// its own, and dpt_copy may where host memory is not pinned.
///
/// Errors: the common ones of exec; DPT_DRIVER_FAILED when work of the stream failed; those of a device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_cuda_synchronize(exec: *const dpt_exec) -> dpt_status {
    // SAFETY: `exec` is NULL or a `dpt_exec`, by the contract of the header; its stream is a stream.
    let result =
        unsafe { optional(exec).and_then(|exec| Ok(imp::memory::synchronize(stream(exec))?)) };
    report("dpt_cuda_synchronize", result)
}

/// What `exec` says, when there is one.
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

/// Writes what `make` gives to `out`, or NULL.
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

/// What a build without the device panel answers.
#[cfg(not(feature = "gpu"))]
mod imp {
    use crate::error::Failure;
    use core::ffi::c_void;

    /// That there is none.
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
