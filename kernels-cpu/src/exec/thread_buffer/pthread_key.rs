//! Buffers in a static table. Each thread finds its slot by a key of the C library (`pthread_key_create`), whose
//! destructor frees the slot when the thread ends.
//!
//! A `thread_local!` would deadlock. Registering its destructor takes the dynamic loader's lock, which a thread that
//! loads a library holds while it runs the library's constructors. If a constructor makes a call on a pool, it waits
//! for the pool's threads; their first call would wait for the lock. Here nothing takes a lock. Also, the library need
//! not stay loaded until all threads that called it have ended: unloading it deletes the key and frees the buffers.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{Layout, alloc, dealloc};

/// A block of memory, or none.
pub(super) struct Buffer(*mut Header);

/// The header of a block; the bytes that are lent follow it.
#[repr(C, align(16))]
struct Header {
    capacity: usize,
}

impl Buffer {
    const NONE: Buffer = Buffer(ptr::null_mut());

    fn new(bytes: usize) -> Option<Buffer> {
        let layout = Self::layout(bytes)?;
        // SAFETY: the size is not 0, because of the header.
        let block = unsafe { alloc(layout) }.cast::<Header>();
        if block.is_null() {
            return None;
        }
        // SAFETY: the block begins with a header.
        unsafe { block.write(Header { capacity: bytes }) };
        Some(Buffer(block))
    }

    fn layout(bytes: usize) -> Option<Layout> {
        let size = bytes.checked_add(size_of::<Header>())?;
        Layout::from_size_align(size, align_of::<Header>()).ok()
    }

    pub(super) fn capacity(&self) -> usize {
        // SAFETY: null, or a block that `new` made.
        unsafe { self.0.as_ref() }.map_or(0, |header| header.capacity)
    }

    /// Returns the address of the bytes after the header.
    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.wrapping_add(1).cast()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let (false, Some(layout)) = (self.0.is_null(), Self::layout(self.capacity())) {
            // SAFETY: made by `new` with this layout, and owned.
            unsafe { dealloc(self.0.cast(), layout) };
        }
    }
}

/// The slot of a thread's buffer, on cache lines of its own: `FREE` when it belongs to no thread, `EMPTY` when it
/// belongs to a thread but holds no block, else a block.
#[repr(align(128))]
struct Slot(AtomicPtr<Header>);

const FREE: *mut Header = ptr::null_mut();
const EMPTY: *mut Header = ptr::without_provenance_mut(1);

impl Slot {
    /// Stores `new`, and returns the buffer that was there.
    fn replace(&self, new: *mut Header) -> Buffer {
        match self.0.swap(new, Ordering::AcqRel) {
            FREE | EMPTY => Buffer::NONE,
            block => Buffer(block),
        }
    }
}

/// Claims a free slot for the calling thread.
fn claim(slots: &'static [Slot]) -> Option<&'static Slot> {
    slots.iter().find(|Slot(slot)| {
        // Reads first: the cache line of another thread's slot stays shared.
        slot.load(Ordering::Relaxed) == FREE
            && slot
                .compare_exchange(FREE, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    })
}

/// The slots. Pages beyond the last claimed slot are never written, and take no memory. A thread that finds no free
/// slot, or no key because the C library has no more, allocates a buffer for each call. (In the child of a fork, the
/// slots of the parent's other threads stay claimed.)
static SLOTS: [Slot; 1024] = [const { Slot(AtomicPtr::new(FREE)) }; 1024];

/// The key plus 1; `NO_KEY` before the key is created, `UNLOADED` after the library was unloaded.
static KEY: AtomicUsize = AtomicUsize::new(NO_KEY);
const NO_KEY: usize = 0;
const UNLOADED: usize = usize::MAX;

fn existing_key(key: usize) -> Option<libc::pthread_key_t> {
    (key != NO_KEY && key != UNLOADED).then(|| (key - 1) as libc::pthread_key_t)
}

/// Returns the calling thread's slot, if it has one.
fn current_slot() -> Option<&'static Slot> {
    let key = existing_key(KEY.load(Ordering::Acquire))?;
    // SAFETY: the key exists; its values are null or slots of the table.
    unsafe { libc::pthread_getspecific(key).cast::<Slot>().as_ref() }
}

/// Takes the thread's buffer: none before the first call and while it is lent.
pub(super) fn take() -> Buffer {
    current_slot().map_or(Buffer::NONE, |slot| slot.replace(EMPTY))
}

/// Keeps a buffer, which must not be null, for the thread's next call, if the thread has a slot or can claim one.
pub(super) fn give_back(buffer: Buffer) {
    debug_assert!(!buffer.0.is_null(), "its slot would be free");
    if let Some(slot) = current_slot().or_else(claim_slot) {
        if slot.0.load(Ordering::Relaxed) == EMPTY {
            // A store is faster than a swap. Only `unload` could come between, when the process ends; then the block is
            // not freed.
            slot.0.store(buffer.0, Ordering::Release);
        } else {
            drop(slot.replace(buffer.0));
        }
        core::mem::forget(buffer);
    }
}

/// Replaces the buffer by one of `bytes` bytes; returns false when there is no memory.
#[cold]
pub(super) fn grow(buffer: &mut Buffer, bytes: usize) -> bool {
    // Frees the old block first: its contents are not kept.
    drop(core::mem::replace(buffer, Buffer::NONE));
    Buffer::new(bytes).map(|new| *buffer = new).is_some()
}

/// Claims a slot for a thread that has none.
#[cold]
fn claim_slot() -> Option<&'static Slot> {
    let key = existing_key(KEY.load(Ordering::Acquire)).or_else(create_key)?;
    let slot = claim(&SLOTS)?;
    // SAFETY: the key exists.
    if unsafe { libc::pthread_setspecific(key, ptr::from_ref(slot).cast()) } != 0 {
        slot.0.store(FREE, Ordering::Release);
        return None;
    }
    Some(slot)
}

