//! Buffers in a table, where each thread finds its place by a key of the C library, which also tells the thread's
//! end.
//!
//! A `thread_local!` would not do: its destructor has to be registered with the loader, whose lock is held by a
//! thread that loads a library, while it runs the constructors too. Meanwhile no other thread's first call would go
//! on, and a constructor that waits for such a thread, one of a pool, would wait for ever. Here nothing takes
//! a lock. Nor must the library stay loaded until its callers' threads have ended: when it goes, so do the key and
//! the buffers in the table.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::alloc::{Layout, alloc, dealloc};

/// A block of memory, or none.
pub(super) struct Buffer(*mut Header);

/// What lies before the bytes that are lent.
#[repr(C, align(16))]
struct Header {
    capacity: usize,
}

impl Buffer {
    const NONE: Buffer = Buffer(ptr::null_mut());

    fn new(bytes: usize) -> Option<Buffer> {
        let layout = Self::layout(bytes)?;
        // SAFETY: with the header it is not of size 0.
        let block = unsafe { alloc(layout) }.cast::<Header>();
        if block.is_null() {
            return None;
        }
        // SAFETY: the layout begins with a header.
        unsafe { block.write(Header { capacity: bytes }) };
        Some(Buffer(block))
    }

    fn layout(bytes: usize) -> Option<Layout> {
        let size = bytes.checked_add(size_of::<Header>())?;
        Layout::from_size_align(size, align_of::<Header>()).ok()
    }

    pub(super) fn capacity(&self) -> usize {
        // SAFETY: NULL, or a block that `new` has made.
        unsafe { self.0.as_ref() }.map_or(0, |header| header.capacity)
    }

    /// Where the bytes begin.
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

/// A place for a thread's buffer, on cache lines of its own: `FREE`, a thread's that is `EMPTY`, or with a block.
#[repr(align(128))]
struct Place(AtomicPtr<Header>);

const FREE: *mut Header = ptr::null_mut();
const EMPTY: *mut Header = ptr::without_provenance_mut(1);

impl Place {
    /// Puts something here, and gives the buffer that was.
    fn replace(&self, new: *mut Header) -> Buffer {
        match self.0.swap(new, Ordering::AcqRel) {
            FREE | EMPTY => Buffer::NONE,
            block => Buffer(block),
        }
    }
}

/// A free place, which from now on is the caller's.
fn claim(places: &'static [Place]) -> Option<&'static Place> {
    places.iter().find(|Place(place)| {
        // Only read where it is another thread's.
        place.load(Ordering::Relaxed) == FREE
            && place
                .compare_exchange(FREE, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    })
}

/// Pages that no thread has reached are never written. Threads that find no place have a buffer for each call, and
/// so have all where the C library has no more keys. (In the child of a fork the places of the parent's other
/// threads stay taken.)
static PLACES: [Place; 1024] = [const { Place(AtomicPtr::new(FREE)) }; 1024];

/// The key plus 1; `NO_KEY` before there is one, `CLOSED` when the library goes.
static KEY: AtomicUsize = AtomicUsize::new(NO_KEY);
const NO_KEY: usize = 0;
const CLOSED: usize = usize::MAX;

fn known(key: usize) -> Option<libc::pthread_key_t> {
    (key != NO_KEY && key != CLOSED).then(|| (key - 1) as libc::pthread_key_t)
}

/// The calling thread's place, if it has one.
fn place() -> Option<&'static Place> {
    let key = known(KEY.load(Ordering::Acquire))?;
    // SAFETY: a key that was made; its values are NULL and places of the table.
    unsafe { libc::pthread_getspecific(key).cast::<Place>().as_ref() }
}

/// The thread's buffer; none while that is lent, or before there is one.
pub(super) fn take() -> Buffer {
    place().map_or(Buffer::NONE, |place| place.replace(EMPTY))
}

/// Keeps a buffer, which is there, for the thread's next call, if the thread has a place or gets one.
pub(super) fn give_back(buffer: Buffer) {
    debug_assert!(!buffer.0.is_null(), "its place would be free");
    if let Some(place) = place().or_else(first_place) {
        if place.0.load(Ordering::Relaxed) == EMPTY {
            // A store takes less time than a swap. Only `close` could come between, at the end of the process: then
            // the block is not freed.
            place.0.store(buffer.0, Ordering::Release);
        } else {
            drop(place.replace(buffer.0));
        }
        core::mem::forget(buffer);
    }
}

/// Makes the buffer so large; false where there is no memory.
#[cold]
pub(super) fn grow(buffer: &mut Buffer, bytes: usize) -> bool {
    // Before there is a new one: nothing in it is kept.
    drop(core::mem::replace(buffer, Buffer::NONE));
    Buffer::new(bytes).map(|new| *buffer = new).is_some()
}

/// A place for a thread that has none.
#[cold]
fn first_place() -> Option<&'static Place> {
    let key = known(KEY.load(Ordering::Acquire)).or_else(first_key)?;
    let place = claim(&PLACES)?;
    // SAFETY: a key that was made.
    if unsafe { libc::pthread_setspecific(key, ptr::from_ref(place).cast()) } != 0 {
        place.0.store(FREE, Ordering::Release);
        return None;
    }
    Some(place)
}

/// The key, made by whoever is first.
#[cold]
fn first_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: a place for the key; `close` deletes it before `end` goes.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } != 0 {
        return None;
    }
    // A linker takes from an archive what is referred to.
    core::hint::black_box(&AT_UNLOAD);
    let new = key as usize + 1;
    let other = KEY.compare_exchange(NO_KEY, new, Ordering::AcqRel, Ordering::Acquire);
    let Err(other) = other else {
        return Some(key);
    };
    // SAFETY: made above, and nobody has it.
    unsafe { libc::pthread_key_delete(key) };
    known(other)
}

