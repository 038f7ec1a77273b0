//! Launches by name, with arguments as `cuLaunchKernel` takes them, for a stand-in of the CUDA driver.

use core::ffi::{CStr, c_char, c_uint, c_void};
use diptych_device::launch::{self, Grid};

use crate::{Emulator, Schedule};

/// Runs a kernel. `shape` has the blocks along x, y and z, the threads of a block, and its bytes of shared memory. If
/// there is no such kernel or it has a fault, this ends the process, because the caller is C.
///
/// # Safety
/// `name` must be a C string, `shape` must point to five numbers, and the arguments must be those that the kernel
/// demands.
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
