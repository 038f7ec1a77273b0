//! The device suite on a real GPU. With `DIPTYCH_DEVICE=cuda`, a program whose allocator is [`Memory`] allocates
//! from an arena that the CPU and the GPU both reach, and its calls go to the driver instead of the emulator.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::System;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

use diptych::Exec;
use diptych_gpu::driver::{Arguments, Launcher, memory};
use libloading::Library;
use spinning_top::RawSpinlock;
use talc::{TalcLock, source::Manual};

use crate::raw::{Error, On, Result, TestDevice};

/// The size of the arena in bytes. Only the part that is used takes physical memory.
const ARENA: usize = 1 << 30;
/// No memory is mapped below this address.
const PAGE: usize = 4096;
/// The exit code of a program that was told to use a GPU and finds none.
const SKIPPED: i32 = 77;

/// The address of the arena; 0 while there is none.
static START: AtomicUsize = AtomicUsize::new(0);
static TALC: TalcLock<RawSpinlock, Manual> = TalcLock::new(Manual);
/// The GPU's name, written at most once, before `main`.
static NAME: OnceLock<String> = OnceLock::new();

/// Returns whether an address lies in the arena.
fn in_arena(address: usize) -> bool {
    let start = START.load(Ordering::Relaxed);
    start != 0 && address.wrapping_sub(start) < ARENA
}

/// The allocator of the device suite: it uses the arena if there is one that has room, and otherwise the system's
/// allocator.
pub struct Memory;

// SAFETY: both allocators keep the contract, and the address tells which one a block must be returned to.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        unsafe {
            if START.load(Ordering::Relaxed) != 0 {
                let found = TALC.alloc(layout);
                if !found.is_null() {
                    return found;
                }
            }
            System.alloc(layout)
        }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe {
            if in_arena(start.addr()) {
                TALC.dealloc(start, layout);
            } else {
                System.dealloc(start, layout);
            }
        }
    }
}

/// Returns the GPU's name if `DIPTYCH_DEVICE=cuda` chose it.
pub fn name() -> Option<&'static str> {
    NAME.get().map(String::as_str)
}

/// Returns whether the calls of this process go to a GPU.
pub fn is_chosen() -> bool {
    name().is_some()
}

/// Returns whether a test that needs the emulator must be skipped because calls go to a GPU, and reports the skip.
pub fn skips(test: &str) -> bool {
    if is_chosen() {
        // Writes to stderr directly: the test harness shows the output of `print!` only for tests that fail.
        let _ = writeln!(std::io::stderr(), "SKIPPED on cuda: {test}");
    }
    is_chosen()
}

/// Reads `DIPTYCH_DEVICE` and sets up the GPU if it asks for one. Must be called before `main`, so that all memory
/// of the tests comes from the arena. If there is no GPU, prints why and exits.
pub fn choose() {
    let wanted = std::env::var("DIPTYCH_DEVICE").unwrap_or_default();
    let end = |word: &str, why: &str, code: i32| {
        println!("{word}: {why}");
        std::process::exit(code)
    };
    match wanted.as_str() {
        "" | "emulator" => {}
        "cuda" => match prepare() {
            Ok(name) => {
                println!("device: {name}");
                let _ = NAME.set(name);
            }
            Err(why) => end("SKIPPED", &why, SKIPPED),
        },
        other => end(
            "DIPTYCH_DEVICE",
            &format!("{other} is neither emulator nor cuda"),
            2,
        ),
    }
}

/// Finds the GPU, creates the arena, and hands it to the allocator. Returns the GPU's name.
fn prepare() -> core::result::Result<String, String> {
    let context = diptych_gpu::Context::new(0).map_err(|error| error.to_string())?;
    let name = context.name().map_err(|error| error.to_string())?;
    // SAFETY: the driver is loaded already.
    let driver = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
    // SAFETY: the function types are those of the driver, and the context is current.
    let start = unsafe {
        run_launches(&driver);
        managed(&driver)
    }?;
    // Keeps the driver loaded until the process ends.
    core::mem::forget(driver);
    // SAFETY: the arena has ARENA bytes, which nothing else uses.
    unsafe { TALC.lock().claim(start, ARENA) }.ok_or("the arena is too small")?;
    START.store(start.addr(), Ordering::Relaxed);
    Ok(name)
}

