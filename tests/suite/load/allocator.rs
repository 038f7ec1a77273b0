//! An allocator that counts live allocations, and that can be told to fail the k-th large request.

use core::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::alloc::{GlobalAlloc, Layout, System};

/// The number of allocations that are not freed yet, and their bytes.
static LIVE: AtomicI64 = AtomicI64::new(0);
static BYTES: AtomicI64 = AtomicI64::new(0);
/// The number of large requests that succeed before one fails. If negative, all succeed.
static LEFT: AtomicI64 = AtomicI64::new(-1);
/// The number of large requests so far.
static LARGE: AtomicI64 = AtomicI64::new(0);

/// Smaller requests always succeed: threads and the test harness need them for bookkeeping.
pub const LARGE_BYTES: usize = 256;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Counts a large request, and returns whether it is the one that must fail.
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

// SAFETY: passes every request to the system's allocator or returns NULL, which is allowed.
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

/// Returns the number of live allocations and their bytes.
pub fn live() -> (i64, i64) {
    (LIVE.load(SeqCst), BYTES.load(SeqCst))
}

/// Runs `f` and fails its large request number `k` (from 0). Returns the result of `f`, and whether there was
/// such a request.
pub fn refusing<R>(k: i64, f: impl FnOnce() -> R) -> (R, bool) {
    LEFT.store(k, SeqCst);
    let result = f();
    let reached = LEFT.swap(-1, SeqCst) < 0;
    (result, reached)
}

/// Returns the number of large requests that `f` makes.
pub fn large_requests(f: impl FnOnce()) -> i64 {
    let before = LARGE.load(SeqCst);
    f();
    LARGE.load(SeqCst) - before
}
