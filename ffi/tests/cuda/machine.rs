//! Runs launches: the host twin of each kernel, in the emulator.

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
        let grid = Grid {
            blocks: (x, y, z),
            shared,
        };
        let name = CStr::from_ptr(name).to_str().expect("a name");
        let mut kernels = launch::entry::ALL.iter();
        let kernel = kernels.find(|kernel| kernel.names.contains(&name));
        assert_eq!(kernel.map(|kernel| kernel.threads), Some(threads), "{name}");
        let emulator = Emulator::new(Schedule::InOrder);
        match launch::by_name(&emulator, name, grid, arguments) {
            Some(Ok(())) => {}
            Some(Err(error)) => panic!("{error}"),
            None => panic!("no kernel {name}"),
        }
    }
}
