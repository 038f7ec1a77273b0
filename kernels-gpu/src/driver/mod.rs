//! The CUDA driver: libcuda at run time, the device code in each context, launches on the caller's stream.

pub(crate) mod api;
pub(crate) mod context;
mod error;
mod functions;
mod image;
mod library;
mod location;
pub mod memory;
pub(crate) mod scratch;
mod stream;

pub use error::{Error, Result};
pub use location::{Arguments, Location, locate};
pub use stream::Launcher;

use api::Api;
use core::ffi::c_void;
use diptych_device::launch::entry;

/// Whether calls on the device can work: a driver that is new enough, and a device.
///
/// # Errors
/// Why not: `NoDriver`, `DriverTooOld`, `NoDevice`.
pub fn available() -> Result<()> {
    Api::get().map(|_| ())
}

/// Makes scratch memory and loads every kernel in the current context (the primary context of device 0 where
/// there is none), so that later calls load nothing, and all may be captured. Without it there is no scratch
/// memory but a caller's workspace, and each kernel is loaded by its first launch. The driver compiles what it
/// loads, and keeps the result on disk for later processes. NVIDIA's assembler takes 0.07 s for the median
/// kernel, 0.6 s for the longest and 13 s for all of them (on one core of a Zen 4 CPU; not measured on a machine
/// with a GPU).
///
/// After an error what has been loaded stays, and another call goes on from there.
///
/// # Errors
/// As for [`available`]; `NotPreloaded` when something is missing and `stream` is being captured;
/// `DeviceTooOld`; what the driver says.
///
/// # Safety
/// `stream` is a stream, or NULL.
pub unsafe fn preload(stream: *mut c_void) -> Result<()> {
    let loaded = context::Loaded::current(Api::get()?)?;
    loaded.make_slots(stream)?;
    for kernel in entry::ALL {
        for dtype in kernel.types() {
            loaded.function(stream, kernel, dtype)?;
        }
    }
    Ok(())
}

/// Gives the block of scratch memory back that calls without a workspace on this stream of the current context
/// have, for other streams. NULL is the default stream.
///
/// # Errors
/// As for [`available`]; what the driver says.
///
/// # Safety
/// All work of the stream has run, and no graph that was captured on it runs or will run again.
pub unsafe fn release(stream: *mut c_void) -> Result<()> {
    if let Some(slots) = context::Loaded::current(Api::get()?)?.slots() {
        slots.release(stream);
    }
    Ok(())
}

fn driver_version(api: &Api) -> Result<i32> {
    let mut version = 0;
    // SAFETY: the place is there.
    Error::check("cuDriverGetVersion", unsafe {
        (api.driver_version)(&mut version)
    })?;
    Ok(version)
}
