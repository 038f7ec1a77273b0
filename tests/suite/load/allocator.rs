//! An allocator that counts what is live, and that refuses the k-th request when asked to.

use core::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::alloc::{GlobalAlloc, Layout, System};

/// Allocations that are not freed yet, and their bytes.
static LIVE: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
/// Large requests that may still succeed; from 0 on, one is refused. Negative: all succeed.
static LEFT: AtomicI64 = AtomicI64::new(-1);
/// Large requests so far.
static LARGE: AtomicI64 = AtomicI64::new(0);

/// Requests below this always succeed: they are the books of threads and of the test harness.
pub const LARGE_BYTES: usize = 256;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether a request is the one to refuse.
fn refused(size: usize) -> bool {
    if size < LARGE_BYTES {
        return false;
    }
    LARGE.fetch_add(1, SeqCst);
    LEFT.fetch_update(SeqCst, SeqCst, |left| (left >= 0).then(|| left - 1)) == Ok(0)
}

fn note(count: i64, bytes: i64) {
    LIVE.fetch_add(count, SeqCst);
    BYTES.fetch_add(bytes, SeqCst);
}

// SAFETY: hands every request to the system's allocator, or refuses it, which is allowed.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return core::ptr::null_mut();
        }
        note(1, layout.size() as i64);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        note(-1, -(layout.size() as i64));
        // SAFETY: as the caller's.
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refused(size) {
            return core::ptr::null_mut();
        }
        note(0, size as i64 - layout.size() as i64);
        // SAFETY: as the caller's.
        unsafe { System.realloc(p, layout, size) }
    }
}

/// Allocations and bytes that are live.
pub fn live() -> (i64, i64) {
    (LIVE.load(SeqCst), BYTES.load(SeqCst))
}

/// Runs `f` with request `k` (from 0) for a large block refused; gives what `f` gave, and whether there was
/// such a request.
pub fn refusing<R>(k: i64, f: impl FnOnce() -> R) -> (R, bool) {
    LEFT.store(k, SeqCst);
    let result = f();
    let reached = LEFT.swap(-1, SeqCst) < 0;
    (result, reached)
}

/// How many large blocks `f` asks for.
pub fn large_requests(f: impl FnOnce()) -> i64 {
    let before = LARGE.load(SeqCst);
    f();
    LARGE.load(SeqCst) - before
}
