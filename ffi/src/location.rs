//! Where the arguments of a call lie.
use crate::error::Failure;
use core::ffi::c_void;
#[cfg(feature = "gpu")]
use diptych_gpu::driver::{Arguments, Location, locate};

/// Whether these arguments lie in device memory.
#[cfg(feature = "gpu")]
#[cold]
pub(crate) fn is_device_memory(
    pointers: &[*const c_void],
    names: &'static [&'static str],
) -> Result<bool, Failure> {
    Ok(locate(Arguments { pointers, names })? == Location::Device)
}

/// Without a driver every pointer lies in host memory.
#[cfg(not(feature = "gpu"))]
pub(crate) fn is_device_memory(
    _: &[*const c_void],
    _: &'static [&'static str],
) -> Result<bool, Failure> {
    Ok(false)
}
