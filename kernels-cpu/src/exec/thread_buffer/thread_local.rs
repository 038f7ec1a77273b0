//! Buffers in a `thread_local!`, for systems where registering its destructor does not take the loader's lock.

use core::cell::Cell;
use core::mem::{ManuallyDrop, MaybeUninit};

pub(super) type Buffer = std::vec::Vec<MaybeUninit<u8>>;

std::thread_local! {
    /// Has no destructor: the one of `END` frees it.
    static BUFFER: Cell<ManuallyDrop<Buffer>> = const { Cell::new(ManuallyDrop::new(Buffer::new())) };
    static END: End = const { End };
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        drop(exchange(Buffer::new()));
    }
}

/// Replaces the thread's buffer, and returns the previous one.
fn exchange(buffer: Buffer) -> Buffer {
    ManuallyDrop::into_inner(BUFFER.replace(ManuallyDrop::new(buffer)))
}

/// Takes the thread's buffer: an empty one before the first call and while it is lent.
pub(super) fn take() -> Buffer {
    exchange(Buffer::new())
}

/// Keeps a buffer for the thread's next call.
pub(super) fn give_back(buffer: Buffer) {
    drop(exchange(buffer));
}

/// Grows the buffer to `bytes`; returns false when there is no memory, or while the thread ends.
#[cold]
pub(super) fn grow(buffer: &mut Buffer, bytes: usize) -> bool {
    // The first use of `END` makes the C library register its destructor, and abort the process when it has no memory
    // for that.
    let may_be_first = buffer.capacity() == 0;
    (!may_be_first || has_memory())
        && END.try_with(|_| ()).is_ok()
        && buffer.try_reserve_exact(bytes).is_ok()
}

/// Returns whether there is more than enough memory to register a destructor.
fn has_memory() -> bool {
    let mut block = Buffer::new();
    let reserved = block.try_reserve_exact(2048).is_ok();
    core::hint::black_box(&mut block);
    reserved
}
