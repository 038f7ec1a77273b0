//! Scratch memory on the device: the caller's workspace, or a block of the library's own for each stream.

use super::api::{Address, Api, PER_THREAD_STREAM, StreamHandle};
use super::context::pointer;
use super::error::{Error, Result};
use core::sync::atomic::{AtomicUsize, Ordering};
use diptych_device::launch::Scratch;

/// Bytes of a slot, without its counters.
pub const SLOT_BYTES: usize = 256 << 10;
/// Counters of a slot.
pub const SLOT_COUNTERS: usize = 16 << 10;
/// How many streams can have one.
const SLOTS: usize = 32;
/// From slot to slot.
const PITCH: usize = SLOT_BYTES + SLOT_COUNTERS * size_of::<u32>();

/// The library's own scratch memory in one context: a slot for each stream that asked for one.
///
/// A graph that was captured without a workspace has the slot of the stream on which it was captured.
pub struct Slots {
    base: Address,
    /// Whose each is; 0: nobody's.
    owners: [AtomicUsize; SLOTS],
}

impl Slots {
    /// All of them, with counters that are 0.
    pub fn allocate(api: &Api) -> Result<Slots> {
        // A stream of its own: the default one would break captures of other threads.
        const NON_BLOCKING: u32 = 1;
        let (mut base, mut stream) = (0, core::ptr::null_mut());
        // SAFETY: the places are there; the memory is set before anyone has its address.
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

    /// The slot of a stream, the same in every call until it is released.
    pub fn of(&self, stream: StreamHandle) -> Result<Scratch> {
        let owner = owner(stream);
        let take = |place: &AtomicUsize| {
            let taken = place.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed);
            taken.is_ok()
        };
        let owned = |place: &AtomicUsize| place.load(Ordering::Relaxed) == owner;
        // Slots before its own may have been released since.
        let own = self.owners.iter().position(owned);
        let slot = own.or_else(|| self.owners.iter().position(take));
        let start = self.base + (slot.ok_or(Error::ScratchTaken)? * PITCH) as Address;
        Ok(Scratch {
            bytes: pointer(start),
            counters: pointer(start + SLOT_BYTES as Address),
        })
    }

    /// Makes the slot of a stream nobody's. (Two threads that first use a stream at once may have taken two.)
    pub fn release(&self, stream: StreamHandle) {
        let owner = owner(stream);
        for place in &self.owners {
            let _ = place.compare_exchange(owner, 0, Ordering::Release, Ordering::Relaxed);
        }
    }
}

/// Refuses what a slot has no room for.
pub fn check_slot(bytes: usize, counters: usize) -> Result<()> {
    if bytes > SLOT_BYTES || counters > SLOT_COUNTERS {
        let needed = workspace(bytes, counters);
        return Err(diptych::Error::WorkspaceTooSmall { needed }.into());
    }
    Ok(())
}

/// A number for a stream: its handle, but 1 for both names of the default stream, and a number of its own
/// for the per-thread default stream of each thread.
fn owner(stream: StreamHandle) -> usize {
    std::thread_local! {
        // No destructor: nothing to register with the loader.
        static HERE: u8 = const { 0 };
    }
    match stream.addr() {
        0 | 1 => 1,
        // Handles are addresses of words, so no handle is odd.
        PER_THREAD_STREAM => HERE.with(|here| core::ptr::from_ref(here).addr() << 1 | 1),
        handle => handle,
    }
}

/// Bytes of a workspace of any alignment that has room for `bytes` and so many counters.
pub const fn workspace(bytes: usize, counters: usize) -> usize {
    let aligned = bytes.saturating_add(15) / 16 * 16;
    aligned
        .saturating_add(counters.saturating_mul(size_of::<u32>()))
        .saturating_add(15)
}

/// Scratch in a workspace of the caller. Its counters are not 0 yet.
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
    fn a_slot_that_is_released_is_the_next_streams() {
        let slots = slots();
        let of = |handle| slots.of(stream(handle)).map(|scratch| scratch.bytes.addr());
        let first: Vec<_> = (1..=SLOTS).map(|i| of(i * 64)).collect();
        slots.release(stream(3 * 64));
        slots.release(stream(1000 * 64));
        // It keeps its own, though one before it is free.
        assert_eq!(of(SLOTS * 64), first[SLOTS - 1]);
        assert_eq!(of(1000 * 64), first[2]);
        assert_eq!(of(3 * 64), Err(Error::ScratchTaken));
    }

    #[test]
    fn the_default_stream_has_one_slot_and_threads_have_their_own() {
        assert_eq!(owner(stream(0)), owner(stream(1)));
        let here = owner(stream(PER_THREAD_STREAM));
        assert_eq!(here, owner(stream(PER_THREAD_STREAM)));
        let there = std::thread::spawn(|| owner(stream(PER_THREAD_STREAM)))
            .join()
            .unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn a_slot_is_not_larger_than_it_is() {
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
