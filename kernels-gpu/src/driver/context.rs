//! What the library keeps for each context: the device code, and scratch memory for calls without a
//! workspace. Made by the first call in the context, or before by `preload`.

use super::api::{
    self, Address, Api, ContextHandle, DeviceNumber, FunctionHandle, ModuleHandle, StreamHandle,
    attribute, code,
};
use super::error::{Error, Result};
use super::image;
use super::scratch::Slots;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use diptych_device::launch::entry;
use diptych_device::table::Entry;
use std::ffi::CString;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A context and what was loaded into it.
pub struct Loaded {
    pub api: &'static Api,
    pub context: ContextHandle,
    pub device: DeviceNumber,
    pub multiprocessors: u32,
    pub slots: Slots,
    functions: Vec<[FunctionHandle; 2]>,
}

// SAFETY: handles of the driver may be used by all threads.
unsafe impl Send for Loaded {}
// SAFETY: as above; the rest is never changed, or atomic.
unsafe impl Sync for Loaded {}

/// What tells a context from all others: its handle and, where the driver gives one, a number that is
/// never given twice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(ContextHandle, u64);

// SAFETY: compared, never followed.
unsafe impl Send for Key {}

/// All contexts that calls have met. What was loaded into a context goes with it; the few bytes here stay.
static ALL: Mutex<Vec<(Key, &'static Loaded)>> = Mutex::new(Vec::new());

std::thread_local! {
    /// The context that the thread used last.
    static LAST: Cell<Option<(Key, &'static Loaded)>> = const { Cell::new(None) };
}

impl Loaded {
    /// Of the calling thread's current context, which is the primary context of device 0 where there is
    /// none. It is loaded unless it has been or `stream` is being captured.
    pub fn current(api: &'static Api, stream: StreamHandle) -> Result<&'static Loaded> {
        let key = Key::current(api)?;
        if let Some((_, loaded)) = LAST.get().filter(|(last, _)| *last == key) {
            return Ok(loaded);
        }
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match all.iter().find(|(known, _)| *known == key) {
            Some((_, loaded)) => *loaded,
            None => {
                refuse_capture(api, stream)?;
                all.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                let loaded: &'static Loaded = Box::leak(Box::new(Loaded::load(api, key.0)?));
                // A destroyed context may have had the same handle.
                all.retain(|(known, _)| known.0 != key.0);
                all.push((key, loaded));
                loaded
            }
        };
        LAST.set(Some((key, loaded)));
        Ok(loaded)
    }

    /// The function of an entry.
    pub fn function(&self, kernel: &'static Entry, index: usize) -> Result<FunctionHandle> {
        let functions = self.functions.get(kernel.number);
        functions
            .and_then(|both| both.get(index))
            .copied()
            .ok_or(Error::Launch {
                code: code::INVALID_HANDLE,
            })
    }

    fn load(api: &'static Api, context: ContextHandle) -> Result<Loaded> {
        // Another thread may be capturing: in the default mode of captures loading would break it.
        let mut mode = api::RELAXED_CAPTURE;
        // SAFETY: the mode is put back below.
        Error::check("cuThreadExchangeStreamCaptureMode", unsafe {
            (api.capture_mode)(&mut mode)
        })?;
        let loaded = Loaded::load_relaxed(api, context);
        // SAFETY: the mode that was.
        unsafe { (api.capture_mode)(&mut mode) };
        loaded
    }

    fn load_relaxed(api: &'static Api, context: ContextHandle) -> Result<Loaded> {
        let mut device = 0;
        // SAFETY: a context is current, and the place is there.
        Error::check("cuCtxGetDevice", unsafe {
            (api.context_device)(&mut device)
        })?;
        let image = image::choose(api, device)?;
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
        let rest = || {
            Ok(Loaded {
                api,
                context,
                device,
                multiprocessors: device_attribute(api, attribute::MULTIPROCESSORS, device)?.max(1)
                    as u32,
                functions: functions(api, module, device)?,
                slots: Slots::allocate(api)?,
            })
        };
        rest().inspect_err(|_| {
            // SAFETY: nobody has the module yet.
            unsafe { (api.module_unload)(module) };
        })
    }
}

/// The functions of a module, in the order of the table, with as much shared memory as a block can have.
fn functions(
    api: &Api,
    module: ModuleHandle,
    device: DeviceNumber,
) -> Result<Vec<[FunctionHandle; 2]>> {
    let shared = device_attribute(api, attribute::MAX_SHARED_PER_BLOCK, device)?;
    let mut all = Vec::new();
    all.try_reserve_exact(entry::ALL.len())
        .map_err(|_| Error::OutOfMemory)?;
    for entry in entry::ALL {
        let mut both = [ptr::null_mut(); 2];
        for (function, name) in both.iter_mut().zip(entry.names) {
            let name = CString::new(name).unwrap_or_default();
            // SAFETY: a module of this context, and a string that ends with a zero.
            let code = unsafe { (api.module_function)(function, module, name.as_ptr()) };
            Error::check("cuModuleGetFunction", code)?;
            // SAFETY: a function of this context.
            let code =
                unsafe { (api.function_attribute)(*function, api::MAX_DYNAMIC_SHARED, shared) };
            Error::check("cuFuncSetAttribute", code)?;
            if let Some(load) = api.function_load {
                // SAFETY: as above. Otherwise the first launch would load it.
                Error::check("cuFuncLoad", unsafe { load(*function) })?;
            }
        }
        all.push(both);
    }
    Ok(all)
}

impl Key {
    pub fn current(api: &'static Api) -> Result<Key> {
        let mut context = ptr::null_mut();
        // SAFETY: the place is there.
        Error::check("cuCtxGetCurrent", unsafe {
            (api.context_current)(&mut context)
        })?;
        if context.is_null() {
            context = primary(api)?;
            // SAFETY: a context that is retained for good.
            Error::check("cuCtxSetCurrent", unsafe { (api.context_set)(context) })?;
        }
        let mut id = 0;
        if let Some(context_id) = api.context_id {
            // SAFETY: the current context.
            Error::check("cuCtxGetId", unsafe { context_id(context, &mut id) })?;
        }
        Ok(Key(context, id))
    }
}

/// The primary context of device 0, retained once for the process.
fn primary(api: &'static Api) -> Result<ContextHandle> {
    struct Primary(ContextHandle);
    // SAFETY: a handle, which all threads may use.
    unsafe impl Send for Primary {}
    // SAFETY: as above.
    unsafe impl Sync for Primary {}
    static PRIMARY: OnceLock<Result<Primary>> = OnceLock::new();
    let retain = || {
        let (mut device, mut context) = (0, ptr::null_mut());
        // SAFETY: initialised, and there is a device.
        unsafe {
            Error::check("cuDeviceGet", (api.device_get)(&mut device, 0))?;
            Error::check(
                "cuDevicePrimaryCtxRetain",
                (api.primary_retain)(&mut context, device),
            )?;
        }
        Ok(Primary(context))
    };
    PRIMARY
        .get_or_init(retain)
        .as_ref()
        .map(|primary| primary.0)
        .map_err(|error| *error)
}

fn refuse_capture(api: &Api, stream: StreamHandle) -> Result<()> {
    let mut status = 0;
    // SAFETY: the caller's stream, or the default one; the place is there.
    match unsafe { (api.stream_is_capturing)(stream, &mut status) } {
        code::SUCCESS if status == 0 => Ok(()),
        code::SUCCESS | code::STREAM_CAPTURE_IMPLICIT => Err(Error::NotPreloaded),
        code::INVALID_HANDLE | code::INVALID_CONTEXT | code::CONTEXT_IS_DESTROYED => {
            Err(Error::WrongContext { arg: "stream" })
        }
        code => Error::check("cuStreamIsCapturing", code),
    }
}

/// A number that the driver knows about a device.
pub fn device_attribute(api: &Api, attribute: i32, device: DeviceNumber) -> Result<i32> {
    let mut value = 0;
    // SAFETY: a device of the driver, and the place is there.
    let code = unsafe { (api.device_attribute)(&mut value, attribute, device) };
    Error::check("cuDeviceGetAttribute", code)?;
    Ok(value)
}

/// An address as the pointer that kernels take.
pub fn pointer<T>(address: Address) -> *mut T {
    ptr::without_provenance_mut(address as usize)
}

/// A pointer as the address that the driver takes.
pub fn address(pointer: *const c_void) -> Address {
    pointer.addr() as Address
}
