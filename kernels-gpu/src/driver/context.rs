//! The state that the library keeps for each CUDA context: the kernels that have been loaded, and scratch memory for
//! calls without a workspace, which only `preload`, `allocate_scratch` and the Rust `Context` allocate.

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

/// A CUDA context, the kernels loaded into it and its scratch memory.
pub struct ContextState {
    pub api: &'static Api,
    pub handle: ContextHandle,
    pub device: DeviceNumber,
    pub multiprocessors: u32,
    slots: OnceLock<Slots>,
    /// Held while the slots are allocated, so that they are allocated once.
    creating: Mutex<()>,
    functions: Functions,
}

// SAFETY: handles of the driver may be used by all threads.
unsafe impl Send for ContextState {}
// SAFETY: as above; all other fields are immutable, atomic, or behind locks.
unsafe impl Sync for ContextState {}

/// The identity of a context: its handle and, where the driver has `cuCtxGetId`, its ID, which is never reused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key(ContextHandle, u64);

// SAFETY: the handle is only compared, never dereferenced.
unsafe impl Send for Key {}

/// The state of every context that a call has used. Destroying a context frees the kernels and the memory in it; the
/// few bytes here are never freed.
///
/// This lock, the one in `ContextState` and the one in `Functions` are held while the driver is called, and the driver
/// may load libraries under locks of its own. So constructors of shared libraries must not make calls on a device.
static CONTEXTS: Mutex<Vec<(Key, &'static ContextState)>> = Mutex::new(Vec::new());

std::thread_local! {
    /// The context that the thread used last. (It has no destructor, so nothing is registered with the loader.)
    static LAST: Cell<Option<(Key, &'static ContextState)>> = const { Cell::new(None) };
}

impl ContextState {
    /// Returns the state of the calling thread's current context. A thread without one gets the primary context of
    /// device 0 as its current context.
    pub fn current(api: &'static Api) -> Result<&'static ContextState> {
        let key = Key::current(api)?;
        if let Some((_, state)) = LAST.get().filter(|(last, _)| *last == key) {
            return Ok(state);
        }
        let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
        let state = match contexts.iter().find(|(known, _)| *known == key) {
            Some((_, state)) => *state,
            None => {
                contexts.try_reserve(1).map_err(|_| Error::OutOfMemory)?;
                let state: &'static ContextState =
                    Box::leak(Box::new(ContextState::new(api, key.0)?));
                // A destroyed context may have had the same handle.
                contexts.retain(|(known, _)| known.0 != key.0);
                contexts.push((key, state));
                state
            }
        };
        LAST.set(Some((key, state)));
        Ok(state)
    }

    /// Returns the function of a kernel, and loads it first if necessary. Loading is refused while `stream` is being
    /// captured.
    pub fn function(
        &self,
        stream: StreamHandle,
        kernel: &Entry,
        dtype: Dtype,
    ) -> Result<FunctionHandle> {
        match self.functions.get(kernel, dtype) {
            Some(function) => Ok(function),
            // The driver would load it into the current context.
            None if Key::current(self.api)?.0 == self.handle => {
                self.functions.load(self.api, stream, kernel, dtype)
            }
            None => Err(Error::WrongContext { arg: "stream" }),
        }
    }

    /// Returns the scratch memory for calls without a workspace, if it has been allocated.
    pub fn slots(&self) -> Option<&Slots> {
        self.slots.get()
    }

    /// Allocates the scratch memory for calls without a workspace, unless that has been done. Refused while `stream` is
    /// being captured. The context must be the current one.
    pub fn create_slots(&self, stream: StreamHandle) -> Result<()> {
        let _guard = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        if self.slots.get().is_none() {
            refuse_capture(self.api, stream)?;
            let slots = with_relaxed_capture(self.api, || Slots::allocate(self.api))?;
            self.slots.get_or_init(|| slots);
        }
        Ok(())
    }

    fn new(api: &'static Api, handle: ContextHandle) -> Result<ContextState> {
        let mut device = 0;
        // SAFETY: a context is current, and the out pointer is valid.
        Error::check("cuCtxGetDevice", unsafe {
            (api.context_device)(&mut device)
        })?;
        Ok(ContextState {
            api,
            handle,
            device,
            multiprocessors: device_attribute(api, attribute::MULTIPROCESSORS, device)?.max(1)
                as u32,
            functions: Functions::new(api, device)?,
            slots: OnceLock::new(),
            creating: Mutex::new(()),
        })
    }
}

/// Runs `action` with the thread's capture mode set to relaxed. In the default mode, calls such as a module load or an
/// allocation would invalidate the graph captures of other threads.
pub fn with_relaxed_capture<R>(api: &Api, action: impl FnOnce() -> Result<R>) -> Result<R> {
    let mut mode = api::RELAXED_CAPTURE;
    // SAFETY: the previous mode is restored below.
    Error::check("cuThreadExchangeStreamCaptureMode", unsafe {
        (api.capture_mode)(&mut mode)
    })?;
    let result = action();
    // SAFETY: restores the previous mode.
    unsafe { (api.capture_mode)(&mut mode) };
    result
}

impl Key {
    /// Returns the key of the current context. A thread without one gets the primary context of device 0.
    pub fn current(api: &'static Api) -> Result<Key> {
        let mut context = ptr::null_mut();
        // SAFETY: the out pointer is valid.
        Error::check("cuCtxGetCurrent", unsafe {
            (api.context_current)(&mut context)
        })?;
        if context.is_null() {
            context = primary(api)?;
            // SAFETY: the context is never released.
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

/// Runs `action` with the first active primary context as the current context, in a thread that has no current context.
/// Returns `None` without running it if the thread has one, or if no primary context is active: none is created.
pub fn with_active_primary<R>(api: &Api, action: impl FnOnce() -> R) -> Option<R> {
    let mut context = ptr::null_mut();
    // SAFETY: the out pointer is valid.
    let code = unsafe { (api.context_current)(&mut context) };
    if code != code::SUCCESS || !context.is_null() {
        return None;
    }
    let device = active_device(api)?;
    // SAFETY: a device of the driver, and the out pointer is valid; the context is released below.
    if unsafe { (api.primary_retain)(&mut context, device) } != code::SUCCESS {
        return None;
    }
    // SAFETY: the context has been retained.
    let is_current = unsafe { (api.context_set)(context) } == code::SUCCESS;
    let result = is_current.then(action);
    // SAFETY: the thread had no current context; the primary context was retained once.
    unsafe {
        (api.context_set)(ptr::null_mut());
        (api.primary_release)(device);
    }
    result
}

/// Returns the first device whose primary context is active.
fn active_device(api: &Api) -> Option<DeviceNumber> {
    let mut count = 0;
    // SAFETY: the out pointer is valid.
    unsafe { (api.device_count)(&mut count) };
    (0..count).find_map(|ordinal| {
        let (mut device, mut flags, mut active) = (0, 0, 0);
        // SAFETY: the driver has so many devices; the out pointers are valid.
        let known = unsafe {
            (api.device_get)(&mut device, ordinal) == code::SUCCESS
                && (api.primary_state)(device, &mut flags, &mut active) == code::SUCCESS
        };
        (known && active != 0).then_some(device)
    })
}

/// Returns the primary context of device 0, which is retained once and never released. After a failure the next call
/// tries again.
fn primary(api: &'static Api) -> Result<ContextHandle> {
    struct Primary(ContextHandle);
    // SAFETY: a handle of the driver, which all threads may use.
    unsafe impl Send for Primary {}
    static PRIMARY: Mutex<Option<Primary>> = Mutex::new(None);
    let mut primary = PRIMARY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Primary(context)) = *primary {
        return Ok(context);
    }
    let (mut device, mut context) = (0, ptr::null_mut());
    // SAFETY: the driver is initialised and has a device; the out pointers are valid.
    unsafe {
        Error::check("cuDeviceGet", (api.device_get)(&mut device, 0))?;
        Error::check(
            "cuDevicePrimaryCtxRetain",
            (api.primary_retain)(&mut context, device),
        )?;
    }
    *primary = Some(Primary(context));
    Ok(context)
}

/// Refuses a stream that is being captured.
pub fn refuse_capture(api: &Api, stream: StreamHandle) -> Result<()> {
    let mut status = 0;
    // SAFETY: the caller's stream, or the default stream; the out pointer is valid.
    match unsafe { (api.stream_is_capturing)(stream, &mut status) } {
        code::SUCCESS if status == 0 => Ok(()),
        code::SUCCESS | code::STREAM_CAPTURE_IMPLICIT => Err(Error::NotPreloaded),
        code::INVALID_HANDLE | code::INVALID_CONTEXT | code::CONTEXT_IS_DESTROYED => {
            Err(Error::WrongContext { arg: "stream" })
        }
        code => Error::check("cuStreamIsCapturing", code),
    }
}

/// Returns a device attribute.
pub fn device_attribute(api: &Api, attribute: i32, device: DeviceNumber) -> Result<i32> {
    let mut value = 0;
    // SAFETY: a device of the driver, and the out pointer is valid.
    let code = unsafe { (api.device_attribute)(&mut value, attribute, device) };
    Error::check("cuDeviceGetAttribute", code)?;
    Ok(value)
}

/// Converts a device address to the pointer that kernels take.
pub fn pointer<T>(address: Address) -> *mut T {
    ptr::without_provenance_mut(address as usize)
}

/// Converts a pointer to the address that the driver takes.
pub fn address(pointer: *const c_void) -> Address {
    pointer.addr() as Address
}
