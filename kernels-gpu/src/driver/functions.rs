//! The kernels of a context. Each is loaded by its first launch, or before by `preload`.

use super::api::{
    self, Api, DeviceNumber, FunctionHandle, ModuleHandle, StreamHandle, attribute, code,
};
use super::context::{device_attribute, refuse_capture, relaxed};
use super::error::{Error, Result};
use super::image::{self, Images};
use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use diptych::Dtype;
use diptych_device::launch::entry;
use diptych_device::table::Entry;
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};

/// The functions of one context, in the order of the table, for each type; NULL until they are loaded.
pub struct Functions {
    places: Vec<[AtomicPtr<c_void>; Dtype::COUNT]>,
    /// Held while a function is loaded, so that it is loaded once.
    loading: Mutex<()>,
    images: Images,
    /// Bytes of shared memory that a block can have.
    shared: i32,
}

impl Functions {
    /// None of them is loaded.
    pub fn new(api: &Api, device: DeviceNumber) -> Result<Functions> {
        let images = image::choose(api, device)?;
        let shared = device_attribute(api, attribute::MAX_SHARED_PER_BLOCK, device)?;
        let mut places = Vec::new();
        places
            .try_reserve_exact(entry::ALL.len())
            .map_err(|_| Error::OutOfMemory)?;
        places.resize_with(entry::ALL.len(), Default::default);
        Ok(Functions {
            places,
            loading: Mutex::new(()),
            images,
            shared,
        })
    }

    fn place(&self, kernel: &Entry, dtype: Dtype) -> Option<&AtomicPtr<c_void>> {
        self.places.get(kernel.number)?.get(dtype as usize)
    }

    /// An entry's function, if it is loaded.
    pub fn get(&self, kernel: &Entry, dtype: Dtype) -> Option<FunctionHandle> {
        let function = self.place(kernel, dtype)?.load(Ordering::Acquire);
        (!function.is_null()).then_some(function)
    }

    /// An entry's function, loaded unless it is there already or `stream` is being captured. The context must
    /// be the current one.
    #[cold]
    pub fn load(
        &self,
        api: &Api,
        stream: StreamHandle,
        kernel: &Entry,
        dtype: Dtype,
    ) -> Result<FunctionHandle> {
        let _one = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = self.get(kernel, dtype) {
            return Ok(function);
        }
        let entry = self.place(kernel, dtype).zip(kernel.name(dtype));
        let (place, name) = entry.ok_or(Error::Launch {
            code: code::INVALID_HANDLE,
        })?;
        refuse_capture(api, stream)?;
        let function = relaxed(api, || self.load_relaxed(api, name))?;
        place.store(function, Ordering::Release);
        Ok(function)
    }

    fn load_relaxed(&self, api: &Api, name: &str) -> Result<FunctionHandle> {
        let image = image::module(self.images, name).ok_or(Error::Launch {
            code: code::INVALID_HANDLE,
        })?;
        let mut module = ptr::null_mut();
        // SAFETY: the image ends with a zero; there are no options.
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
            // SAFETY: nobody has the module yet.
            unsafe { (api.module_unload)(module) };
        })
    }

    /// A function of a module, with as much shared memory as a block can have.
    fn find(&self, api: &Api, module: ModuleHandle, name: &str) -> Result<FunctionHandle> {
        let name = CString::new(name).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: a module of this context, and a string that ends with a zero; then its function.
        unsafe {
            let code = (api.module_function)(&mut function, module, name.as_ptr());
            Error::check("cuModuleGetFunction", code)?;
            let code = (api.function_attribute)(function, api::MAX_DYNAMIC_SHARED, self.shared);
            Error::check("cuFuncSetAttribute", code)?;
            if let Some(load) = api.function_load {
                // Otherwise the first launch would load it.
                Error::check("cuFuncLoad", load(function))?;
            }
        }
        Ok(function)
    }
}
