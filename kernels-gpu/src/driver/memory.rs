//! Memory and copies, in the current context (the primary context of device 0 where there is none).

use super::api::{Address, Api};
use super::context::{Key, address, pointer};
use super::error::{Error, Result};
use core::ffi::c_void;
use core::ptr;

/// The driver, with a current context.
fn api() -> Result<&'static Api> {
    let api = Api::get()?;
    Key::current(api)?;
    Ok(api)
}

/// Copies between any two places, in stream order. It may return before the copy is done.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// `stream` is a stream of the current context or NULL; the memory is valid until the copy is done.
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

/// Sets so many words of device memory to 0, in stream order.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// As for [`copy`]; `to` is a multiple of 4.
pub(crate) unsafe fn zero(stream: *mut c_void, words: usize, to: *mut c_void) -> Result<()> {
    if words == 0 {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    let code = unsafe { (api.fill_words)(address(to), 0, words, stream) };
    Error::check_copy("cuMemsetD32Async", code)
}

/// So many bytes of device memory.
///
/// # Errors
/// `OutOfMemory`; what the driver says.
pub fn allocate(bytes: usize) -> Result<*mut c_void> {
    let (api, mut start): (_, Address) = (api()?, 0);
    // SAFETY: the place is there. The driver allocates no 0 bytes.
    Error::check("cuMemAlloc", unsafe {
        (api.memory_allocate)(&mut start, bytes.max(1))
    })?;
    Ok(pointer(start))
}

/// Gives device memory back, after all work that was launched before.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// The pointer came from [`allocate`], or is NULL, and is not used any more.
pub unsafe fn free(pointer: *mut c_void) -> Result<()> {
    if pointer.is_null() {
        return Ok(());
    }
    let api = api()?;
    // SAFETY: as the caller's.
    Error::check("cuMemFree", unsafe { (api.memory_free)(address(pointer)) })
}

/// So many bytes of pinned host memory: copies of it run while the host goes on, and faster.
///
/// # Errors
/// `OutOfMemory`; what the driver says.
pub fn allocate_pinned(bytes: usize) -> Result<*mut c_void> {
    let (api, mut start) = (api()?, ptr::null_mut());
    // SAFETY: the place is there.
    let code = unsafe { (api.pinned_allocate)(&mut start, bytes.max(1), 0) };
    Error::check("cuMemHostAlloc", code)?;
    Ok(start)
}

/// Gives pinned memory back.
///
/// # Errors
/// What the driver says.
///
/// # Safety
/// The pointer came from [`allocate_pinned`], or is NULL, and neither the host nor a copy uses it any more.
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
/// What went wrong in that work.
///
/// # Safety
/// `stream` is a stream of the current context or NULL.
pub unsafe fn synchronize(stream: *mut c_void) -> Result<()> {
    let api = api()?;
    // SAFETY: as the caller's.
    Error::check("cuStreamSynchronize", unsafe {
        (api.stream_synchronize)(stream)
    })
}
