//! Runs launches: the emulator, as the fake driver's GPU.

use core::ffi::{CStr, c_char, c_uint, c_void};
use diptych_device::launch::{self, Grid};
use diptych_emulator::{Emulator, Schedule};

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
        let name = CStr::from_ptr(name).to_str().expect("a name");
        let entry = launch::entry::ALL
            .iter()
            .find(|entry| entry.names.contains(&name));
        assert_eq!(entry.map(|entry| entry.threads), Some(threads), "{name}");
        let grid = Grid {
            blocks: (x, y, z),
            shared,
        };
        let done = launch::by_name(&Emulator::new(Schedule::InOrder), name, grid, arguments);
        assert!(matches!(done, Some(Ok(()))), "{name}: {done:?}");
    }
}

/// For launches whose results are not looked at.
pub extern "C" fn ignore(_: *const c_char, _: *const c_uint, _: *mut c_void, _: *mut *mut c_void) {}
