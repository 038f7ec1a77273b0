//! The CUDA driver API, loaded at run time: the build needs nothing of CUDA, and a machine without a driver gets an
//! error.

use super::error::Error;
use super::library::Library;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

/// `CUresult`, which every function returns.
pub type Code = c_int;
/// `CUdevice`.
pub type DeviceNumber = c_int;
/// `CUcontext`.
pub type ContextHandle = *mut c_void;
/// `CUmodule`.
pub type ModuleHandle = *mut c_void;
/// `CUfunction`.
pub type FunctionHandle = *mut c_void;
/// `CUstream`.
pub type StreamHandle = *mut c_void;
/// `CUevent`.
pub type EventHandle = *mut c_void;
/// `CUdeviceptr`.
pub type Address = u64;

/// The values of `CUresult` that this crate distinguishes.
pub mod code {
    pub const SUCCESS: i32 = 0;
    pub const OUT_OF_MEMORY: i32 = 2;
    /// Also the answer to a process that was forked after the driver was initialised.
    pub const NOT_INITIALIZED: i32 = 3;
    /// While the process ends.
    pub const DEINITIALIZED: i32 = 4;
    pub const STUB_LIBRARY: i32 = 34;
    pub const NO_DEVICE: i32 = 100;
    pub const INVALID_IMAGE: i32 = 200;
    pub const INVALID_CONTEXT: i32 = 201;
    pub const NO_BINARY_FOR_GPU: i32 = 209;
    pub const INVALID_PTX: i32 = 218;
    pub const JIT_COMPILER_NOT_FOUND: i32 = 221;
    pub const UNSUPPORTED_PTX_VERSION: i32 = 222;
    pub const JIT_COMPILATION_DISABLED: i32 = 223;
    pub const INVALID_SOURCE: i32 = 300;
    pub const INVALID_HANDLE: i32 = 400;
    pub const CONTEXT_IS_DESTROYED: i32 = 709;
    pub const SYSTEM_DRIVER_MISMATCH: i32 = 803;
    pub const STREAM_CAPTURE_UNSUPPORTED: i32 = 900;
    pub const STREAM_CAPTURE_INVALIDATED: i32 = 901;
    pub const STREAM_CAPTURE_IMPLICIT: i32 = 906;

    /// Returns whether a kernel has caused this error, which every later call in the context then reports: an illegal
    /// address, a timeout, an assertion, an illegal instruction and the like.
    pub const fn is_fault(code: i32) -> bool {
        matches!(code, 700 | 702 | 710 | 714..=719)
    }
}

/// The values of `CUdevice_attribute` that this crate queries.
pub mod attribute {
    pub const MULTIPROCESSORS: i32 = 16;
    pub const CAPABILITY_MAJOR: i32 = 75;
    pub const CAPABILITY_MINOR: i32 = 76;
}

/// The values of `CUpointer_attribute` that this crate queries.
pub mod pointer {
    pub const CONTEXT: i32 = 1;
    pub const MEMORY_TYPE: i32 = 2;
    pub const IS_MANAGED: i32 = 8;
    pub const DEVICE_ORDINAL: i32 = 9;
    /// `CU_MEMORYTYPE_DEVICE`, a value of `CUmemorytype`.
    pub const ON_DEVICE: u32 = 2;
}

/// `CU_STREAM_PER_THREAD`, the handle that stands for the default stream of the calling thread.
pub const PER_THREAD_STREAM: usize = 2;
/// `CU_STREAM_CAPTURE_MODE_RELAXED`.
pub const RELAXED_CAPTURE: c_int = 2;

/// The file names of the driver's library, in the order in which they are tried.
const NAMES: &[&CStr] = if cfg!(windows) {
    &[c"nvcuda.dll"]
} else {
    &[c"libcuda.so.1", c"libcuda.so"]
};