/// Has the emulator run the launches if the driver is the fake one (`ffi/tests/cuda/fake_cuda.c`).
///
/// # Safety
/// If the driver has a function `fake_on_launch`, its type must be the one below.
unsafe fn run_launches(driver: &Library) {
    type Launch = unsafe extern "C" fn(*const c_char, *const c_uint, *mut c_void, *mut *mut c_void);
    // SAFETY: as the caller's.
    unsafe {
        if let Ok(on_launch) = driver.get::<extern "C" fn(Launch)>(b"fake_on_launch\0") {
            on_launch(diptych_emulator::run_launch);
        }
    }
}

/// Allocates managed memory that the CPU and the GPU can use at the same time. The pages stay in the CPU's memory,
/// where the GPU reads and writes them, so that no page migrates between two calls.
///
/// # Safety
/// A context of the driver must be current.
unsafe fn managed(driver: &Library) -> core::result::Result<*mut u8, String> {
    const CONCURRENT_MANAGED_ACCESS: c_int = 89;
    const ATTACH_GLOBAL: c_uint = 1;
    const SET_PREFERRED_LOCATION: c_int = 3;
    const SET_ACCESSED_BY: c_int = 5;
    const CPU: c_int = -1;
    type Attribute = unsafe extern "C" fn(*mut c_int, c_int, c_int) -> c_int;
    type Allocate = unsafe extern "C" fn(*mut u64, usize, c_uint) -> c_int;
    type Advise = unsafe extern "C" fn(u64, usize, c_int, c_int) -> c_int;
    let failed = |call: &str, code: c_int| match code {
        0 => Ok(()),
        _ => Err(format!("{call} failed with CUDA error {code}")),
    };
    let missing = |error: libloading::Error| error.to_string();
    // SAFETY: as the caller's; the output pointers are valid.
    unsafe {
        let attribute = driver
            .get::<Attribute>(b"cuDeviceGetAttribute\0")
            .map_err(missing)?;
        let mut concurrent = 0;
        let code = attribute(&mut concurrent, CONCURRENT_MANAGED_ACCESS, 0);
        failed("cuDeviceGetAttribute", code)?;
        if concurrent == 0 {
            return Err("the CPU and the GPU cannot use managed memory at the same time".into());
        }
        let allocate = driver
            .get::<Allocate>(b"cuMemAllocManaged\0")
            .map_err(missing)?;
        let mut start = 0;
        failed(
            "cuMemAllocManaged",
            allocate(&mut start, ARENA, ATTACH_GLOBAL),
        )?;
        let advise = driver.get::<Advise>(b"cuMemAdvise\0").map_err(missing)?;
        failed(
            "cuMemAdvise",
            advise(start, ARENA, SET_PREFERRED_LOCATION, CPU),
        )?;
        failed("cuMemAdvise", advise(start, ARENA, SET_ACCESSED_BY, 0))?;
        Ok(ptr::with_exposed_provenance_mut(start as usize))
    }
}

/// The GPU as a backend of the suites: each call is launched on the default stream and then synchronized.
pub struct Gpu {
    /// The caller's scratch memory, address and bytes; NULL for none.
    pub workspace: (*mut c_void, usize),
}

impl Gpu {
    fn once(
        &self,
        workspace: (*mut c_void, usize),
        arguments: Arguments<'_>,
        device: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()> {
        // One call at a time: all test threads share the default stream.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: NULL is the default stream; the workspace is valid during the whole call.
        unsafe {
            let launcher = Launcher::new(ptr::null_mut(), workspace, arguments)?;
            let done = device(&TestDevice::Gpu(&launcher));
            memory::synchronize(ptr::null_mut())?;
            done
        }
    }
}

impl On for Gpu {
    fn run(
        &self,
        arguments: Arguments<'_>,
        _: &mut dyn FnMut(&Exec<'_>) -> Result<()>,
        device: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()> {
        // The pointer of an empty `Vec` is dangling; the C interface expects NULL.
        let anywhere = |pointer: &*const c_void| match pointer.addr() {
            0..PAGE => ptr::null(),
            _ => *pointer,
        };
        let pointers: Vec<_> = arguments.pointers.iter().map(anywhere).collect();
        let arguments = Arguments {
            pointers: &pointers,
            ..arguments
        };
        match self.once(self.workspace, arguments, device) {
            // On the CPU the library allocates scratch memory itself, and the cases rely on that.
            Err(Error::Argument(diptych::Error::WorkspaceTooSmall { needed }))
                if self.workspace.0.is_null() =>
            {
                let mut own = vec![0u8; needed];
                self.once((own.as_mut_ptr().cast(), needed), arguments, device)
            }
            done => done,
        }
    }
}
