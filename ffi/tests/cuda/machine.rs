//! Runs launches: the host twin of each kernel.

use core::ffi::{CStr, c_char, c_uint, c_void};
use diptych_device::gpu::host::{Machine, Place, Site, with_machine};
use diptych_device::launch::{self, Device, Grid, Scratch};
use diptych_device::table::Entry;

/// Runs the threads of a grid one after the other: enough for kernels whose threads never meet.
struct OneByOne {
    threads: u32,
}

/// The thread that runs.
struct Thread(Place);

impl Machine for Thread {
    fn place(&self) -> Place {
        self.0
    }
    fn sync_threads(&self, site: Site) {
        unreachable!("{site}")
    }
    fn sync_warp(&self, site: Site) {
        unreachable!("{site}")
    }
    fn shuffle_xor(&self, _: u32, _: u32, site: Site) -> u32 {
        unreachable!("{site}")
    }
    fn load_shared(&self, _: u32, _: &mut [u8], site: Site) {
        unreachable!("{site}")
    }
    fn store_shared(&self, _: u32, _: &[u8], site: Site) {
        unreachable!("{site}")
    }
    fn before_atomic(&self, _: Site) {}
}

impl Device for OneByOne {
    type Error = diptych::Error;

    fn multiprocessors(&self) -> u32 {
        1
    }
    fn scratch(&self, _: usize, _: usize) -> diptych::Result<Scratch> {
        unreachable!("a launch asks for nothing")
    }
    unsafe fn launch(
        &self,
        kernel: &'static Entry,
        _: usize,
        grid: Grid,
        _: &mut [*mut c_void],
        twin: impl Fn(),
    ) -> diptych::Result<()> {
        assert_eq!(self.threads, kernel.threads);
        assert_eq!((grid.blocks.1, grid.blocks.2), (1, 1));
        for block in 0..grid.blocks.0 {
            for thread in 0..self.threads {
                let place = Place {
                    thread,
                    threads: self.threads,
                    block: (block, 0, 0),
                    grid: grid.blocks,
                };
                with_machine(&Thread(place), &twin);
            }
        }
        Ok(())
    }
}

/// What the fake driver calls: the shape is blocks along x, y and z, threads, bytes of shared memory.
pub extern "C" fn run(
    name: *const c_char,
    shape: *const c_uint,
    _stream: *mut c_void,
    arguments: *mut *mut c_void,
) {
    // SAFETY: the fake hands on what the library gave to cuLaunchKernel.
    unsafe {
        let [x, y, z, threads, shared] = *shape.cast::<[u32; 5]>();
        let grid = Grid {
            blocks: (x, y, z),
            shared,
        };
        let name = CStr::from_ptr(name).to_str().expect("a name");
        let done = launch::by_name(&OneByOne { threads }, name, grid, arguments);
        assert_eq!(done, Some(Ok(())), "{name}");
    }
}
