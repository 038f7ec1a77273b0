//! Runs the GPU kernels on the host, under `cargo test`, and checks what they do.
//!
//! [`Emulator`] is a [`Device`](diptych_device::launch::Device), so it takes the same launches as a stream of a GPU.
//! Each CUDA thread of a block is a coroutine; the blocks run one after the other. The [`Schedule`] decides in which
//! order threads and blocks run: a bug that one order hides shows in another.
//!
//! A launch ends with a [`Fault`], which names the kernel, the source line and the threads, if
//!
//! * threads wait at different barriers or shuffles, or for threads that have ended;
//! * an access to shared memory is out of bounds or misaligned, or reads memory that was not written;
//! * there is a data race on a 4-byte word of shared or global memory. Accesses are ordered by `sync_threads` within a
//!   block, by `sync_warp` within a warp, and between blocks by `fetch_increment` together with barriers around it.
//!   Shuffles order nothing, because CUDA does not promise that they do;
//! * an access to scratch memory is out of bounds or reads memory that was not written, a load that may return stale
//!   data reads what another block wrote, or a counter is not back at 0 at the end;
//! * a kernel panics, or the launch does not fit the kernel.
//!
//! The emulator does not know the bounds of the caller's arrays: tests place them between guard pages.
//!
//! ```
//! use diptych_emulator::{Emulator, Schedule};
//!
//! let x = [-3.0f32, 0.25, f32::NAN, 7.0];
//! let mut out = [0.0; 4];
//! for schedule in Schedule::ALL {
//!     let device = Emulator::new(schedule);
//!     // SAFETY: both arrays have four elements.
//!     unsafe { diptych_gpu::raw::clamp(&device, 4, x.as_ptr(), -1.0, 1.0, out.as_mut_ptr()) }?;
//!     assert!(out[2].is_nan() && [out[0], out[1], out[3]] == [-1.0, 0.25, 1.0]);
//! }
//! # Ok::<(), diptych_emulator::Error>(())
//! ```

mod block;
mod clock;
mod driver;
mod emulator;
mod fault;
mod global;
mod schedule;
mod scratch;
mod shared;
mod threads;
mod wait;

pub use driver::run_launch;
pub use emulator::{Barrier, Emulator};
pub use fault::{Error, Fault};
pub use schedule::Schedule;
