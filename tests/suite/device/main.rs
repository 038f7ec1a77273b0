//! The device panel without a GPU: its kernels run on the emulator, and pass the cases of the CPU with the
//! same bits.
//!
//! The cases are those of `conformance`, `properties` and `contract`, the very same files; here `backend` is
//! the emulator. Schedules and sizes of the GPU take turns over the cases.
//!
//! `DIPTYCH_DEVICE=cuda` runs the same cases on the GPU of the machine, through the driver.

mod barriers;
mod conformance;
mod coverage;
mod driver_calls;
mod plans;
mod products;
mod properties;
mod run;
mod trials;

// What the files of the other suites ask of their crate.
#[path = "../contract/bounds.rs"]
mod bounds;
#[path = "../contract/bounds_matrices.rs"]
mod bounds_matrices;
use conformance::gemm_case;

use diptych_tests::device as backend;
use diptych_tests::gpu;
#[path = "../properties/driver.rs"]
mod driver;
#[path = "../properties/inputs.rs"]
mod inputs;
#[path = "../properties/stack.rs"]
mod stack;

#[global_allocator]
static MEMORY: gpu::Memory = gpu::Memory;

/// Runs before `main`, so that whatever a test allocates lies where the GPU reaches it.
#[cfg(target_os = "linux")]
// SAFETY: the section holds functions that the loader calls without a result.
#[unsafe(link_section = ".init_array")]
#[used]
static CHOOSE: extern "C" fn() = {
    extern "C" fn choose() {
        gpu::choose();
    }
    choose
};
