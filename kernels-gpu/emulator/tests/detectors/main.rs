//! Small kernels with a bug, which the emulator must detect under every schedule (unless the test says otherwise) with
//! a message that names the kernel, the block and the source line; and the same kernels without the bug.

mod barriers;
mod global;
mod launches;
mod shared;

use diptych::Dtype;
use diptych_device::gpu::shared::Shared;
use diptych_device::gpu::{thread, warp};
use diptych_device::launch::{Device, Grid, entry};
use diptych_device::table::Entry;
use diptych_emulator::{Emulator, Error, Schedule};
use std::sync::LazyLock;

/// The table entry of the kernels in these tests: no parameters, blocks of 64 threads.
static KERNEL: LazyLock<Entry> = LazyLock::new(|| {
    let mut kernel = entry::clamp;
    kernel.names = [Some("broken_f32"); Dtype::COUNT];
    kernel.threads = 64;
    kernel.parameters = [&[]; Dtype::COUNT];
    kernel
});

fn grid(blocks: u32, shared: u32) -> Grid {
    Grid {
        blocks: (blocks, 1, 1),
        shared,
    }
}

fn launch(emulator: &Emulator, grid: Grid, kernel: impl Fn()) -> Result<(), Error> {
    // SAFETY: the kernels here have no parameters.
    unsafe { emulator.launch(&KERNEL, Dtype::F32, grid, &mut [], kernel) }
}

/// Returns the outcome under each schedule.
fn outcomes(grid: Grid, kernel: impl Fn()) -> Vec<Result<(), String>> {
    let run = |schedule| {
        launch(&Emulator::new(schedule), grid, &kernel).map_err(|error| error.to_string())
    };
    Schedule::ALL.map(run).to_vec()
}

/// Checks that the launch fails under every schedule, with a message that has all of `words`.
#[track_caller]
fn expect_fault(grid: Grid, words: &[&str], kernel: impl Fn()) {
    for outcome in outcomes(grid, kernel) {
        let text = outcome.expect_err("no fault was found");
        for word in ["kernel broken_f32", "block (0, 0, 0)", "tests/detectors/"]
            .iter()
            .chain(words)
        {
            assert!(text.contains(word), "{word:?} is missing in: {text}");
        }
    }
}

/// Checks that the launch succeeds under every schedule.
#[track_caller]
fn expect_success(grid: Grid, kernel: impl Fn()) {
    for outcome in outcomes(grid, kernel) {
        outcome.expect("a correct kernel");
    }
}

/// Returns the index of the running thread in its block.
fn me() -> u32 {
    thread::thread_idx_x()
}

#[track_caller]
fn sync_threads() {
    // SAFETY: the emulator reports wrong uses, which is what these tests check.
    unsafe { thread::sync_threads() }
}

#[track_caller]
fn sync_warp() {
    // SAFETY: as above.
    unsafe { warp::sync_warp() }
}

#[track_caller]
fn shuffle(value: u32, lanes: u32) -> u32 {
    // SAFETY: as above.
    unsafe { warp::shuffle_xor_u32(value, lanes) }
}

/// Each thread writes a value to shared memory, calls `between`, and reads the value of the thread at the mirrored
/// index.
fn mirror(between: impl Fn()) {
    let array = Shared::<u32>::at_byte(0);
    // SAFETY: a data race unless `between` is a barrier.
    unsafe {
        array.store(me(), me() * 3);
        between();
        assert_eq!(array.load(63 - me()), (63 - me()) * 3);
    }
}
