//! What launches do on the fake driver.

use core::ffi::{c_char, c_uint, c_void};

/// The emulator runs them.
pub use diptych_emulator::run_launch as run;

/// For launches whose results are not looked at.
pub unsafe extern "C" fn ignore(
    _: *const c_char,
    _: *const c_uint,
    _: *mut c_void,
    _: *mut *mut c_void,
) {
}
