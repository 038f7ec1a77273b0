//! The CUDA driver: libcuda at run time, the device code in each context, launches on the caller's stream.

pub(crate) mod api;
pub(crate) mod context;
mod error;
mod image;
mod library;
pub mod memory;
pub(crate) mod scratch;
mod stream;
mod whereabouts;

pub use error::{Error, Result};
pub use stream::Launcher;
pub use whereabouts::{Arguments, Place, place};

use api::Api;
use core::ffi::c_void;

/// Whether calls on the device can work: a driver that is new enough, and a device.
///
/// # Errors
/// Why not: `NoDriver`, `DriverTooOld`, `NoDevice`.
pub fn available() -> Result<()> {
    Api::get().map(|_| ())
}

/// Loads the device code and makes scratch memory in the current context (the primary context of device 0
/// where there is none), so that later calls neither load nor allocate, and may be captured.
///
/// # Errors
/// As for [`available`]; `NotPreloaded` when `stream` is being captured; `DeviceTooOld`; what the driver says.
///
/// # Safety
/// `stream` is a stream, or NULL.
pub unsafe fn preload(stream: *mut c_void) -> Result<()> {
    context::Loaded::current(Api::get()?, stream).map(|_| ())
}

fn driver_version(api: &Api) -> Result<i32> {
    let mut version = 0;
    // SAFETY: the place is there.
    Error::check("cuDriverGetVersion", unsafe {
        (api.driver_version)(&mut version)
    })?;
    Ok(version)
}
