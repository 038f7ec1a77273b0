//! The CUDA driver: loads libcuda at run time, loads kernels into contexts, and launches them on the caller's stream.

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
use context::ContextState;
use core::ffi::c_void;
use diptych_device::launch::entry;

/// Returns `Ok` if calls on the device can work: there is a driver that is new enough, and a device.
///
/// # Errors
/// `NoDriver`, `DriverTooOld`, `NoDevice`.
pub fn available() -> Result<()> {
    Api::get().map(|_| ())
}

/// Allocates the library's scratch memory and loads every kernel in the current context. A thread without a current
/// context gets the primary context of device 0. Later calls then load nothing, and all of them may be captured into
/// graphs. Without this call a kernel is loaded by its first launch, and the only scratch memory is the caller's
/// workspace.
///
/// The driver compiles each kernel that it loads, 18 s for all of them on a machine with an H200, and caches the result on
/// disk for later processes. With the feature `cubin`, drivers of CUDA 12 or newer get compiled kernels for compute
/// capabilities 8.0, 8.6, 8.9, 9.0, 10.0 and 10.3, which took 20 ms there, and compile only those that they refuse.
///
/// After an error the kernels that have been loaded stay loaded, and another call loads the rest.
///
/// # Errors
/// As for [`available`]; `NotPreloaded` if something is missing while `stream` is being captured; `DeviceTooOld`;
/// errors of the driver.
///
/// # Safety
/// `stream` must be a stream or NULL.
pub unsafe fn preload(stream: *mut c_void) -> Result<()> {
    let context = ContextState::current(Api::get()?)?;
    context.create_slots(stream)?;
    for kernel in entry::ALL {
        for dtype in kernel.types() {
            context.function(stream, kernel, dtype)?;
        }
    }
    Ok(())
}

/// Allocates the library's scratch memory in the current context, unless that has been done: all of what [`preload`] does
/// but loading kernels.
///
/// # Errors
/// As for [`preload`].
///
/// # Safety
/// `stream` must be a stream or NULL.
pub unsafe fn allocate_scratch(stream: *mut c_void) -> Result<()> {
    ContextState::current(Api::get()?)?.create_slots(stream)
}

/// Releases the slot of scratch memory that calls without a workspace on this stream of the current context use, so
/// that another stream can have it. NULL is the default stream.
///
/// # Errors
/// As for [`available`]; errors of the driver.
///
/// # Safety
/// All work of the stream must have run, and no graph that was captured on it may be running or run again.
pub unsafe fn release(stream: *mut c_void) -> Result<()> {
    if let Some(slots) = ContextState::current(Api::get()?)?.slots() {
        slots.release(stream);
    }
    Ok(())
}

fn driver_version(api: &Api) -> Result<i32> {
    let mut version = 0;
    // SAFETY: the out pointer is valid.
    Error::check("cuDriverGetVersion", unsafe {
        (api.driver_version)(&mut version)
    })?;
    Ok(version)
}
