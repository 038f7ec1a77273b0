//! Helpers of the tests: an exec, checks of a status and its text, arrays on the device.

use core::ffi::{CStr, c_void};
use core::ptr;
use diptych_ffi::{
    dpt_cuda_alloc, dpt_cuda_free, dpt_device, dpt_exec, dpt_last_error, dpt_status,
    dpt_status_code,
};

/// Returns an exec for the device, on this stream.
pub fn on_stream(stream: usize) -> dpt_exec {
    dpt_exec {
        struct_size: size_of::<dpt_exec>(),
        device: dpt_device::DPT_DEVICE_CUDA as i32,
        flags: 0,
        stream: ptr::without_provenance_mut(stream),
        workspace: ptr::null_mut(),
        workspace_size: 0,
        parallel_for: None,
        pool: ptr::null_mut(),
        max_threads: 0,
        reserved: 0,
    }
}

/// Returns an exec for the device, on the default stream.
pub fn cuda() -> dpt_exec {
    on_stream(0)
}

/// Returns an exec that selects CPU or device by the pointers.
pub fn auto() -> dpt_exec {
    dpt_exec {
        device: dpt_device::DPT_DEVICE_AUTO as i32,
        ..cuda()
    }
}

/// Returns the text of the last failure.
pub fn text() -> String {
    // SAFETY: the library's own C string.
    unsafe { CStr::from_ptr(dpt_last_error()) }
        .to_str()
        .expect("text")
        .to_owned()
}

/// Panics unless the status is `code` and its text contains `words`.
#[track_caller]
pub fn refused(status: dpt_status, code: dpt_status_code, words: &str) {
    assert_eq!(status, code as dpt_status, "{}", text());
    assert!(text().contains(words), "{:?} lacks {words:?}", text());
}

/// Panics unless the call succeeded.
#[track_caller]
pub fn fine(status: dpt_status) {
    assert_eq!(status, 0, "{}", text());
}

/// An array in device memory, which is host memory of the fake driver.
pub struct Array<T> {
    start: *mut c_void,
    count: usize,
    _element: core::marker::PhantomData<T>,
}

impl<T: Copy> Array<T> {
    pub fn new(values: &[T]) -> Self {
        let mut start = ptr::null_mut();
        // SAFETY: a valid pointer to the result.
        fine(unsafe { dpt_cuda_alloc(size_of_val(values), &mut start) });
        // SAFETY: the allocation has room for the elements, and is host memory.
        unsafe { ptr::copy_nonoverlapping(values.as_ptr(), start.cast(), values.len()) };
        Array {
            start,
            count: values.len(),
            _element: core::marker::PhantomData,
        }
    }
    pub fn pointer(&self) -> *mut T {
        self.start.cast()
    }
    pub fn values(&self) -> Vec<T> {
        // SAFETY: initialised by `new`, in host memory.
        unsafe { core::slice::from_raw_parts(self.pointer(), self.count) }.to_vec()
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: from `dpt_cuda_alloc`; all launches have finished.
        unsafe { dpt_cuda_free(self.start) };
    }
}
