//! The library's own scratch memory: a buffer for each thread. It grows to the largest size requested so far, is kept
//! from call to call, and is freed when the thread ends.

// On these systems registering the destructor of a `thread_local!` takes the dynamic loader's lock.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod pthread_key;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod thread_local;

#[cfg(any(target_os = "linux", target_os = "android"))]
use pthread_key as imp;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use thread_local as imp;

/// Takes the buffer of the calling thread, with room for so many bytes, unless there is no memory for it. Not inlined: all
/// callers of [`with_buffer`] share one copy.
#[inline(never)]
fn take(bytes: usize) -> Option<imp::Buffer> {
    let mut buffer = imp::take();
    (buffer.capacity() >= bytes || imp::grow(&mut buffer, bytes)).then_some(buffer)
}

/// Calls `body` with the buffer of the calling thread and its length, or with 0 bytes when there is no memory for it.
pub(super) fn with_buffer<R>(bytes: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
    // Taken out while in use, so that a nested call allocates its own instead of sharing it.
    let Some(mut buffer) = take(bytes) else {
        return body(core::ptr::null_mut(), 0);
    };
    let result = body(buffer.as_mut_ptr().cast(), buffer.capacity().min(bytes));
    imp::give_back(buffer);
    result
}
