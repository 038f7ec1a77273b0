//! Scratch memory of the library's own: a buffer for each thread, which grows to what was ever asked of it, is
//! kept from call to call, and is freed when the thread ends.

// Here a destructor of a `thread_local!` has to be registered with the loader, which takes its lock for that.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod keyed;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod local;

#[cfg(any(target_os = "linux", target_os = "android"))]
use keyed as imp;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
use local as imp;

/// Lends the thread's buffer; the fixed block where memory is short.
pub(super) fn lend<R>(bytes: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
    // Taken out while in use, so that a nested call makes its own instead of sharing.
    let mut buffer = imp::take();
    if buffer.capacity() < bytes && !imp::grow(&mut buffer, bytes) {
        return super::lend_fixed(body);
    }
    let result = body(buffer.as_mut_ptr().cast(), buffer.capacity().min(bytes));
    imp::give_back(buffer);
    result
}
