//! Runs grids of the GPU kernels on the host, under `cargo test`, and watches them.
//!
//! [`Emulator`] is a [`Device`](diptych_device::launch::Device): what launches kernels on a stream of a GPU
//! launches them here. Every CUDA thread of a block is a coroutine; the blocks run one after the other. In
//! which order things happen is the [`Schedule`]'s, for what one order hides another shows.
//!
//! A launch ends with a [`Fault`], which names the kernel, the line and the threads, when
//!
//! * threads wait at different barriers or shuffles, or for threads that have ended;
//! * shared memory is used out of bounds, misaligned, or read before it was written;
//! * two threads use the same word of shared memory, or of global memory after one has written it, and
//!   nothing orders them: `sync_threads` within a block, `sync_warp` within a warp, `fetch_increment` with
//!   the barriers round it between blocks. Shuffles order nothing: CUDA does not promise that they do;
//! * scratch memory is used out of bounds or read before it was written, what another block wrote is read
//!   by a load that may find it stale, or a counter does not go back to 0;
//! * a kernel panics, or the launch does not fit the kernel.
//!
//! What the arrays of callers are is not known here: tests put them between pages that nobody may touch.
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
