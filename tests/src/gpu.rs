//! The device suite on a real GPU: `DIPTYCH_DEVICE=cuda` gives a program whose allocator is [`Memory`] an
//! arena that the CPU and the GPU both reach, and its calls to the driver instead of the emulator.

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

/// Bytes of the arena. Only what is used of it takes memory.
const ARENA: usize = 1 << 30;
/// No memory lies below this address.
const PAGE: usize = 4096;
/// How a program ends that cannot run where it was told to.
const SKIPPED: i32 = 77;

/// Where the arena starts; 0 while there is none.
static START: AtomicUsize = AtomicUsize::new(0);
static TALC: TalcLock<RawSpinlock, Manual> = TalcLock::new(Manual);
/// Written once, before `main`.
static NAME: OnceLock<String> = OnceLock::new();

/// Whether an address lies in the arena.
fn in_arena(address: usize) -> bool {
    let start = START.load(Ordering::Relaxed);
    start != 0 && address.wrapping_sub(start) < ARENA
}

/// The allocator of the device suite: the arena where there is one, else the system's.
pub struct Memory;

// SAFETY: both allocators are; each gets back what it gave, for no address is of both.
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

/// The GPU's name, where `DIPTYCH_DEVICE=cuda` chose it.
pub fn name() -> Option<&'static str> {
    NAME.get().map(String::as_str)
}

/// Whether the calls of this process go to a GPU.
pub fn is_chosen() -> bool {
    name().is_some()
}

/// Says that a test is about the emulator alone, where calls go to a GPU.
pub fn skips(test: &str) -> bool {
    if is_chosen() {
        // Past the test harness, which shows what tests print only when they fail.
        let _ = writeln!(std::io::stderr(), "SKIPPED on cuda: {test}");
    }
    is_chosen()
}

/// Looks at `DIPTYCH_DEVICE`. To be called before `main`, when no test has memory yet; without the GPU that
/// it asks for, the program says so and ends.
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

/// Finds the GPU, makes the arena, and hands it to the allocator.
fn prepare() -> core::result::Result<String, String> {
    let context = diptych_gpu::Context::new(0).map_err(|error| error.to_string())?;
    let name = context.name().map_err(|error| error.to_string())?;
    // SAFETY: the driver is loaded already.
    let driver = unsafe { Library::new("libcuda.so.1") }.map_err(|error| error.to_string())?;
    // SAFETY: the functions have the types of the driver's, and the context is current.
    let start = unsafe {
        run_launches(&driver);
        managed(&driver)
    }?;
    // The driver stays for as long as the process lives.
    core::mem::forget(driver);
    // SAFETY: so many bytes, which nobody else uses.
    unsafe { TALC.lock().claim(start, ARENA) }.ok_or("the arena is too small")?;
    START.store(start.addr(), Ordering::Relaxed);
    Ok(name)
}

/// On a driver without a GPU (`ffi/tests/cuda/fake_cuda.c`) the emulator runs the launches.
///
/// # Safety
/// The fake's function has the type below.
unsafe fn run_launches(driver: &Library) {
    type Launch = unsafe extern "C" fn(*const c_char, *const c_uint, *mut c_void, *mut *mut c_void);
    // SAFETY: as the caller's.
    unsafe {
        if let Ok(on_launch) = driver.get::<extern "C" fn(Launch)>(b"fake_on_launch\0") {
            on_launch(diptych_emulator::run_launch);
        }
    }
}

/// Memory that the CPU and the GPU reach at the same time. It stays where the CPU has it, and the GPU reads
/// and writes it there: no page moves to and fro between two calls.
///
/// # Safety
/// A context of the driver is current.
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
    // SAFETY: as the caller's; the places are there.
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

/// The GPU: each call is launched on the default stream and waited for.
pub struct Gpu {
    /// Scratch memory that the caller lends; NULL: none.
    pub workspace: (*mut c_void, usize),
}

impl Gpu {
    fn once(
        &self,
        workspace: (*mut c_void, usize),
        arguments: Arguments<'_>,
        device: &mut dyn FnMut(&TestDevice<'_>) -> Result<()>,
    ) -> Result<()> {
        // One call at a time: the default stream is one queue for all threads of the tests.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the default stream; the workspace is the caller's for the whole call.
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
        // An empty vector points nowhere, which is what NULL says in C.
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
            // The CPU has memory of its own for calls of any size, and the cases ask for it.
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
