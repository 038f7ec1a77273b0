//! Functions that launches of the fake driver can call.

use core::ffi::{c_char, c_uint, c_void};

/// Runs the launch on the emulator.
pub use diptych_emulator::run_launch as run;

/// Does nothing, for tests that do not check results.
pub unsafe extern "C" fn ignore(
    _: *const c_char,
    _: *const c_uint,
    _: *mut c_void,
    _: *mut *mut c_void,
) {
}
