//! Small broken kernels: each detector fires, under every schedule unless it says otherwise, and names
//! what a person needs to know. Beside each stands the same kernel put right.

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

/// The kernels here: no parameters, blocks of 64 threads.
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

/// What the emulator says under each schedule.
fn outcomes(grid: Grid, kernel: impl Fn()) -> Vec<Result<(), String>> {
    let run = |schedule| {
        launch(&Emulator::new(schedule), grid, &kernel).map_err(|error| error.to_string())
    };
    Schedule::ALL.map(run).to_vec()
}

/// Every schedule finds it, and says all of `words`.
#[track_caller]
fn found(grid: Grid, words: &[&str], kernel: impl Fn()) {
    for outcome in outcomes(grid, kernel) {
        let text = outcome.expect_err("nothing was found");
        for word in ["kernel broken_f32", "block (0, 0, 0)", "tests/detectors/"]
            .iter()
            .chain(words)
        {
            assert!(text.contains(word), "{word:?} is missing in: {text}");
        }
    }
}

#[track_caller]
fn clean(grid: Grid, kernel: impl Fn()) {
    for outcome in outcomes(grid, kernel) {
        outcome.expect("a right kernel");
    }
}

fn me() -> u32 {
    thread::thread_idx_x()
}

#[track_caller]
fn sync_threads() {
    // SAFETY: where it is wrong, the emulator is to say so.
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

/// Each thread leaves a value and takes its mirror's, with `between` in between.
fn mirror(between: impl Fn()) {
    let array = Shared::<u32>::at_byte(0);
    // SAFETY: right only if `between` is a barrier.
    unsafe {
        array.store(me(), me() * 3);
        between();
        assert_eq!(array.load(63 - me()), (63 - me()) * 3);
    }
}
