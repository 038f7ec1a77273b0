//! Launches that reach a driver without a GPU: by name, with arguments as `cuLaunchKernel` takes them.

use core::ffi::{CStr, c_char, c_uint, c_void};
use diptych_device::launch::{self, Grid};

use crate::{Emulator, Schedule};

/// Runs an entry of the device code. `shape` is blocks along x, y and z, threads of a block, bytes of shared
/// memory. Without such an entry, and on faults, it ends the process: its caller is C.
///
/// # Safety
/// `name` is a string, `shape` five numbers, and the arguments are those of a launch that the kernel allows.
pub unsafe extern "C" fn run_launch(
    name: *const c_char,
    shape: *const c_uint,
    _stream: *mut c_void,
    arguments: *mut *mut c_void,
) {
    // SAFETY: as the caller's.
    unsafe {
        let [x, y, z, threads, shared] = *shape.cast::<[u32; 5]>();
        let name = CStr::from_ptr(name).to_str().expect("a name");
        let entry = launch::entry::ALL
            .iter()
            .find(|entry| entry.names().any(|known| known == name));
        assert_eq!(entry.map(|entry| entry.threads), Some(threads), "{name}");
        let grid = Grid {
            blocks: (x, y, z),
            shared,
        };
        let done = launch::by_name(&Emulator::new(Schedule::InOrder), name, grid, arguments);
        assert!(matches!(done, Some(Ok(()))), "{name}: {done:?}");
    }
}
