//! The scratch memory of a call.

use core::mem::MaybeUninit;

use super::Shared;
#[cfg(feature = "std")]
use super::thread_buffer::with_buffer as with_thread_buffer;

/// Scratch memory: one block for each task.
pub(crate) struct Scratch {
    /// The caller's workspace; `None`: the buffer of each thread.
    pub(super) workspace: Option<Shared<MaybeUninit<u8>>>,
    /// Bytes of a block.
    pub(super) bytes: usize,
}

/// Bytes of the block on the stack that is used when there is neither a workspace nor a buffer of the thread.
pub(crate) const STACK_SCRATCH: usize = 17 << 10;

impl Scratch {
    /// Scratch memory from the buffer of the thread that runs the task.
    pub(super) fn per_thread(bytes: usize) -> Self {
        Self {
            workspace: None,
            bytes,
        }
    }

    /// Calls `body` with the block of a task that takes scratch memory, with none for other tasks.
    pub(crate) fn with_block_if<R>(
        &self,
        takes: bool,
        task: usize,
        body: impl FnOnce(*mut u8, usize) -> R,
    ) -> R {
        if takes {
            self.with_block(task, body)
        } else {
            body(core::ptr::null_mut(), 0)
        }
    }

    /// Calls `body` with the block of task `task`: a pointer and the length in bytes, which is the requested one or, if
    /// there is only the block on the stack, [`STACK_SCRATCH`].
    pub(crate) fn with_block<R>(&self, task: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
        self.with_optional_block(task, |block, bytes| {
            if bytes == 0 && self.bytes > 0 {
                with_stack_block(body)
            } else {
                body(block, bytes)
            }
        })
    }

    /// Calls `body` with the block of a task that can do without: it gets no block instead of the block on the stack.
    pub(crate) fn with_optional_block<R>(
        &self,
        task: usize,
        body: impl FnOnce(*mut u8, usize) -> R,
    ) -> R {
        match self.workspace {
            _ if self.bytes == 0 => body(core::ptr::null_mut(), 0),
            // Inside the workspace: `with_scratch` and `with_optional_scratch` have compared the sizes.
            Some(base) => body(
                base.get().cast::<u8>().wrapping_add(task * self.bytes),
                self.bytes,
            ),
            None => with_thread_buffer(self.bytes, body),
        }
    }
}

#[cfg(not(feature = "std"))]
fn with_thread_buffer<R>(_bytes: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
    body(core::ptr::null_mut(), 0)
}

/// Calls `body` with a block of [`STACK_SCRATCH`] bytes on the stack.
#[inline(never)]
pub(crate) fn with_stack_block<R>(body: impl FnOnce(*mut u8, usize) -> R) -> R {
    let mut block = [MaybeUninit::<u8>::uninit(); STACK_SCRATCH];
    body(block.as_mut_ptr().cast(), STACK_SCRATCH)
}
