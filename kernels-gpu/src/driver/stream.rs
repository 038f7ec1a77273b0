//! Launches on a stream.

use super::api::{Address, Api, StreamHandle};
use super::context::{ContextState, address};
use super::error::{Error, Result};
use super::location::{Arguments, check_reachable};
use super::scratch;
use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;
use diptych::Dtype;
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;

/// A stream of the current context, for the launches of one call: the [`Device`] that runs on a GPU.
///
/// It never synchronises and never allocates. Loading a kernel for its first launch may make the driver do both, so
/// loading is refused while the stream is being captured; a refused launch leaves the capture unchanged.
pub struct Launcher<'a> {
    context: &'static ContextState,
    stream: StreamHandle,
    workspace: (Address, usize),
    arguments: Arguments<'a>,
    batch_invariant: bool,
    /// Whether the library's scratch memory may be used in place of a workspace.
    uses_slots: bool,
    /// Whether the arguments and the workspace are known to be in device memory.
    checked: Cell<bool>,
    /// Counters in the workspace that must be set to 0 before the next launch: the address of the first, and how many.
    counters: Cell<(Address, usize)>,
}

impl<'a> Launcher<'a> {
    /// Makes a launcher on `stream` (NULL: the default stream) for one call. `arguments` are the pointers of the call,
    /// whose memory is checked before the first launch. `workspace` is an address and its bytes; if it is NULL, scratch
    /// memory comes from the library's own, provided that it has been allocated in this context.
    ///
    /// # Errors
    /// `NoDriver`, `DriverTooOld`, `NoDevice`; errors of the driver.
    ///
    /// # Safety
    /// `stream` must be a stream of the current context or NULL. The workspace must have as many bytes as given, and
    /// nothing else may use them until the launches have run.
    #[inline]
    pub unsafe fn new(
        stream: *mut c_void,
        workspace: (*mut c_void, usize),
        arguments: Arguments<'a>,
    ) -> Result<Launcher<'a>> {
        let context = ContextState::current(Api::get()?)?;
        let workspace = (address(workspace.0), workspace.1);
        Ok(Launcher {
            context,
            stream,
            workspace,
            batch_invariant: false,
            uses_slots: true,
            arguments,
            checked: Cell::new(false),
            counters: Cell::new((0, 0)),
        })
    }

    /// Without a workspace, refuses operations that need scratch memory, although the library has its own.
    pub fn without_library_scratch(self) -> Self {
        Self {
            uses_slots: false,
            ..self
        }
    }

    /// Makes a row of a matrix product independent of its batch, as [`diptych::Exec::batch_invariant`] does on the CPU.
    pub fn batch_invariant(self, batch_invariant: bool) -> Self {
        Self {
            batch_invariant,
            ..self
        }
    }

    /// Refuses arguments and a workspace that are not in device memory of this context. Only the first call checks.
    ///
    /// # Errors
    /// `HostPointer`, `WrongContext`; errors of the driver.
    pub fn check(&self) -> Result<()> {
        if !self.checked.get() {
            check_reachable(self.context, self.arguments)?;
            if self.workspace.0 != 0 {
                let pointer = ptr::without_provenance(self.workspace.0 as usize);
                check_reachable(
                    self.context,
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

    /// [`Device::launch`], outlined: otherwise it would be inlined into the launch function of every kernel.
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
        let function = self.context.function(self.stream, kernel, dtype)?;
        let (counters, count) = self.counters.take();
        if count > 0 {
            // SAFETY: within the workspace, which is device memory of this context, as just checked.
            let code = unsafe { (self.context.api.fill_words)(counters, 0, count, self.stream) };
            Error::check_launch(code)?;
        }
        let (x, y, z) = grid.blocks;
        // SAFETY: a function of this context; the arguments are those that the kernel declares.
        let code = unsafe {
            (self.context.api.launch)(
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
        self.context.multiprocessors
    }

    fn batch_invariant(&self) -> bool {
        self.batch_invariant
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch> {
        self.check()?;
        if self.workspace.0 == 0 {
            let needed = scratch::workspace(bytes, counters);
            if !self.uses_slots {
                return Err(Error::NoScratch { needed });
            }
            scratch::check_slot(bytes, counters)?;
            let slots = self.context.slots().ok_or(Error::NoScratch { needed })?;
            return slots.of(self.stream);
        }
        let scratch = scratch::in_workspace(self.workspace, bytes, counters)?;
        self.counters
            .set((address(scratch.counters.cast()), counters));
        Ok(scratch)
    }

    fn scratch_of(&self, choices: &[(usize, usize)]) -> Result<(usize, Scratch)> {
        let mut refusal = Error::OutOfMemory;
        for (number, &(bytes, counters)) in choices.iter().enumerate() {
            match self.scratch(bytes, counters) {
                Ok(scratch) => return Ok((number, scratch)),
                // Whoever allocates a workspace now may as well make it as large as is best.
                Err(error @ Error::NoScratch { .. }) => return Err(error),
                Err(error) => refusal = error,
            }
        }
        Err(refusal)
    }

    fn prepare(&self, kernel: &'static Entry, dtype: Dtype) -> Result<()> {
        self.check()?;
        self.context
            .function(self.stream, kernel, dtype)
            .map(|_| ())
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
