//! Contexts, streams and events.

use crate::driver::api::{Api, ContextHandle, DeviceNumber, EventHandle, StreamHandle};
use crate::driver::context::Loaded;
use crate::driver::{Arguments, Launcher};
use crate::{Error, Result};
use core::ffi::{CStr, c_char};
use core::marker::PhantomData;
use core::ptr;

/// The primary context of a device, which the process keeps once it has been asked for. It is that of the
/// CUDA runtime and of PyTorch.
#[derive(Clone, Copy)]
pub struct Context {
    api: &'static Api,
    handle: ContextHandle,
    device: DeviceNumber,
}

impl Context {
    /// That of the device of this number, with scratch memory for calls without a workspace. Kernels are loaded
    /// by their first launches; see [`Context::preload`].
    ///
    /// # Errors
    /// No driver, no such device; what the driver says.
    pub fn new(ordinal: usize) -> Result<Context> {
        let api = Api::get()?;
        let ordinal = i32::try_from(ordinal).map_err(|_| Error::NoDevice)?;
        let (mut count, mut device, mut handle) = (0, 0, ptr::null_mut());
        // SAFETY: the places are there; the device is one of the driver's.
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
        Loaded::current(api)?.make_slots(ptr::null_mut())?;
        Ok(context)
    }

    /// Loads every kernel: see [`crate::driver::preload`].
    ///
    /// # Errors
    /// What the driver says.
    pub fn preload(&self) -> Result<()> {
        self.make_current()?;
        // SAFETY: the default stream.
        unsafe { crate::driver::preload(ptr::null_mut()) }
    }

    /// What the device is called.
    ///
    /// # Errors
    /// What the driver says.
    pub fn name(&self) -> Result<String> {
        let mut name = [0u8; 256];
        let room = name.len() as i32;
        // SAFETY: so much room.
        let code = unsafe {
            (self.api.device_name)(name.as_mut_ptr().cast::<c_char>(), room, self.device)
        };
        Error::check("cuDeviceGetName", code)?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Bytes of device memory that are free, and all.
    ///
    /// # Errors
    /// What the driver says.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.make_current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the places are there.
        Error::check("cuMemGetInfo", unsafe {
            (self.api.memory_info)(&mut free, &mut total)
        })?;
        Ok((free, total))
    }

    /// Makes it the calling thread's current context, unless it is.
    pub(super) fn make_current(&self) -> Result<()> {
        let mut current = ptr::null_mut();
        // SAFETY: the place is there; a context that the process keeps.
        unsafe {
            Error::check("cuCtxGetCurrent", (self.api.context_current)(&mut current))?;
            if current != self.handle {
                Error::check("cuCtxSetCurrent", (self.api.context_set)(self.handle))?;
            }
        }
        Ok(())
    }
}

/// A stream: work in it runs in the order in which it was put there. Buffers and views belong to one, so that
/// nothing is used by two streams at once.
pub struct Stream {
    context: Context,
    handle: StreamHandle,
}

impl Stream {
    /// A new one, which does not wait for the default stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Context) -> Result<Stream> {
        const NON_BLOCKING: u32 = 1;
        context.make_current()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the place is there.
        let code = unsafe { (context.api.stream_create)(&mut handle, NON_BLOCKING) };
        Error::check("cuStreamCreate", code)?;
        Ok(Stream {
            context: *context,
            handle,
        })
    }

    /// Waits until all its work is done.
    ///
    /// # Errors
    /// What went wrong in that work.
    pub fn synchronize(&self) -> Result<()> {
        self.enter()?;
        // SAFETY: a stream of the current context.
        Error::check("cuStreamSynchronize", unsafe {
            (self.context.api.stream_synchronize)(self.handle)
        })
    }

    /// Makes its context current.
    pub(super) fn enter(&self) -> Result<StreamHandle> {
        self.context.make_current()?;
        Ok(self.handle)
    }

    /// What operations are run with.
    pub(super) fn launcher(&self, workspace: (*mut u8, usize)) -> Result<Launcher<'static>> {
        let handle = self.enter()?;
        // SAFETY: a stream of the current context; a workspace is a buffer of this stream.
        unsafe {
            Launcher::new(
                handle,
                (workspace.0.cast(), workspace.1),
                Arguments::default(),
            )
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Failures leave nothing to do: a slot of scratch memory whose stream may still work is nobody else's.
        if self.synchronize().is_ok() {
            // SAFETY: its work has run, and this interface captures nothing.
            let _ = unsafe { crate::driver::release(self.handle) };
        }
        // SAFETY: the stream is not used any more.
        unsafe { (self.context.api.stream_destroy)(self.handle) };
    }
}

/// A place in a stream's work, to measure between two.
pub struct Event<'s> {
    stream: &'s Stream,
    handle: EventHandle,
    _stays: PhantomData<*mut ()>,
}

impl<'s> Event<'s> {
    /// After the work that is in the stream now.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(stream: &'s Stream) -> Result<Event<'s>> {
        let (api, queue) = (stream.context.api, stream.enter()?);
        let mut handle = ptr::null_mut();
        // SAFETY: the place is there.
        Error::check("cuEventCreate", unsafe {
            (api.event_create)(&mut handle, 0)
        })?;
        let event = Event {
            stream,
            handle,
            _stays: PhantomData,
        };
        // SAFETY: an event and a stream of the current context.
        Error::check("cuEventRecord", unsafe {
            (api.event_record)(handle, queue)
        })?;
        Ok(event)
    }

    /// Seconds from another event to this one, which it waits for.
    ///
    /// # Errors
    /// `WrongContext` for events of two contexts; what the driver says.
    pub fn seconds_since(&self, earlier: &Event<'_>) -> Result<f64> {
        let api = self.stream.context.api;
        if earlier.stream.context.handle != self.stream.context.handle {
            return Err(Error::WrongContext { arg: "earlier" });
        }
        self.stream.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: events of this context, both recorded; the place is there.
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
        // SAFETY: not used any more. A failure leaves nothing to do.
        unsafe { (self.stream.context.api.event_destroy)(self.handle) };
    }
}
