//! Buffers in `thread_local!`, where registering its destructor takes no lock of the loader.

use core::cell::Cell;
use core::mem::{ManuallyDrop, MaybeUninit};

pub(super) type Buffer = std::vec::Vec<MaybeUninit<u8>>;

std::thread_local! {
    /// Without a destructor: that of `END` frees it.
    static BUFFER: Cell<ManuallyDrop<Buffer>> = const { Cell::new(ManuallyDrop::new(Buffer::new())) };
    static END: End = const { End };
}

struct End;

impl Drop for End {
    fn drop(&mut self) {
        drop(exchange(Buffer::new()));
    }
}

/// Puts a buffer into the place of the thread's.
fn exchange(buffer: Buffer) -> Buffer {
    ManuallyDrop::into_inner(BUFFER.replace(ManuallyDrop::new(buffer)))
}

/// The thread's buffer; an empty one while that is lent, or before there is one.
pub(super) fn take() -> Buffer {
    exchange(Buffer::new())
}

/// Keeps a buffer for the thread's next call.
pub(super) fn give_back(buffer: Buffer) {
    drop(exchange(buffer));
}

/// Makes the buffer so large; false where there is no memory, and while the thread ends.
#[cold]
pub(super) fn grow(buffer: &mut Buffer, bytes: usize) -> bool {
    // The C library notes that `END` has a destructor, and ends the process where it has no memory for
    // the note.
    let may_be_first = buffer.capacity() == 0;
    (!may_be_first || has_memory())
        && END.try_with(|_| ()).is_ok()
        && buffer.try_reserve_exact(bytes).is_ok()
}

/// Whether there is more than enough for a note.
fn has_memory() -> bool {
    let mut block = Buffer::new();
    let reserved = block.try_reserve_exact(2048).is_ok();
    core::hint::black_box(&mut block);
    reserved
}