/// Creates the key; when threads race, returns the key of the first.
#[cold]
fn create_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: `key` is writable; `unload` deletes the key before the code of `thread_end` is unmapped.
    if unsafe { libc::pthread_key_create(&mut key, Some(thread_end)) } != 0 {
        return None;
    }
    // From a static library, a linker takes only what is referred to.
    core::hint::black_box(&AT_UNLOAD);
    let new = key as usize + 1;
    let other = KEY.compare_exchange(NO_KEY, new, Ordering::AcqRel, Ordering::Acquire);
    let Err(other) = other else {
        return Some(key);
    };
    // SAFETY: created above, and used by nobody else.
    unsafe { libc::pthread_key_delete(key) };
    existing_key(other)
}

/// Frees the slot of a thread that ends. The C library calls this. (If the destructor of another key makes a call
/// later, that call claims a slot again, and the C library calls this again.) Freeing the block comes last, as a tail
/// call: another thread may unload the library meanwhile.
unsafe extern "C" fn thread_end(slot: *mut c_void) {
    // SAFETY: values of the key are slots of the table.
    drop(unsafe { &*slot.cast::<Slot>() }.replace(FREE));
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_UNLOAD: extern "C" fn() = unload;

/// Deletes the key and frees all kept buffers. Called by `dlclose`, and when the process ends. In the latter case other
/// threads may be in calls: they keep the buffers that they use, find no key any more, and free their buffers instead
/// of giving them back.
extern "C" fn unload() {
    let Some(key) = existing_key(KEY.swap(UNLOADED, Ordering::AcqRel)) else {
        return;
    };
    // SAFETY: created by `create_key`, and deleted here only.
    unsafe { libc::pthread_key_delete(key) };
    for slot in &SLOTS {
        // Reads first: pages that were never written stay without memory.
        if slot.0.load(Ordering::Relaxed) != FREE {
            drop(slot.replace(EMPTY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_claimed_once() {
        static SLOTS: [Slot; 2] = [const { Slot(AtomicPtr::new(FREE)) }; 2];
        let mut claimed = [0; 3].map(|_| claim(&SLOTS).map(ptr::from_ref));
        assert_eq!(
            claimed,
            [Some(&raw const SLOTS[0]), Some(&raw const SLOTS[1]), None]
        );
        drop(SLOTS[0].replace(FREE));
        claimed[0] = claim(&SLOTS).map(ptr::from_ref);
        assert_eq!(claimed[0], Some(&raw const SLOTS[0]));
    }

    #[test]
    fn a_thread_keeps_its_buffer() {
        let mut first = take();
        assert!(first.capacity() == 0 && grow(&mut first, 1000));
        let block = first.as_mut_ptr();
        give_back(first);
        let mut again = take();
        assert_eq!((again.as_mut_ptr(), again.capacity()), (block, 1000));
        // While the buffer is lent, a nested call finds none. The buffer that it gives back is freed when the outer one
        // is given back.
        let mut within = take();
        assert!(within.capacity() == 0 && grow(&mut within, 2000));
        give_back(within);
        give_back(again);
        assert_eq!(take().capacity(), 1000);
    }

    #[test]
    fn too_large_buffers_are_refused() {
        let mut buffer = Buffer::NONE;
        assert!(!grow(&mut buffer, usize::MAX) && !grow(&mut buffer, isize::MAX as usize));
        assert_eq!(buffer.capacity(), 0);
    }
}
