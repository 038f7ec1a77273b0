//! Memory and copies in the current context. A thread without one gets the primary context of device 0.

use super::api::{Address, Api};
use super::context::{Key, address, pointer};
use super::error::{Error, Result};
use core::ffi::c_void;
use core::ptr;

/// Returns the driver's functions, with a current context.
fn api() -> Result<&'static Api> {
    let api = Api::get()?;
    Key::current(api)?;
    Ok(api)
}

/// Copies between host and device memory, in any direction and in stream order. It may return before the copy is done.
///
/// # Errors
/// Errors of the driver.
///
/// # Safety
/// `stream` must be a stream of the current context or NULL, and the memory must be valid until the copy is done.
pub unsafe fn copy(
    stream: *mut c_void,
    bytes: usize,
    from: *const c_void,
    to: *mut c_void,
) -> Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    let code = unsafe { (api.copy)(address(to), address(from), bytes, stream) };
    Error::check_copy("cuMemcpyAsync", code)
}

/// Sets `words` 32-bit words of device memory to 0, in stream order.
///
/// # Errors
/// Errors of the driver.
///
/// # Safety
/// As for [`copy`]; `to` must be a multiple of 4.
pub(crate) unsafe fn zero(stream: *mut c_void, words: usize, to: *mut c_void) -> Result<()> {
    if words == 0 {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    let code = unsafe { (api.fill_words)(address(to), 0, words, stream) };
    Error::check_copy("cuMemsetD32Async", code)
}

/// Allocates device memory: at least one byte, because the driver refuses 0.
///
/// # Errors
/// `OutOfMemory`; errors of the driver.
pub fn allocate(bytes: usize) -> Result<*mut c_void> {
    let (api, mut start): (_, Address) = (api()?, 0);
    // SAFETY: the out pointer is valid.
    Error::check("cuMemAlloc", unsafe {
        (api.memory_allocate)(&mut start, bytes.max(1))
    })?;
    Ok(pointer(start))
}

/// Frees device memory, after all work that was launched before.
///
/// # Errors
/// Errors of the driver.
///
/// # Safety
/// The pointer must come from [`allocate`] or be NULL, and must not be used any more.
pub unsafe fn free(pointer: *mut c_void) -> Result<()> {
    if pointer.is_null() {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    Error::check("cuMemFree", unsafe { (api.memory_free)(address(pointer)) })
}

/// Allocates pinned host memory: copies of it are asynchronous, and faster than copies of pageable memory.
///
/// # Errors
/// `OutOfMemory`; errors of the driver.
pub fn allocate_pinned(bytes: usize) -> Result<*mut c_void> {
    let (api, mut start) = (api()?, ptr::null_mut());
    // SAFETY: the out pointer is valid.
    let code = unsafe { (api.pinned_allocate)(&mut start, bytes.max(1), 0) };
    Error::check("cuMemHostAlloc", code)?;
    Ok(start)
}

/// Frees pinned memory.
///
/// # Errors
/// Errors of the driver.
///
/// # Safety
/// The pointer must come from [`allocate_pinned`] or be NULL, and neither the host nor a copy may use it any more.
pub unsafe fn free_pinned(pointer: *mut c_void) -> Result<()> {
    if pointer.is_null() {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    Error::check("cuMemFreeHost", unsafe { (api.pinned_free)(pointer) })
}

/// Waits until all work of a stream is done.
///
/// # Errors
/// The errors of that work.
///
/// # Safety
/// `stream` must be a stream of the current context or NULL.
pub unsafe fn synchronize(stream: *mut c_void) -> Result<()> {
    let api = api()?;
    // SAFETY: as the caller's.
    Error::check("cuStreamSynchronize", unsafe {
        (api.stream_synchronize)(stream)
    })
}
