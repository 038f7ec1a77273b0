//! Status codes.
use core::ffi::{CStr, c_char};

/// The result of a function that can fail: one of the values of dpt_status_code.
///
/// 0 is success. 1 to 99 are mistakes of the caller, found before any memory is written, with two
/// exceptions: a parallel_for that leaves out or repeats tasks is found afterwards
/// (DPT_INVALID_VALUE; the output is then undefined), and dpt_pool_create has written NULL to *out.
/// 100 to 199 come from the environment, 200 to 299 from the device.
pub type dpt_status = i32;

/// The values of dpt_status. Later versions may add some: treat an unknown value as a failure.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_status_code {
    /// Success.
    DPT_OK = 0,
    /// A pointer is NULL, although the call reads or writes through it.
    DPT_NULL_POINTER = 1,
    /// An address is not a multiple of the size of the elements.
    DPT_MISALIGNED = 2,
    /// A size is negative.
    DPT_NEGATIVE_SIZE = 3,
    /// Sizes and strides describe more memory than an address space has.
    DPT_SIZE_OVERFLOW = 4,
    /// An output overlaps itself, or overlaps an input without being exactly that input where the
    /// function allows it.
    DPT_OVERLAP = 5,
    /// The reduction of no elements has no value.
    DPT_EMPTY_REDUCTION = 6,
    /// An argument has a value outside its range.
    DPT_INVALID_VALUE = 7,
    /// A device, level or bias kind that this version does not know.
    DPT_UNKNOWN_ENUM = 8,
    /// A flag that this version does not know.
    DPT_UNKNOWN_FLAG = 9,
    /// The struct_size of a struct is not the size that this version knows.
    DPT_BAD_STRUCT_SIZE = 10,
    /// The workspace is smaller than the workspace query says or the call needs, or the call needs
    /// more scratch memory than the library's own. (A call that has nothing to compute may accept
    /// a small workspace, and so may a product on the GPU.)
    DPT_WORKSPACE_TOO_SMALL = 11,
    /// Shapes of tensors do not fit each other.
    DPT_SHAPE_MISMATCH = 12,
    /// A tensor has another type of elements than the operation needs beside the others.
    DPT_TYPE_MISMATCH = 13,
    /// The operation does not take tensors with this type of elements.
    DPT_UNSUPPORTED_TYPE = 14,
    /// A packed matrix has the layout of another CPU level, of other instructions or of another
    /// version.
    DPT_PACKED_LAYOUT = 15,
    /// Memory for a pool, dpt_advise_measure or dpt_fingerprint could not be allocated. No operation
    /// returns it.
    DPT_OUT_OF_MEMORY = 100,
    /// The machine lacks the CPU level that was asked for.
    DPT_LEVEL_UNAVAILABLE = 101,
    /// The operating system refused to create threads.
    DPT_THREADS_UNAVAILABLE = 102,
    /// This build of the library cannot do it, or not in this memory.
    DPT_UNSUPPORTED = 103,
    /// A device was asked for, but this build or this machine has none.
    DPT_NO_DEVICE = 200,
    /// There is no CUDA driver.
    DPT_NO_DRIVER = 201,
    /// The CUDA driver lacks a function, or cannot read the device code.
    DPT_DRIVER_TOO_OLD = 202,
    /// The device is older than compute capability 7.5.
    DPT_DEVICE_TOO_OLD = 203,
    /// The call runs on the device, but a pointer points to host memory.
    DPT_HOST_POINTER = 204,
    /// DPT_DEVICE_AUTO: some pointers point to host memory, others to device memory.
    DPT_MIXED_POINTERS = 205,
    /// Memory or a stream belongs to another CUDA context than the current one.
    DPT_WRONG_CONTEXT = 206,
    /// dpt_cuda_preload has not run in this context, but the call needs it: for scratch memory, or
    /// for a kernel that is not loaded yet while the stream is being captured.
    DPT_NOT_PRELOADED = 207,
    /// All of the library's scratch blocks belong to other streams: give the call a workspace, or
    /// release the block of another stream with dpt_cuda_release.
    DPT_SCRATCH_TAKEN = 208,
    /// Device memory could not be allocated.
    DPT_DEVICE_OUT_OF_MEMORY = 209,
    /// The CUDA driver refused a launch.
    DPT_LAUNCH_FAILED = 210,
    /// Another function of the CUDA driver failed, or work that was launched earlier did.
    DPT_DRIVER_FAILED = 211,
}

use dpt_status_code::*;

pub(crate) const OK: dpt_status = DPT_OK as dpt_status;

fn text(status: dpt_status) -> &'static CStr {
    const CODES: [(dpt_status_code, &CStr); 32] = [
        (DPT_OK, c"success"),
        (DPT_NULL_POINTER, c"a pointer is NULL"),
        (DPT_MISALIGNED, c"a pointer is not aligned to its elements"),
        (DPT_NEGATIVE_SIZE, c"a size is negative"),
        (DPT_SIZE_OVERFLOW, c"sizes and strides overflow"),
        (DPT_OVERLAP, c"an output overlaps an input or itself"),
        (
            DPT_EMPTY_REDUCTION,
            c"a reduction of no elements has no value",
        ),
        (DPT_INVALID_VALUE, c"an argument is outside its range"),
        (DPT_UNKNOWN_ENUM, c"unknown device, level or bias kind"),
        (DPT_UNKNOWN_FLAG, c"unknown flag"),
        (DPT_BAD_STRUCT_SIZE, c"wrong struct_size"),
        (DPT_WORKSPACE_TOO_SMALL, c"the workspace is too small"),
        (DPT_SHAPE_MISMATCH, c"shapes do not fit each other"),
        (DPT_TYPE_MISMATCH, c"element types do not fit each other"),
        (
            DPT_UNSUPPORTED_TYPE,
            c"the operation does not take this element type",
        ),
        (
            DPT_PACKED_LAYOUT,
            c"a packed matrix has the layout of another CPU level or version",
        ),
        (DPT_OUT_OF_MEMORY, c"out of memory"),
        (
            DPT_LEVEL_UNAVAILABLE,
            c"the CPU level is not available on this machine",
        ),
        (DPT_THREADS_UNAVAILABLE, c"threads are not available"),
        (DPT_UNSUPPORTED, c"not supported by this build"),
        (DPT_NO_DEVICE, c"no device"),
        (DPT_NO_DRIVER, c"no CUDA driver"),
        (DPT_DRIVER_TOO_OLD, c"the CUDA driver is too old"),
        (DPT_DEVICE_TOO_OLD, c"the device is too old"),
        (DPT_HOST_POINTER, c"a pointer is of host memory"),
        (
            DPT_MIXED_POINTERS,
            c"some pointers are of host memory, others of device memory",
        ),
        (DPT_WRONG_CONTEXT, c"not of the current CUDA context"),
        (DPT_NOT_PRELOADED, c"dpt_cuda_preload is needed before"),
        (
            DPT_SCRATCH_TAKEN,
            c"no scratch block left: a workspace is needed",
        ),
        (DPT_DEVICE_OUT_OF_MEMORY, c"out of device memory"),
        (DPT_LAUNCH_FAILED, c"the CUDA driver refused a launch"),
        (DPT_DRIVER_FAILED, c"a CUDA driver function failed"),
    ];
    CODES
        .iter()
        .find(|(code, _)| *code as dpt_status == status)
        .map_or(c"unknown status", |(_, text)| text)
}

/// Returns a short text for a status, for example "a pointer is NULL", or "unknown status" for a
/// value that this version does not know. The text is constant and lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_status_string(status: dpt_status) -> *const c_char {
    text(status).as_ptr()
}
