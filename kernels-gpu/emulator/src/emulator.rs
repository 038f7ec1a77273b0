//! The emulator as a [`Device`].

use core::cell::{Cell, RefCell};
use core::ffi::c_void;
use diptych::Dtype;
use std::collections::BTreeSet;

use diptych_device::gpu::host::{Site, with_machine};
use diptych_device::launch::{Device, Grid, Scratch};
use diptych_device::table::Entry;

use crate::block::{Launch, Memory};
use crate::clock::WARP;
use crate::fault::{Error, Fault};
use crate::global::{GlobalMemory, MAX_BLOCKS};
use crate::schedule::{Order, Schedule};
use crate::scratch::ScratchMemory;
use crate::shared::SharedMemory;

/// Bytes of shared memory that a block can have on every GPU since sm_75.
const MAX_SHARED: u32 = 64 * 1024;

/// A barrier in the source of a kernel, where threads wait for their block or warp.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Barrier {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// `sync_threads` or `sync_warp`.
    pub word: &'static str,
    /// The source file of the call.
    pub file: &'static str,
    /// The line of the call.
    pub line: u32,
    /// The column of the call.
    pub column: u32,
}

impl Barrier {
    pub(crate) fn new(kernel: &'static str, word: &'static str, site: Site) -> Self {
        Self {
            kernel,
            word,
            file: site.file(),
            line: site.line(),
            column: site.column(),
        }
    }
}

impl core::fmt::Display for Barrier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            kernel,
            word,
            file,
            line,
            column,
        } = self;
        write!(f, "{word} at {file}:{line}:{column} in {kernel}")
    }
}

/// A device that runs kernels on the host and checks what they do.
pub struct Emulator {
    schedule: Schedule,
    multiprocessors: u32,
    max_blocks: u32,
    /// The most bytes of scratch memory.
    max_scratch: usize,
    product_kernel: Option<&'static Entry>,
    batch_invariant: bool,
    /// The barrier at which threads do not wait.
    skipped: Option<Barrier>,
    memory: RefCell<Memory>,
    launches: Cell<u32>,
    kernels: RefCell<BTreeSet<&'static str>>,
}

impl Emulator {
    /// Makes an emulator that runs threads in this order.
    pub fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            multiprocessors: 3,
            max_blocks: u32::MAX,
            max_scratch: usize::MAX,
            product_kernel: None,
            batch_invariant: false,
            skipped: None,
            memory: RefCell::new(Memory {
                shared: SharedMemory::default(),
                global: GlobalMemory::default(),
                scratch: ScratchMemory::new(0, 0),
                barriers: BTreeSet::new(),
            }),
            launches: Cell::new(0),
            kernels: RefCell::default(),
        }
    }

    /// Sets the multiprocessors that the device reports.
    pub fn with_multiprocessors(self, multiprocessors: u32) -> Self {
        Self {
            multiprocessors,
            ..self
        }
    }

    /// Limits the blocks along x of grids whose blocks can loop over further work.
    pub fn with_max_blocks(self, max_blocks: u32) -> Self {
        Self { max_blocks, ..self }
    }

    /// Limits the bytes of scratch memory.
    pub fn with_scratch(self, max_scratch: usize) -> Self {
        Self {
            max_scratch,
            ..self
        }
    }

    /// Forces matrix products onto this kernel, as far as they can run on it.
    pub fn with_product_kernel(self, kernel: &'static Entry) -> Self {
        Self {
            product_kernel: Some(kernel),
            ..self
        }
    }

    /// Makes a row of a product independent of its batch.
    pub fn batch_invariant(self) -> Self {
        Self {
            batch_invariant: true,
            ..self
        }
    }

    /// Disables a barrier: threads do not wait there.
    pub fn without(self, barrier: Barrier) -> Self {
        Self {
            skipped: Some(barrier),
            ..self
        }
    }

    /// Returns the barriers at which threads have waited.
    pub fn barriers(&self) -> BTreeSet<Barrier> {
        self.memory.borrow().barriers.clone()
    }

    /// Returns the number of launches.
    pub fn launches(&self) -> u32 {
        self.launches.get()
    }

    /// Returns the names of the kernels that have been launched.
    pub fn kernels(&self) -> BTreeSet<&'static str> {
        self.kernels.borrow().clone()
    }
}

/// Checks that a GPU would accept the launch.
fn check(kernel: &Entry, dtype: Dtype, grid: Grid, arguments: usize) -> Result<(), String> {
    let (x, y, z) = grid.blocks;
    let parameters = kernel.parameters(dtype).len();
    if arguments != parameters {
        return Err(format!("{arguments} arguments for {parameters} parameters"));
    }
    if kernel.threads == 0 || !kernel.threads.is_multiple_of(WARP) || kernel.threads > 1024 {
        return Err(format!("{} threads in a block", kernel.threads));
    }
    if x == 0 || y == 0 || z == 0 || x > i32::MAX as u32 || y > 65535 || z > 65535 {
        return Err(format!("a grid of ({x}, {y}, {z}) blocks"));
    }
    if u64::from(x) * u64::from(y) * u64::from(z) > MAX_BLOCKS {
        return Err(format!(
            "a grid of ({x}, {y}, {z}) blocks is too large for the emulator"
        ));
    }
    if grid.shared > MAX_SHARED {
        let shared = grid.shared;
        return Err(format!(
            "{shared} bytes of shared memory; not every GPU has more than {MAX_SHARED}"
        ));
    }
    Ok(())
}

impl Device for Emulator {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn max_blocks(&self) -> u32 {
        self.max_blocks
    }

    fn product_kernel(&self) -> Option<&'static Entry> {
        self.product_kernel
    }

    fn batch_invariant(&self) -> bool {
        self.batch_invariant
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch, Error> {
        if bytes > self.max_scratch {
            return Err(diptych::Error::WorkspaceTooSmall { needed: bytes }.into());
        }
        let scratch = ScratchMemory::new(bytes, counters);
        let pointers = scratch.pointers();
        self.memory.borrow_mut().scratch = scratch;
        Ok(pointers)
    }

    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        dtype: Dtype,
        grid: Grid,
        arguments: &mut [*mut c_void],
        host_kernel: impl Fn(),
    ) -> Result<(), Error> {
        let name = kernel.name(dtype).expect("the kernel exists for the type");
        self.launches.set(self.launches.get() + 1);
        self.kernels.borrow_mut().insert(name);
        let fault = |block, what| {
            Error::Fault(Fault {
                kernel: name,
                schedule: self.schedule.to_string(),
                block,
                what,
            })
        };
        check(kernel, dtype, grid, arguments.len()).map_err(|what| fault(None, what))?;
        let order = Order::new(self.schedule);
        let shape = (grid.blocks, grid.shared);
        let skipped = self.skipped.as_ref();
        let launch = Launch::new(name, kernel.threads, shape, order, skipped, &self.memory);
        with_machine(&launch, || launch.run(&host_kernel))
            .map_err(|what| fault(Some(launch.block()), what))?;
        match self.memory.borrow().scratch.counter_left() {
            Some(counter) => Err(fault(
                None,
                format!("leaves counter {counter} at another value than 0"),
            )),
            None => Ok(()),
        }
    }
}
