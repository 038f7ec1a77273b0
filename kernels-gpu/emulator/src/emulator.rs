//! The emulator as a device.

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
use crate::global::{GlobalMemory, MOST_BLOCKS};
use crate::schedule::{Order, Schedule};
use crate::scratch::ScratchMemory;
use crate::shared::SharedMemory;

/// Shared memory of a block that every GPU since sm_75 can give.
const MOST_SHARED: u32 = 64 * 1024;

/// A line of a kernel where threads wait for their block or warp.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Barrier {
    /// The entry that runs it.
    pub kernel: &'static str,
    /// `sync_threads` or `sync_warp`.
    pub word: &'static str,
    /// Where it is called.
    pub file: &'static str,
    /// Where it is called.
    pub line: u32,
    /// Where it is called.
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

/// A device that runs kernels on the host and watches them.
pub struct Emulator {
    schedule: Schedule,
    multiprocessors: u32,
    most_blocks: u32,
    product_kernel: Option<&'static Entry>,
    left_out: Option<Barrier>,
    memory: RefCell<Memory>,
    launches: Cell<u32>,
    kernels: RefCell<BTreeSet<&'static str>>,
}

impl Emulator {
    /// A device that runs threads in this order.
    pub fn new(schedule: Schedule) -> Self {
        Self {
            schedule,
            multiprocessors: 3,
            most_blocks: u32::MAX,
            product_kernel: None,
            left_out: None,
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

    /// The same with so many multiprocessors.
    pub fn with_multiprocessors(self, multiprocessors: u32) -> Self {
        Self {
            multiprocessors,
            ..self
        }
    }

    /// The same with so many blocks along x at most, where blocks can take further turns.
    pub fn with_most_blocks(self, most_blocks: u32) -> Self {
        Self {
            most_blocks,
            ..self
        }
    }

    /// The same, but products that can run on this kernel run on no other.
    pub fn with_product_kernel(self, kernel: &'static Entry) -> Self {
        Self {
            product_kernel: Some(kernel),
            ..self
        }
    }

    /// The same, but threads run past this barrier.
    pub fn without(self, barrier: Barrier) -> Self {
        Self {
            left_out: Some(barrier),
            ..self
        }
    }

    /// The barriers that have held threads.
    pub fn barriers(&self) -> BTreeSet<Barrier> {
        self.memory.borrow().barriers.clone()
    }

    /// How many kernels have been launched.
    pub fn launches(&self) -> u32 {
        self.launches.get()
    }

    /// Which entries have been launched.
    pub fn kernels(&self) -> BTreeSet<&'static str> {
        self.kernels.borrow().clone()
    }
}

/// Whether a GPU would take such a launch.
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
    if u64::from(x) * u64::from(y) * u64::from(z) > MOST_BLOCKS {
        return Err(format!(
            "a grid of ({x}, {y}, {z}) blocks is too large for the emulator"
        ));
    }
    if grid.shared > MOST_SHARED {
        let shared = grid.shared;
        return Err(format!(
            "{shared} bytes of shared memory; not every GPU has more than {MOST_SHARED}"
        ));
    }
    Ok(())
}

impl Device for Emulator {
    type Error = Error;

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    fn most_blocks(&self) -> u32 {
        self.most_blocks
    }

    fn product_kernel(&self) -> Option<&'static Entry> {
        self.product_kernel
    }

    fn scratch(&self, bytes: usize, counters: usize) -> Result<Scratch, Error> {
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
        twin: impl Fn(),
    ) -> Result<(), Error> {
        let name = kernel
            .name(dtype)
            .expect("a kernel that is there for the type");
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
        let left_out = self.left_out.as_ref();
        let launch = Launch::new(name, kernel.threads, shape, order, left_out, &self.memory);
        with_machine(&launch, || launch.run(&twin))
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
