//! Memory on the stack.

use core::mem::MaybeUninit;

/// Bytes on the stack that begin at a cache line and are not initialised.
#[repr(C, align(64))]
pub struct AlignedBytes<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> AlignedBytes<BYTES> {
    #[inline(always)]
    pub const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    /// Returns the first byte.
    #[inline(always)]
    pub const fn start<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}
