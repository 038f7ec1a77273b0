//! Scratch memory on the device: the caller's workspace, or one of the library's slots, which belongs to a stream.

use super::api::{Address, Api, PER_THREAD_STREAM, StreamHandle};
use super::context::pointer;
use super::error::{Error, Result};
use core::sync::atomic::{AtomicUsize, Ordering};
use diptych_device::launch::Scratch;

/// Bytes of a slot, without its counters.
pub const SLOT_BYTES: usize = 256 << 10;
/// 32-bit counters of a slot.
pub const SLOT_COUNTERS: usize = 16 << 10;
/// Slots of a context, and so the streams that can have one.
const SLOTS: usize = 32;
/// Bytes from one slot to the next.
const PITCH: usize = SLOT_BYTES + SLOT_COUNTERS * size_of::<u32>();

/// The library's own scratch memory in one context. A stream gets a slot when a call on it first needs one.
///
/// A graph that was captured without a workspace uses the slot of the stream on which it was captured.
pub struct Slots {
    base: Address,
    /// For each slot the `owner_id` of its stream; 0: free.
    owners: [AtomicUsize; SLOTS],
}

impl Slots {
    /// Allocates all slots, with all counters at 0.
    pub fn allocate(api: &Api) -> Result<Slots> {
        // On a new stream, because work on the default stream would invalidate graph captures of other threads.
        const NON_BLOCKING: u32 = 1;
        let (mut base, mut stream) = (0, core::ptr::null_mut());
        // SAFETY: the out pointers are valid; the memory is set before its address is published.
        unsafe {
            Error::check(
                "cuMemAlloc",
                (api.memory_allocate)(&mut base, SLOTS * PITCH),
            )?;
            let words = SLOTS * PITCH / size_of::<u32>();
            let made = Error::check(
                "cuStreamCreate",
                (api.stream_create)(&mut stream, NON_BLOCKING),
            );
            let set = made.and_then(|()| {
                let filled = (api.fill_words)(base, 0, words, stream);
                let waited = (api.stream_synchronize)(stream);
                (api.stream_destroy)(stream);
                Error::check("cuMemsetD32Async", filled)?;
                Error::check("cuStreamSynchronize", waited)
            });
            if let Err(error) = set {
                (api.memory_free)(base);
                return Err(error);
            }
        }
        Ok(Slots {
            base,
            owners: [const { AtomicUsize::new(0) }; SLOTS],
        })
    }

