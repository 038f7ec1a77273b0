//! The structures of DLPack 1.x: managed tensors, and the exchange API of 1.3.
//!
//! A managed tensor is memory with a deleter. A type with an exchange API (PyTorch's) gives its tensors without
//! one, borrowed, and makes tensors of its own from managed ones.

use std::ffi::{CStr, c_char, c_int, c_void};

use diptych::tensor::Tensor;

pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;
pub const CUDA_HOST: i32 = 3;
pub const CUDA_MANAGED: i32 = 13;

/// The name of a capsule that holds a [`ManagedVersioned`] that nobody has taken yet.
pub const VERSIONED: &CStr = c"dltensor_versioned";
/// The name of a capsule that holds a [`Managed`] that nobody has taken yet.
pub const LEGACY: &CStr = c"dltensor";
/// The name of the capsule with the exchange API of a type.
pub const EXCHANGE_API: &CStr = c"dlpack_exchange_api";

/// The flag of memory that must not be written.
pub const READ_ONLY: u64 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

#[repr(C)]
pub struct ManagedVersioned {
    pub version: Version,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    pub flags: u64,
    pub tensor: Tensor,
}

#[repr(C)]
pub struct Managed {
    pub tensor: Tensor,
    pub context: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// The exchange API of a type. Functions return 0, or -1 with a Python exception set (the allocator: after a call of
/// its `SetError`).
#[repr(C)]
pub struct ExchangeApi {
    pub version: Version,
    pub previous: *const ExchangeApi,
    pub allocate: Option<
        unsafe extern "C" fn(
            *mut Tensor,
            *mut *mut ManagedVersioned,
            *mut c_void,
            SetError,
        ) -> c_int,
    >,
    pub managed_from_object:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedVersioned) -> c_int>,
    pub managed_to_object:
        Option<unsafe extern "C" fn(*mut ManagedVersioned, *mut *mut c_void) -> c_int>,
    /// May be absent.
    pub borrowed_from_object: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor) -> c_int>,
    pub current_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

impl ExchangeApi {
    /// Returns the table of major version 1 in the chain that begins at `api`.
    ///
    /// # Safety
    /// `api` is null or what a capsule [`EXCHANGE_API`] holds.
    pub unsafe fn supported(mut api: *const ExchangeApi) -> Option<&'static ExchangeApi> {
        // SAFETY: the header keeps its layout in all versions, and tables live as long as the process.
        unsafe {
            while let Some(table) = api.as_ref() {
                if table.version.major == 1 {
                    return Some(table);
                }
                api = table.previous;
            }
        }
        None
    }
}

/// Returns the name of a device for error texts.
pub fn device_name(kind: i32) -> &'static str {
    match kind {
        CPU => "CPU",
        CUDA => "CUDA",
        CUDA_HOST => "pinned CUDA host",
        8 => "Metal",
        10 => "ROCm",
        CUDA_MANAGED => "managed CUDA",
        14 => "oneAPI",
        _ => "foreign device",
    }
}
