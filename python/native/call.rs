//! Running operations: on the CPU, with the GIL released where the work is worth it, or on a device; and exceptions where
//! they refuse.

use diptych::Exec;
use diptych_gpu::driver::Launcher;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::explain::explain;
use crate::operand::{Named, Operand};
use crate::tensor::Backend;
use crate::{batches, device, threads};

/// Calls that touch fewer bytes, or do fewer multiplications in products, keep the GIL: to release it and take it
/// again takes about 50 ns, and another thread may then keep it for milliseconds.
const WORTH_RELEASING: i64 = 64 << 10;

/// The GIL, released until this is dropped.
struct Released(*mut ffi::PyThreadState);

impl Drop for Released {
    fn drop(&mut self) {
        // SAFETY: the state that was saved, by this thread.
        unsafe { ffi::PyEval_RestoreThread(self.0) };
    }
}

/// Returns whether a call with so much work is to release the GIL; the operands are then made independent of it.
#[inline(always)]
pub fn prepare(work: i64, operands: &mut [&mut Operand]) -> bool {
    let release = work >= WORTH_RELEASING;
    if release {
        operands.iter_mut().for_each(|operand| operand.pin());
    }
    release
}

/// Runs an operation where the memory of `out` is, and turns its refusal into an exception that names `arguments`.
/// `release`: without the GIL, and with as many threads as are set.
///
/// # Safety
/// The GIL is held.
#[inline(always)]
pub unsafe fn run<'a>(
    function: &str,
    release: bool,
    out: &Operand,
    arguments: impl Fn() -> Named<'a>,
    operation: impl Fn(Backend<'_, '_>) -> diptych_gpu::Result<()>,
) -> PyResult<()> {
    // SAFETY: the caller's; the operands have been read.
    unsafe {
        let done = attempt(function, release, out, &arguments, operation)?;
        done.map_err(|error| explain(function, error, &arguments()))
    }
}

/// As [`run`], but returns the refusal.
///
/// # Safety
/// As [`run`].
#[inline(always)]
pub unsafe fn attempt<'a>(
    function: &str,
    release: bool,
    out: &Operand,
    arguments: &impl Fn() -> Named<'a>,
    operation: impl Fn(Backend<'_, '_>) -> diptych_gpu::Result<()>,
) -> PyResult<diptych_gpu::Result<()>> {
    if release || out.is_on_device() {
        // SAFETY: the caller's.
        return unsafe { elsewhere(function, out, arguments, &operation) };
    }
    // SAFETY: the caller's.
    let exec = unsafe { batches::exec()? };
    Ok(operation(Backend::Host(&exec)))
}

/// Runs an operation without the GIL, or on a device.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn elsewhere<'a>(
    function: &str,
    out: &Operand,
    arguments: &dyn Fn() -> Named<'a>,
    operation: &dyn Fn(Backend<'_, '_>) -> diptych_gpu::Result<()>,
) -> PyResult<diptych_gpu::Result<()>> {
    if out.is_on_device() {
        let launch = |device: &Launcher<'_>| operation(Backend::Device(device));
        // SAFETY: the caller's.
        return unsafe { device::run(function, out, &arguments(), &launch) };
    }
    let body = |exec: &Exec<'_>| {
        // SAFETY: the caller's.
        let released = Released(unsafe { ffi::PyEval_SaveThread() });
        let result = operation(Backend::Host(exec));
        drop(released);
        result
    };
    // SAFETY: the caller's.
    unsafe { threads::with_exec(body) }
}
