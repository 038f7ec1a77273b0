//! Launches on a stream.

use super::api::{Address, Api, StreamHandle};
use super::context::{Loaded, address};
use super::error::{Error, Result};
use super::location::{Arguments, check_reachable};
use super::scratch;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use diptych::Dtype;
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;

/// A stream of the current context, for one call: the [`Device`] that runs on a GPU.
///
/// It never synchronises and never allocates. A kernel that is not there yet is loaded, for which the driver may do
/// both, unless the stream is being captured: a launch that is refused for that has left the stream as it was.
pub struct Launcher<'a> {
    loaded: &'static Loaded,
    stream: StreamHandle,
    workspace: (Address, usize),
    arguments: Arguments<'a>,
    /// Whether the arguments have been found to be device memory.
    checked: Cell<bool>,
    /// Counters in the workspace that the next launch sets to 0 before: the first, and how many.
    counters: Cell<(Address, usize)>,
}

impl<'a> Launcher<'a> {
    /// On `stream` (NULL: the default stream), for a call with these pointers, which are looked at before
    /// the first launch. Without a workspace (NULL) scratch memory is the library's own, where it has been made.
    ///
    /// # Errors
    /// No driver or device; what the driver says.
    ///
    /// # Safety
    /// `stream` is a stream of the current context or NULL, and the workspace has so many bytes, which
    /// nobody else uses until the launches have run.
    #[inline]
    pub unsafe fn new(
        stream: *mut c_void,
        workspace: (*mut c_void, usize),
        arguments: Arguments<'a>,
    ) -> Result<Launcher<'a>> {
        let loaded = Loaded::current(Api::get()?)?;
        let workspace = (address(workspace.0), workspace.1);
        Ok(Launcher {
            loaded,
            stream,
            workspace,
            arguments,
            checked: Cell::new(false),
            counters: Cell::new((0, 0)),
        })
    }

    fn check(&self) -> Result<()> {
        if !self.checked.get() {
            check_reachable(self.loaded, self.arguments)?;
            if self.workspace.0 != 0 {
                let pointer = ptr::without_provenance(self.workspace.0 as usize);
                check_reachable(
                    self.loaded,
                    Arguments {
                        pointers: &[pointer],
                        names: &["workspace"],
                    },
                )?;
            }
            self.checked.set(true);
        }
        Ok(())
    }

    /// [`Device::launch`] as one function: inlined, it would be in every launcher.
    ///
    /// # Safety
    /// As [`Device::launch`].
    #[inline(never)]
    unsafe fn start(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
    ) -> Result<()> {
        self.check()?;
        let function = self.loaded.function(self.stream, kernel, dtype)?;
        let (counters, count) = self.counters.take();
        if count > 0 {
            // SAFETY: within the workspace, which is device memory of this context, as just checked.
            let code = unsafe { (self.loaded.api.fill_words)(counters, 0, count, self.stream) };
            Error::check_launch(code)?;
        }
        let (x, y, z) = grid.blocks;
        // SAFETY: a function of this context; the arguments are those that the kernel declares.
        let code = unsafe {
            (self.loaded.api.launch)(
                function,
                x,
                y,
                z,
                kernel.threads,
                1,
                1,
                grid.shared,
                self.stream,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        Error::check_launch(code)
    }
}

impl Device for Launcher<'_> {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        self.loaded.multiprocessors
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch> {
        self.check()?;
        if self.workspace.0 == 0 {
            scratch::check_slot(bytes, counters)?;
            let needed = scratch::workspace(bytes, counters);
            let slots = self.loaded.slots().ok_or(Error::NoScratch { needed })?;
            return slots.of(self.stream);
        }
        let scratch = scratch::in_workspace(self.workspace, bytes, counters)?;
        self.counters
            .set((address(scratch.counters.cast()), counters));
        Ok(scratch)
    }

    fn prepare(&self, kernel: &'static Entry, dtype: Dtype) -> Result<()> {
        self.check()?;
        self.loaded.function(self.stream, kernel, dtype).map(|_| ())
    }

    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        _twin: impl Fn(),
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { self.start(kernel, dtype, grid, arguments) }
    }
}