macro_rules! api {
    (needed { $($(#[$doc:meta])* $name:ident = $symbol:literal($($arg:ident: $ty:ty),*);)* }
     optional { $($(#[$odoc:meta])* $oname:ident = $osymbol:literal($($oarg:ident: $oty:ty),*);)* }) => {
        /// The functions of the driver.
        pub struct Api {
            $($(#[$doc])* pub $name: unsafe extern "system" fn($($arg: $ty),*) -> Code,)*
            $($(#[$odoc])* pub $oname: Option<unsafe extern "system" fn($($oarg: $oty),*) -> Code>,)*
        }

        impl Api {
            /// Looks up the functions in a library.
            ///
            /// # Safety
            /// They must have the types of the CUDA driver's functions.
            unsafe fn find(library: &Library) -> Result<Api, Error> {
                // SAFETY: as the caller's.
                unsafe {
                    Ok(Api {
                        $($name: library.get(name(concat!($symbol, "\0")))
                            .ok_or(Error::DriverTooOld { missing: $symbol })?,)*
                        $($oname: library.get(name(concat!($osymbol, "\0"))),)*
                    })
                }
            }
        }
    };
}

api! {
needed {
    init = "cuInit"(flags: c_uint);
    driver_version = "cuDriverGetVersion"(version: *mut c_int);
    device_count = "cuDeviceGetCount"(count: *mut c_int);
    device_get = "cuDeviceGet"(device: *mut DeviceNumber, ordinal: c_int);
    device_attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: DeviceNumber);
    device_name = "cuDeviceGetName"(name: *mut c_char, capacity: c_int, device: DeviceNumber);
    primary_retain = "cuDevicePrimaryCtxRetain"(context: *mut ContextHandle, device: DeviceNumber);
    primary_release = "cuDevicePrimaryCtxRelease_v2"(device: DeviceNumber);
    primary_state = "cuDevicePrimaryCtxGetState"(device: DeviceNumber, flags: *mut c_uint, active: *mut c_int);
    context_current = "cuCtxGetCurrent"(context: *mut ContextHandle);
    context_set = "cuCtxSetCurrent"(context: ContextHandle);
    context_device = "cuCtxGetDevice"(device: *mut DeviceNumber);
    module_load = "cuModuleLoadDataEx"(module: *mut ModuleHandle, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void);
    module_unload = "cuModuleUnload"(module: ModuleHandle);
    module_function = "cuModuleGetFunction"(function: *mut FunctionHandle, module: ModuleHandle, name: *const c_char);
    launch = "cuLaunchKernel"(function: FunctionHandle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: StreamHandle, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    stream_create = "cuStreamCreate"(stream: *mut StreamHandle, flags: c_uint);
    stream_destroy = "cuStreamDestroy_v2"(stream: StreamHandle);
    stream_synchronize = "cuStreamSynchronize"(stream: StreamHandle);
    stream_is_capturing = "cuStreamIsCapturing"(stream: StreamHandle, status: *mut c_int);
    capture_mode = "cuThreadExchangeStreamCaptureMode"(mode: *mut c_int);
    event_create = "cuEventCreate"(event: *mut EventHandle, flags: c_uint);
    event_destroy = "cuEventDestroy_v2"(event: EventHandle);
    event_record = "cuEventRecord"(event: EventHandle, stream: StreamHandle);
    event_synchronize = "cuEventSynchronize"(event: EventHandle);
    event_elapsed = "cuEventElapsedTime"(milliseconds: *mut f32, from: EventHandle, to: EventHandle);
    memory_allocate = "cuMemAlloc_v2"(address: *mut Address, bytes: usize);
    memory_free = "cuMemFree_v2"(address: Address);
    memory_info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
    pinned_allocate = "cuMemHostAlloc"(pointer: *mut *mut c_void, bytes: usize, flags: c_uint);
    pinned_free = "cuMemFreeHost"(pointer: *mut c_void);
    copy = "cuMemcpyAsync"(to: Address, from: Address, bytes: usize, stream: StreamHandle);
    fill_words = "cuMemsetD32Async"(address: Address, value: c_uint, count: usize, stream: StreamHandle);
    pointer_attributes = "cuPointerGetAttributes"(count: c_uint, attributes: *mut c_int, values: *mut *mut c_void, pointer: Address);
}
optional {
    /// Since CUDA 12.0: a number that is unique among all contexts of the process, past ones included.
    context_id = "cuCtxGetId"(context: ContextHandle, id: *mut u64);
    /// Since CUDA 12.4.
    function_load = "cuFuncLoad"(function: FunctionHandle);
}
}

/// Converts a name that ends with a NUL.
fn name(text: &'static str) -> &'static CStr {
    CStr::from_bytes_with_nul(text.as_bytes()).unwrap_or_default()
}

impl Api {
    /// Returns the driver's functions. The first call loads the library and initialises the driver.
    ///
    /// # Errors
    /// `NoDriver`, `DriverTooOld`, `NoDevice`: the same on every call of the process. `Driver` if the driver cannot be
    /// initialised now; the next call tries again.
    #[inline]
    pub fn get() -> Result<&'static Api, Error> {
        static API: OnceLock<Result<Api, Error>> = OnceLock::new();
        match API.get() {
            Some(Ok(api)) => Ok(api),
            Some(Err(error)) => Err(*error),
            None => Api::load_into(&API),
        }
    }

    /// Loads the library before it takes the lock. `dlopen` waits for the loader's lock, and the thread that holds that
    /// may be running a library constructor that waits here: with our lock held this would be a deadlock. Several
    /// threads may load at once; they get the same result.
    #[cold]
    fn load_into(cell: &'static OnceLock<Result<Api, Error>>) -> Result<&'static Api, Error> {
        let loaded = Api::load();
        if let Err(error @ Error::Driver { .. }) = loaded {
            return Err(error);
        }
        cell.get_or_init(|| loaded).as_ref().map_err(|error| *error)
    }

    fn load() -> Result<Api, Error> {
        // SAFETY: the CUDA driver's library may be loaded at any time.
        let open = |name: &&CStr| unsafe { Library::open(name) };
        let library = NAMES.iter().find_map(open).ok_or(Error::NoDriver)?;
        // SAFETY: the functions of the CUDA driver keep their types in all versions.
        let api = unsafe { Api::find(&library) }?;
        // SAFETY: `cuInit` is the first call to the driver, as it requires.
        match unsafe { (api.init)(0) } {
            code::SUCCESS => {}
            code::NO_DEVICE => return Err(Error::NoDevice),
            code::STUB_LIBRARY => return Err(Error::NoDriver),
            code::SYSTEM_DRIVER_MISMATCH => return Err(Error::DriverTooOld { missing: "cuInit" }),
            code => {
                return Err(Error::Driver {
                    call: "cuInit",
                    code,
                });
            }
        }
        let mut devices = 0;
        // SAFETY: the driver is initialised, and the out pointer is valid.
        let code = unsafe { (api.device_count)(&mut devices) };
        Error::check("cuDeviceGetCount", code)?;
        if devices == 0 {
            return Err(Error::NoDevice);
        }
        Ok(api)
    }
}
