//! What the library keeps for each context: the kernels that have been loaded, and scratch memory for calls
//! without a workspace, which only `preload` and the Rust `Context` make.

use super::api::{
    self, Address, Api, ContextHandle, DeviceNumber, FunctionHandle, StreamHandle, attribute, code,
};
use super::error::{Error, Result};
use super::functions::Functions;
use super::scratch::Slots;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use diptych::Dtype;
use diptych_device::table::Entry;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A context and what was loaded into it.
pub struct Loaded {
    pub api: &'static Api,
    pub context: ContextHandle,
    pub device: DeviceNumber,
    pub multiprocessors: u32,
    slots: OnceLock<Slots>,
    /// Held while the slots are made, so that they are made once.
    making: Mutex<()>,
    functions: Functions,
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
/// Locked, as the other locks here and that of `Functions`, while the driver is called, which may load libraries
/// under locks of its own: calls on a device are not for constructors of libraries.
static ALL: Mutex<Vec<(Key, &'static Loaded)>> = Mutex::new(Vec::new());

std::thread_local! {
    /// The context that the thread used last. (No destructor: nothing to register with the loader.)
    static LAST: Cell<Option<(Key, &'static Loaded)>> = const { Cell::new(None) };
}

impl Loaded {
    /// Of the calling thread's current context, which is the primary context of device 0 where there is
    /// none.
    pub fn current(api: &'static Api) -> Result<&'static Loaded> {
        let key = Key::current(api)?;
        if let Some((_, loaded)) = LAST.get().filter(|(last, _)| *last == key) {
            return Ok(loaded);
        }
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = match all.iter().find(|(known, _)| *known == key) {
            Some((_, loaded)) => *loaded,
            None => {
                all.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                let loaded: &'static Loaded = Box::leak(Box::new(Loaded::new(api, key.0)?));
                // A destroyed context may have had the same handle.
                all.retain(|(known, _)| known.0 != key.0);
                all.push((key, loaded));
                loaded
            }
        };
        LAST.set(Some((key, loaded)));
        Ok(loaded)
    }

    /// The function of an entry, loaded where it is not there yet, unless `stream` is being captured.
    pub fn function(
        &self,
        stream: StreamHandle,
        kernel: &Entry,
        dtype: Dtype,
    ) -> Result<FunctionHandle> {
        match self.functions.get(kernel, dtype) {
            Some(function) => Ok(function),
            // The driver loads into the current context.
            None if Key::current(self.api)?.0 == self.context => {
                self.functions.load(self.api, stream, kernel, dtype)
            }
            None => Err(Error::WrongContext { arg: "stream" }),
        }
    }

    /// The scratch memory of calls without a workspace, where it has been made.
    pub fn slots(&self) -> Option<&Slots> {
        self.slots.get()
    }

    /// Makes it, unless it is there or `stream` is being captured. The context must be the current one.
    pub fn make_slots(&self, stream: StreamHandle) -> Result<()> {
        let _one = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if self.slots.get().is_none() {
            refuse_capture(self.api, stream)?;
            let slots = relaxed(self.api, || Slots::allocate(self.api))?;
            self.slots.get_or_init(|| slots);
        }
        Ok(())
    }

    fn new(api: &'static Api, context: ContextHandle) -> Result<Loaded> {
        let mut device = 0;
        // SAFETY: a context is current, and the place is there.
        Error::check("cuCtxGetDevice", unsafe {
            (api.context_device)(&mut device)
        })?;
        Ok(Loaded {
            api,
            context,
            device,
            multiprocessors: device_attribute(api, attribute::MULTIPROCESSORS, device)?.max(1)
                as u32,
            functions: Functions::new(api, device)?,
            slots: OnceLock::new(),
            making: Mutex::new(()),
        })
    }
}

/// Does what captures of other threads would not survive in the default mode of captures.
pub fn relaxed<R>(api: &Api, action: impl FnOnce() -> Result<R>) -> Result<R> {
    let mut mode = api::RELAXED_CAPTURE;
    // SAFETY: the mode is put back below.
    Error::check("cuThreadExchangeStreamCaptureMode", unsafe {
        (api.capture_mode)(&mut mode)
    })?;
    let result = action();
    // SAFETY: the mode that was.
    unsafe { (api.capture_mode)(&mut mode) };
    result
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

/// Does something with the primary context of device 0 current, then puts back what was; `None` where that cannot
/// be had.
pub fn with_primary<R>(api: &'static Api, action: impl FnOnce() -> R) -> Option<R> {
    let mut before = ptr::null_mut();
    let context = primary(api).ok()?;
    // SAFETY: the place is there; a context that is retained for good.
    let is_current = unsafe {
        (api.context_current)(&mut before) == code::SUCCESS
            && (api.context_set)(context) == code::SUCCESS
    };
    if !is_current {
        return None;
    }
    let result = action();
    // SAFETY: what was current before, or none.
    unsafe { (api.context_set)(before) };
    Some(result)
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

/// Refuses a stream that is being captured.
pub fn refuse_capture(api: &Api, stream: StreamHandle) -> Result<()> {
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
