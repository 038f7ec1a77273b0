//! The GPU backend without a GPU: its kernels run on the emulator, and must pass the CPU's cases with the same bits.
//!
//! The cases are the files of `conformance`, `properties` and `contract`, included here with the emulator as
//! `backend`. Successive cases use different schedules and numbers of multiprocessors.
//!
//! `DIPTYCH_FULL=1`, which the step `device` of `cargo xtask check` sets, adds what takes minutes more: every case under
//! every schedule, and every barrier left out in turn.
//!
//! `DIPTYCH_DEVICE=cuda` runs the same cases on the GPU of the machine, through the driver.

mod barriers;
mod conformance;
mod coverage;
mod driver_calls;
mod fingerprint;
mod plans;
mod products;
mod properties;
mod row_maps;
mod run;
mod tensors;
mod trials;

// The included files take these from the module above them.
#[path = "../contract/bounds.rs"]
mod bounds;
#[path = "../contract/bounds_matrices.rs"]
mod bounds_matrices;

use diptych_tests::device as backend;
use diptych_tests::gpu;
#[path = "../properties/inputs.rs"]
mod inputs;
#[path = "../properties/stack.rs"]
mod stack;

#[global_allocator]
static MEMORY: gpu::Memory = gpu::Memory;

/// Runs before `main`, so that all memory that tests allocate is accessible to the GPU.
#[cfg(target_os = "linux")]
// SAFETY: the section holds pointers to functions that the loader calls; they return nothing.
#[unsafe(link_section = ".init_array")]
#[used]
static CHOOSE: extern "C" fn() = {
    extern "C" fn choose() {
        gpu::choose();
    }
    choose
};
