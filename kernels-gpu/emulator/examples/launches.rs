//! The shared library that the stand-in for the CUDA driver (`ffi/tests/cuda/fake_cuda.c`) calls for each launch, for
//! programs that are not written in Rust.

use core::ffi::{CStr, c_char, c_uint, c_void};
use diptych_device::launch::entry;

/// Runs a kernel of the library. Other kernels, such as those of the benches, do nothing.
///
/// # Safety
/// As [`diptych_emulator::run_launch`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn diptych_launch(
    name: *const c_char,
    shape: *const c_uint,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
) {
    // SAFETY: a C string, as the caller promises.
    let text = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or("");
    if entry::ALL
        .iter()
        .any(|entry| entry.names().any(|name| name == text))
    {
        // SAFETY: as the caller's.
        unsafe { diptych_emulator::run_launch(name, shape, stream, arguments) };
    }
}