    /// Returns the slot of a stream, and gives it a free one if it has none. A stream keeps its slot until `release`.
    pub fn of(&self, stream: StreamHandle) -> Result<Scratch> {
        let id = owner_id(stream);
        let take = |owner: &AtomicUsize| {
            let taken = owner.compare_exchange(0, id, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        };
        let owned = |owner: &AtomicUsize| owner.load(Ordering::Relaxed) == id;
        // All slots are searched first: one in front of the stream's own slot may have become free.
        let own = self.owners.iter().position(owned);
        let slot = own.or_else(|| self.owners.iter().position(take));
        let start = self.base + (slot.ok_or(Error::ScratchTaken)? * PITCH) as Address;
        Ok(Scratch {
            bytes: pointer(start),
            counters: pointer(start + SLOT_BYTES as Address),
        })
    }

    /// Frees the slots of a stream. (It may have two, if two threads used it for the first time at once.)
    pub fn release(&self, stream: StreamHandle) {
        let id = owner_id(stream);
        for owner in &self.owners {
            let _ = owner.compare_exchange(id, 0, Ordering::Release, Ordering::Relaxed);
        }
    }
}

/// Refuses a request that is larger than a slot.
pub fn check_slot(bytes: usize, counters: usize) -> Result<()> {
    if bytes > SLOT_BYTES || counters > SLOT_COUNTERS {
        let needed = workspace(bytes, counters);
        return Err(diptych::Error::WorkspaceTooSmall { needed }.into());
    }
    Ok(())
}

/// Returns a number that identifies a stream: its handle, but 1 for both handles of the legacy default stream (NULL and
/// `CU_STREAM_LEGACY`), and a number per host thread for the per-thread default stream.
fn owner_id(stream: StreamHandle) -> usize {
    std::thread_local! {
        // Its address identifies the thread. It has no destructor, so nothing is registered with the loader.
        static THREAD: u8 = const { 0 };
    }
    match stream.addr() {
        0 | 1 => 1,
        // Handles are addresses of aligned objects, and so even; this number is odd.
        PER_THREAD_STREAM => THREAD.with(|thread| core::ptr::from_ref(thread).addr() << 1 | 1),
        handle => handle,
    }
}

/// Returns the bytes of a workspace, of any alignment, that has room for `bytes` aligned to 16 and for `counters`
/// counters.
pub const fn workspace(bytes: usize, counters: usize) -> usize {
    let aligned = bytes.saturating_add(15) / 16 * 16;
    aligned
        .saturating_add(counters.saturating_mul(size_of::<u32>()))
        .saturating_add(15)
}

/// Divides the caller's workspace, given as address and bytes, into scratch memory and counters. The counters are not
/// set to 0 here.
pub fn in_workspace(
    (start, size): (Address, usize),
    bytes: usize,
    counters: usize,
) -> Result<Scratch> {
    let needed = workspace(bytes, counters);
    if size < needed {
        return Err(diptych::Error::WorkspaceTooSmall { needed }.into());
    }
    let first = start.next_multiple_of(16);
    Ok(Scratch {
        bytes: pointer(first),
        counters: pointer(first + (bytes as Address).next_multiple_of(16)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Slots {
        Slots {
            base: 4096,
            owners: [const { AtomicUsize::new(0) }; SLOTS],
        }
    }

    fn stream(handle: usize) -> StreamHandle {
        core::ptr::without_provenance_mut(handle)
    }

    #[test]
    fn every_stream_keeps_its_slot() {
        let slots = slots();
        let of = |handle| slots.of(stream(handle)).map(|scratch| scratch.bytes.addr());
        let first: Vec<_> = (1..=SLOTS).map(|i| of(i * 64)).collect();
        for (i, slot) in first.iter().enumerate() {
            assert_eq!(*slot, Ok(4096 + i * PITCH));
            assert_eq!(of((i + 1) * 64), *slot);
        }
        assert_eq!(of((SLOTS + 1) * 64), Err(Error::ScratchTaken));
    }

    #[test]
    fn a_released_slot_goes_to_the_next_stream() {
        let slots = slots();
        let of = |handle| slots.of(stream(handle)).map(|scratch| scratch.bytes.addr());
        let first: Vec<_> = (1..=SLOTS).map(|i| of(i * 64)).collect();
        slots.release(stream(3 * 64));
        slots.release(stream(1000 * 64));
        // This stream keeps its slot, although one in front of it is free.
        assert_eq!(of(SLOTS * 64), first[SLOTS - 1]);
        assert_eq!(of(1000 * 64), first[2]);
        assert_eq!(of(3 * 64), Err(Error::ScratchTaken));
    }

    #[test]
    fn the_default_stream_has_one_slot_and_threads_have_their_own() {
        assert_eq!(owner_id(stream(0)), owner_id(stream(1)));
        let this_thread = owner_id(stream(PER_THREAD_STREAM));
        assert_eq!(this_thread, owner_id(stream(PER_THREAD_STREAM)));
        let other_thread = std::thread::spawn(|| owner_id(stream(PER_THREAD_STREAM)))
            .join()
            .unwrap();
        assert_ne!(this_thread, other_thread);
    }

    #[test]
    fn requests_larger_than_a_slot_are_refused() {
        assert!(check_slot(SLOT_BYTES, SLOT_COUNTERS).is_ok());
        for (bytes, counters) in [
            (SLOT_BYTES + 1, 0),
            (0, SLOT_COUNTERS + 1),
            (usize::MAX, usize::MAX),
        ] {
            let refused = check_slot(bytes, counters).unwrap_err();
            let needed = workspace(bytes, counters);
            assert_eq!(refused, diptych::Error::WorkspaceTooSmall { needed }.into());
        }
    }
}
