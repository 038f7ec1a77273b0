//! Contexts, streams and events.

use crate::driver::api::{Api, ContextHandle, DeviceNumber, EventHandle, StreamHandle};
use crate::driver::context::ContextState;
use crate::driver::{Arguments, Launcher};
use crate::{Error, Result};
use core::ffi::{CStr, c_char};
use core::marker::PhantomData;
use core::ptr;

/// The primary context of a device, which the CUDA runtime and PyTorch use too. Once retained, it is never released.
#[derive(Clone, Copy)]
pub struct Context {
    api: &'static Api,
    handle: ContextHandle,
    device: DeviceNumber,
}

impl Context {
    /// Retains the primary context of device `ordinal`, makes it current, and allocates the scratch memory for calls
    /// without a workspace. A kernel is loaded by its first launch, unless [`Context::preload`] loaded it before.
    ///
    /// # Errors
    /// `NoDriver`, `DriverTooOld`; `NoDevice` where there is no such device; errors of the driver.
    pub fn new(ordinal: usize) -> Result<Context> {
        let api = Api::get()?;
        let ordinal = i32::try_from(ordinal).map_err(|_| Error::NoDevice)?;
        let (mut count, mut device, mut handle) = (0, 0, ptr::null_mut());
        // SAFETY: the out pointers are valid; the device is one of the driver's.
        unsafe {
            Error::check("cuDeviceGetCount", (api.device_count)(&mut count))?;
            if ordinal >= count {
                return Err(Error::NoDevice);
            }
            Error::check("cuDeviceGet", (api.device_get)(&mut device, ordinal))?;
            let code = (api.primary_retain)(&mut handle, device);
            Error::check("cuDevicePrimaryCtxRetain", code)?;
        }
        let context = Context {
            api,
            handle,
            device,
        };
        context.make_current()?;
        ContextState::current(api)?.create_slots(ptr::null_mut())?;
        Ok(context)
    }

    /// Loads every kernel: see [`crate::driver::preload`].
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn preload(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the default stream.
        unsafe { crate::driver::preload(ptr::null_mut()) }
    }

    /// Returns the name of the device.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn name(&self) -> Result<String> {
        let mut name = [0u8; 256];
        let capacity = name.len() as i32;
        // SAFETY: `name` has `capacity` bytes.
        let code = unsafe {
            (self.api.device_name)(name.as_mut_ptr().cast::<c_char>(), capacity, self.device)
        };
        Error::check("cuDeviceGetName", code)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the free and the total bytes of device memory.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.make_current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the out pointers are valid.
        Error::check("cuMemGetInfo", unsafe {
            (self.api.memory_info)(&mut free, &mut total)
        })?;
        Ok((free, total))
    }

    /// Makes this the calling thread's current context, unless it already is.
    pub(super) fn make_current(&self) -> Result<()> {
        let mut current = ptr::null_mut();
        // SAFETY: the out pointer is valid; the context is never released.
        unsafe {
            Error::check("cuCtxGetCurrent", (self.api.context_current)(&mut current))?;
            if current != self.handle {
                Error::check("cuCtxSetCurrent", (self.api.context_set)(self.handle))?;
            }
        }
        Ok(())
    }
}

/// A stream, whose work runs in the order in which it was enqueued. Each buffer and view belongs to one stream, so that
/// no memory is used by two streams at once.
pub struct Stream {
    context: Context,
    handle: StreamHandle,
    batch_invariant: bool,
}

impl Stream {
    /// Creates a stream that does not synchronise with the default stream (`CU_STREAM_NON_BLOCKING`).
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn new(context: &Context) -> Result<Stream> {
        const NON_BLOCKING: u32 = 1;
        context.make_current()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the out pointer is valid.
        let code = unsafe { (context.api.stream_create)(&mut handle, NON_BLOCKING) };
        Error::check("cuStreamCreate", code)?;
        Ok(Stream {
            context: *context,
            handle,
            batch_invariant: false,
        })
    }

    /// Makes a row of a matrix product of the stream independent of its batch, as [`diptych::Exec::batch_invariant`] does
    /// on the CPU.
    pub fn batch_invariant(mut self) -> Stream {
        self.batch_invariant = true;
        self
    }

    /// Waits until all work of the stream is done.
    ///
    /// # Errors
    /// The errors of that work.
    pub fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: a stream of the current context.
        Error::check("cuStreamSynchronize", unsafe {
            (self.context.api.stream_synchronize)(self.handle)
        })
    }

    /// Makes the stream's context current, and returns the stream's handle.
    pub(crate) fn enter(&self) -> Result<StreamHandle> {
        self.context.make_current()?;
        Ok(self.handle)
    }

    /// Returns a launcher on this stream, for one operation with this workspace (address and bytes).
    pub(crate) fn launcher(&self, workspace: (*mut u8, usize)) -> Result<Launcher<'static>> {
        let handle = self.enter()?;
        // SAFETY: a stream of the current context; a workspace is a buffer of the same stream.
        let launcher = unsafe {
            Launcher::new(
                handle,
                (workspace.0.cast(), workspace.1),
                Arguments::default(),
            )
        }?;
        Ok(launcher.batch_invariant(self.batch_invariant))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // If this fails, the stream may still be running, so it keeps its slot of scratch memory.
        if self.synchronize().is_ok() {
            // SAFETY: its work has run, and this interface captures no graphs.
            let _ = unsafe { crate::driver::release(self.handle) };
        }
        // SAFETY: the stream is not used any more.
        unsafe { (self.context.api.stream_destroy)(self.handle) };
    }
}

/// A point in the work of a stream. Two events measure the time between them.
pub struct Event<'s> {
    stream: &'s Stream,
    handle: EventHandle,
    _not_send: PhantomData<*mut ()>,
}

impl<'s> Event<'s> {
    /// Records an event after the work that is in the stream now.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn record(stream: &'s Stream) -> Result<Event<'s>> {
        let (api, stream_handle) = (stream.context.api, stream.enter()?);
        let mut handle = ptr::null_mut();
        // SAFETY: the out pointer is valid.
        Error::check("cuEventCreate", unsafe {
            (api.event_create)(&mut handle, 0)
        })?;
        let event = Event {
            stream,
            handle,
            _not_send: PhantomData,
        };
        // SAFETY: an event and a stream of the current context.
        Error::check("cuEventRecord", unsafe {
            (api.event_record)(handle, stream_handle)
        })?;
        Ok(event)
    }

    /// Waits for this event, and returns the seconds from `earlier` to it.
    ///
    /// # Errors
    /// `WrongContext` for events of two contexts; errors of the driver.
    pub fn seconds_since(&self, earlier: &Event<'_>) -> Result<f64> {
        let api = self.stream.context.api;
        if earlier.stream.context.handle != self.stream.context.handle {
            return Err(Error::WrongContext { arg: "earlier" });
        }
        self.stream.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: events of this context, both recorded; the out pointer is valid.
        unsafe {
            Error::check("cuEventSynchronize", (api.event_synchronize)(self.handle))?;
            let code = (api.event_elapsed)(&mut milliseconds, earlier.handle, self.handle);
            Error::check("cuEventElapsedTime", code)?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: the event is not used any more. A failure cannot be handled.
        unsafe { (self.stream.context.api.event_destroy)(self.handle) };
    }
}
