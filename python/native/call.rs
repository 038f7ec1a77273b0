//! Running kernels: with the GIL released where the work is worth it, and exceptions where they refuse.

use diptych::Exec;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::operand::Operand;
use crate::threads;

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

/// Calls a kernel. `release`: without the GIL, and with as many threads as are set.
///
/// # Safety
/// The GIL is held.
#[inline(always)]
pub unsafe fn run(
    release: bool,
    kernel: impl FnOnce(&Exec<'_>) -> diptych::Result<()>,
) -> PyResult<diptych::Result<()>> {
    if !release {
        return Ok(kernel(&Exec::new()));
    }
    threads::with_exec(|exec| {
        // SAFETY: the caller's.
        let released = Released(unsafe { ffi::PyEval_SaveThread() });
        let result = kernel(exec);
        drop(released);
        result
    })
}