/// Called when a thread ends that has a place. (A call after that, by the destructor of another key, gets a place
/// again, for whose end the C library calls once more.) Freeing comes last, as a jump: another thread may unload the
/// library meanwhile.
unsafe extern "C" fn end(place: *mut c_void) {
    // SAFETY: values of the key are places of the table.
    drop(unsafe { &*place.cast::<Place>() }.replace(FREE));
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_UNLOAD: extern "C" fn() = close;

/// Called by `dlclose` before the library goes, and when the process ends. Then other threads may be in calls: they
/// keep the buffers that they use, find no key any more, and free what they would give back.
extern "C" fn close() {
    let Some(key) = known(KEY.swap(CLOSED, Ordering::AcqRel)) else {
        return;
    };
    // SAFETY: made by `first_key`, and deleted here only.
    unsafe { libc::pthread_key_delete(key) };
    for place in &PLACES {
        // Only read where nobody ever was, so that the table stays without memory there.
        if place.0.load(Ordering::Relaxed) != FREE {
            drop(place.replace(EMPTY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_claimed_once() {
        static PLACES: [Place; 2] = [const { Place(AtomicPtr::new(FREE)) }; 2];
        let mut claimed = [0; 3].map(|_| claim(&PLACES).map(ptr::from_ref));
        assert_eq!(
            claimed,
            [Some(&raw const PLACES[0]), Some(&raw const PLACES[1]), None]
        );
        drop(PLACES[0].replace(FREE));
        claimed[0] = claim(&PLACES).map(ptr::from_ref);
        assert_eq!(claimed[0], Some(&raw const PLACES[0]));
    }

    #[test]
    fn a_thread_keeps_its_buffer() {
        let mut first = take();
        assert!(first.capacity() == 0 && grow(&mut first, 1000));
        let block = first.as_mut_ptr();
        give_back(first);
        let mut again = take();
        assert_eq!((again.as_mut_ptr(), again.capacity()), (block, 1000));
        // Lent: a call within finds none, and what it gives back goes when the outer one's comes.
        let mut within = take();
        assert!(within.capacity() == 0 && grow(&mut within, 2000));
        give_back(within);
        give_back(again);
        assert_eq!(take().capacity(), 1000);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let mut buffer = Buffer::NONE;
        assert!(!grow(&mut buffer, usize::MAX) && !grow(&mut buffer, isize::MAX as usize));
        assert_eq!(buffer.capacity(), 0);
    }
}
