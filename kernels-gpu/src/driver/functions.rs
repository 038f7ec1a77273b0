//! The kernels of a context. A kernel is loaded by its first launch, or earlier by `preload`.

use super::api::{Api, DeviceNumber, FunctionHandle, ModuleHandle, StreamHandle, code};
use super::context::{refuse_capture, with_relaxed_capture};
use super::error::{Error, Result};
use super::image::{Images, module};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use diptych::Dtype;
use diptych_device::launch::entry;
use diptych_device::table::Entry;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The kernels that have been loaded into one context.
pub struct Functions {
    /// For each kernel in the order of the table, and each element type, its `CUfunction`; NULL until it is loaded.
    handles: Vec<[AtomicPtr<c_void>; Dtype::COUNT]>,
    /// Held while a function is loaded, so that it is loaded once.
    loading: Mutex<()>,
    images: Images,
}

impl Functions {
    /// Makes the table of a context, with no kernel loaded.
    pub fn new(api: &Api, device: DeviceNumber) -> Result<Functions> {
        let images = Images::choose(api, device)?;
        let mut handles = Vec::new();
        handles
            .try_reserve_exact(entry::ALL.len())
            .map_err(|_| Error::OutOfMemory)?;
        handles.resize_with(entry::ALL.len(), Default::default);
        Ok(Functions {
            handles,
            loading: Mutex::new(()),
            images,
        })
    }

    fn handle(&self, kernel: &Entry, dtype: Dtype) -> Option<&AtomicPtr<c_void>> {
        self.handles.get(kernel.number)?.get(dtype as usize)
    }

    /// Returns the function of a kernel, if it is loaded.
    pub fn get(&self, kernel: &Entry, dtype: Dtype) -> Option<FunctionHandle> {
        let function = self.handle(kernel, dtype)?.load(Ordering::Acquire);
        (!function.is_null()).then_some(function)
    }

    /// Loads a kernel, unless another thread already has, and returns its function. Refused while `stream` is being
    /// captured. The context must be the current one.
    #[cold]
    pub fn load(
        &self,
        api: &Api,
        stream: StreamHandle,
        kernel: &Entry,
        dtype: Dtype,
    ) -> Result<FunctionHandle> {
        let _guard = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = self.get(kernel, dtype) {
            return Ok(function);
        }
        let entry = self.handle(kernel, dtype).zip(kernel.name(dtype));
        let (handle, name) = entry.ok_or(Error::Launch {
            code: code::INVALID_HANDLE,
        })?;
        refuse_capture(api, stream)?;
        let function = with_relaxed_capture(api, || self.load_code(api, name))?;
        handle.store(function, Ordering::Release);
        Ok(function)
    }

    /// Loads the cubin of a kernel if there is one and the driver takes it, else its PTX; returns the kernel's function.
    fn load_code(&self, api: &Api, name: &str) -> Result<FunctionHandle> {
        if let Some(cubin) = module(self.images.cubins, name) {
            let done = self.load_module(api, name, &cubin);
            if !done.is_err_and(Error::refuses_code) {
                return done;
            }
        }
        let ptx = module(self.images.ptx, name).ok_or(Error::Launch {
            code: code::INVALID_HANDLE,
        })?;
        self.load_module(api, name, &ptx)
    }

    /// Loads a module, and returns the function of its kernel.
    fn load_module(&self, api: &Api, name: &str, image: &[u8]) -> Result<FunctionHandle> {
        let mut module = ptr::null_mut();
        // SAFETY: a cubin, whose header has its size, or PTX that ends with a NUL; there are no options; the out pointer is
        // valid.
        let code = unsafe {
            (api.module_load)(
                &mut module,
                image.as_ptr().cast(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        Error::check("cuModuleLoadDataEx", code)?;
        self.find(api, module, name).inspect_err(|_| {
            // SAFETY: nothing refers to the module yet.
            unsafe { (api.module_unload)(module) };
        })
    }

    /// Returns a function of a module. No kernel takes more shared memory than the 48 KiB that need no attribute.
    fn find(&self, api: &Api, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        let name = CString::new(name).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: a module of this context, a string that ends with a NUL, and a function of that module.
        unsafe {
            let code = (api.module_function)(&mut function, module, name.as_ptr());
            Error::check("cuModuleGetFunction", code)?;
            if let Some(load) = api.function_load {
                // Otherwise, with lazy loading, the driver would load it at the first launch.
                Error::check("cuFuncLoad", load(function))?;
            }
        }
        Ok(function)
    }
}
