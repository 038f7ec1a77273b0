//! Arrays in device memory, and in pinned host memory.

use super::context::{Context, Stream};
use crate::Result;
use crate::driver::memory;
use core::ops::{Deref, DerefMut};
use core::{ptr, slice};
use diptych::Error;

/// What buffers hold.
///
/// # Safety
/// Every pattern of bits is a value, the zero one is 0, and nothing is dropped.
pub unsafe trait Item: Copy + 'static {}
// SAFETY: numbers.
unsafe impl Item for f32 {}
// SAFETY: numbers.
unsafe impl Item for f64 {}
// SAFETY: numbers.
unsafe impl Item for i64 {}
// SAFETY: numbers.
unsafe impl Item for u8 {}

fn bytes<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>());
    Ok(bytes.ok_or(Error::SizeOverflow { arg: "len" })?)
}

/// An array in device memory, for the work of one stream.
pub struct DeviceBuffer<'s, T: Item> {
    stream: &'s Stream,
    start: *mut T,
    len: usize,
}

impl<'s, T: Item> DeviceBuffer<'s, T> {
    /// A copy of `values`.
    ///
    /// # Errors
    /// `OutOfMemory`; what the driver says.
    pub fn from_slice(stream: &'s Stream, values: &[T]) -> Result<Self> {
        stream.enter()?;
        let start = memory::allocate(bytes::<T>(values.len())?)?.cast();
        let mut buffer = DeviceBuffer {
            stream,
            start,
            len: values.len(),
        };
        buffer.copy_from(values)?;
        Ok(buffer)
    }

    /// So many zeros.
    ///
    /// # Errors
    /// `OutOfMemory`; what the driver says.
    pub fn zeros(stream: &'s Stream, len: usize) -> Result<Self> {
        let queue = stream.enter()?;
        // The driver sets whole words.
        let words = bytes::<T>(len)?.div_ceil(size_of::<u32>());
        let start: *mut T = memory::allocate(words.saturating_mul(size_of::<u32>()))?.cast();
        let buffer = DeviceBuffer { stream, start, len };
        // SAFETY: so many words, which this stream alone uses.
        unsafe { memory::zero(queue, words, start.cast())? };
        Ok(buffer)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes `values`, as many as it holds, after the work that is in the stream; waits for it.
    ///
    /// # Errors
    /// `ShapeMismatch`; what the driver says.
    pub fn copy_from(&mut self, values: &[T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::ShapeMismatch { arg: "values" }.into());
        }
        let size = size_of_val(values);
        // SAFETY: both have so many bytes, and the copy is waited for.
        unsafe {
            memory::copy(
                self.stream.enter()?,
                size,
                values.as_ptr().cast(),
                self.start.cast(),
            )?
        };
        self.stream.synchronize()
    }

    /// Reads all elements, after the work that is in the stream; waits for it.
    ///
    /// # Errors
    /// `ShapeMismatch`; what the driver says, also of that work.
    pub fn copy_to(&self, values: &mut [T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::ShapeMismatch { arg: "values" }.into());
        }
        let size = size_of_val(values);
        // SAFETY: both have so many bytes, and the copy is waited for.
        unsafe {
            memory::copy(
                self.stream.enter()?,
                size,
                self.start.cast(),
                values.as_mut_ptr().cast(),
            )?;
        }
        self.stream.synchronize()
    }

    pub(super) fn stream(&self) -> &'s Stream {
        self.stream
    }

    pub(super) fn pointer(&self) -> *mut T {
        self.start
    }
}

impl<T: Item> Drop for DeviceBuffer<'_, T> {
    fn drop(&mut self) {
        if self.stream.enter().is_ok() {
            // SAFETY: from `allocate`; the driver frees after the work that uses it.
            let _ = unsafe { memory::free(self.start.cast()) };
        }
    }
}

/// An array in pinned host memory: copies of it are faster.
pub struct PinnedBuffer<T: Item> {
    start: *mut T,
    len: usize,
}

impl<T: Item> PinnedBuffer<T> {
    /// So many zeros.
    ///
    /// # Errors
    /// `OutOfMemory`; what the driver says.
    pub fn zeros(context: &Context, len: usize) -> Result<Self> {
        context.make_current()?;
        let size = bytes::<T>(len)?;
        let start = memory::allocate_pinned(size)?;
        // SAFETY: so many bytes.
        unsafe { ptr::write_bytes(start.cast::<u8>(), 0, size) };
        Ok(PinnedBuffer {
            start: start.cast(),
            len,
        })
    }
}

impl<T: Item> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: so many values, which were zeroed when it was made.
        unsafe { slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Item> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T: Item> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: from `allocate_pinned`; copies of buffers are waited for. A failure leaves nothing to do.
        let _ = unsafe { memory::free_pinned(self.start.cast()) };
    }
}
