//! Arrays in device memory and in pinned host memory.

use super::context::{Context, Stream};
use crate::Result;
use crate::driver::memory;
use core::ops::{Deref, DerefMut};
use core::{ptr, slice};
use diptych::Error;

/// An element type of buffers.
///
/// # Safety
/// Every bit pattern must be a valid value, all bits zero must be the value 0, and the type must not need dropping.
pub unsafe trait Item: Copy + 'static {}
// SAFETY: a plain number.
unsafe impl Item for f32 {}
// SAFETY: a plain number.
unsafe impl Item for f64 {}
// SAFETY: a plain number.
unsafe impl Item for i64 {}
// SAFETY: a plain number.
unsafe impl Item for u8 {}

/// Returns the bytes of `len` elements.
fn bytes<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>());
    Ok(bytes.ok_or(Error::SizeOverflow { arg: "len" })?)
}

/// An array in device memory that is used on one stream only.
pub struct DeviceBuffer<'s, T: Item> {
    stream: &'s Stream,
    start: *mut T,
    len: usize,
}

impl<'s, T: Item> DeviceBuffer<'s, T> {
    /// Allocates a buffer with a copy of `values`.
    ///
    /// # Errors
    /// `OutOfMemory`; errors of the driver.
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

    /// Allocates a buffer of `len` zeros.
    ///
    /// # Errors
    /// `OutOfMemory`; errors of the driver.
    pub fn zeros(stream: &'s Stream, len: usize) -> Result<Self> {
        let handle = stream.enter()?;
        // `cuMemsetD32Async` sets whole 32-bit words.
        let words = bytes::<T>(len)?.div_ceil(size_of::<u32>());
        let start: *mut T = memory::allocate(words.saturating_mul(size_of::<u32>()))?.cast();
        let buffer = DeviceBuffer { stream, start, len };
        // SAFETY: the allocation has `words` words, and only this stream uses it.
        unsafe { memory::zero(handle, words, start.cast())? };
        Ok(buffer)
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies `values` into the buffer, which must have the same length. The copy runs in stream order, and this
    /// function waits for it.
    ///
    /// # Errors
    /// `ShapeMismatch`; errors of the driver.
    pub fn copy_from(&mut self, values: &[T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::ShapeMismatch { arg: "values" }.into());
        }
        let size = size_of_val(values);
        // SAFETY: both have `size` bytes, and the copy is waited for.
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

    /// Copies all elements into `values`, which must have the same length. The copy runs in stream order, and this
    /// function waits for it.
    ///
    /// # Errors
    /// `ShapeMismatch`; errors of the driver, including those of earlier work in the stream.
    pub fn copy_to(&self, values: &mut [T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::ShapeMismatch { arg: "values" }.into());
        }
        let size = size_of_val(values);
        // SAFETY: both have `size` bytes, and the copy is waited for.
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
            // SAFETY: from `allocate`; the driver frees it after the work that uses it.
            let _ = unsafe { memory::free(self.start.cast()) };
        }
    }
}

/// An array in pinned host memory, which is copied to and from the device faster than pageable memory.
pub struct PinnedBuffer<T: Item> {
    start: *mut T,
    len: usize,
}

impl<T: Item> PinnedBuffer<T> {
    /// Allocates a buffer of `len` zeros.
    ///
    /// # Errors
    /// `OutOfMemory`; errors of the driver.
    pub fn zeros(context: &Context, len: usize) -> Result<Self> {
        context.make_current()?;
        let size = bytes::<T>(len)?;
        let start = memory::allocate_pinned(size)?;
        // SAFETY: the allocation has `size` bytes.
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
        // SAFETY: the allocation has `len` values, which `zeros` initialised.
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
        // SAFETY: from `allocate_pinned`; all copies of buffers have been waited for. A failure cannot be handled.
        let _ = unsafe { memory::free_pinned(self.start.cast()) };
    }
}
