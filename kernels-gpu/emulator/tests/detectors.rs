//! Small broken kernels: each detector fires, under every schedule unless it says otherwise, and names
//! what a person needs to know. Beside each stands the same kernel put right.

use core::cell::Cell;
use diptych_device::gpu::shared::Shared;
use diptych_device::gpu::{Vector, atomic, thread, warp};
use diptych_device::launch::{Device, Grid, entry};
use diptych_device::table::Entry;
use diptych_emulator::{Emulator, Error, Schedule};
use std::sync::LazyLock;

/// The kernels of this file: no parameters, blocks of 64 threads.
static KERNEL: LazyLock<Entry> = LazyLock::new(|| {
    let mut kernel = entry::clamp;
    kernel.names = ["broken_f32", "broken_f64"];
    kernel.threads = 64;
    kernel.parameters = [&[], &[]];
    kernel
});

fn grid(blocks: u32, shared: u32) -> Grid {
    Grid {
        blocks: (blocks, 1, 1),
        shared,
    }
}

fn launch(emulator: &Emulator, grid: Grid, kernel: impl Fn()) -> Result<(), Error> {
    // SAFETY: the kernels of this file have no parameters.
    unsafe { emulator.launch(&KERNEL, 0, grid, &mut [], kernel) }
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
        for word in ["kernel broken_f32", "block (0, 0, 0)", "detectors.rs:"]
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

#[test]
fn a_missing_barrier() {
    // Which it is depends on who comes first.
    for outcome in outcomes(grid(1, 256), || mirror(|| {})) {
        let text = outcome.expect_err("nothing was found");
        let race = text.contains("a data race");
        assert!(race || text.contains("nobody has written"), "{text}");
    }
    // SAFETY: all threads come here.
    clean(grid(2, 256), || mirror(|| sync_threads()));
}

#[test]
fn a_barrier_before_the_next_turn() {
    let turns = |second: bool| {
        for _ in 0..3 {
            mirror(|| sync_threads());
            if second {
                sync_threads();
            }
        }
    };
    found(grid(1, 256), &["a data race"], || turns(false));
    clean(grid(1, 256), || turns(true));
}

#[test]
fn a_race_within_a_warp() {
    let swap = |between: fn()| {
        let array = Shared::<u32>::at_byte(0);
        // SAFETY: right only if `between` is a barrier of the warp.
        unsafe {
            array.store(me(), me());
            between();
            assert_eq!(array.load(me() ^ 1), me() ^ 1);
        }
    };
    let missing = outcomes(grid(1, 256), || swap(|| {}));
    assert!(missing.iter().all(Result::is_err), "{missing:?}");
    // A shuffle brings values together, and promises nothing about memory.
    let shuffled = || {
        swap(|| {
            shuffle(1, 1);
        })
    };
    found(grid(1, 256), &["a data race", "wrote at"], shuffled);
    clean(grid(1, 256), || swap(|| sync_warp()));
}

#[test]
fn a_warp_barrier_where_a_block_barrier_is_needed() {
    let outcomes = outcomes(grid(1, 256), || mirror(|| sync_warp()));
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

#[test]
fn two_writers_of_one_word() {
    let kernel = || {
        // SAFETY: not safe: that is the point.
        unsafe { Shared::<u32>::at_byte(0).store(me() / 2, 7) };
    };
    found(
        grid(1, 256),
        &["a data race", "writes byte", "wrote at"],
        kernel,
    );
}

#[test]
fn many_readers_and_then_a_writer() {
    let kernel = |barrier: bool| {
        let word = Shared::<u32>::at_byte(0);
        // SAFETY: right with the barrier.
        unsafe {
            if me() == 0 {
                word.store(0, 5);
            }
            sync_threads();
            assert_eq!(word.load(0), 5);
            if barrier {
                sync_threads();
            }
            if me() == 63 {
                word.store(0, 6);
            }
        }
    };
    let without = outcomes(grid(1, 4), || kernel(false));
    assert!(without.iter().all(Result::is_err), "{without:?}");
    clean(grid(3, 4), || kernel(true));
}

#[test]
#[allow(clippy::if_same_then_else, reason = "two places are the point")]
fn different_barriers_in_two_branches() {
    let kernel = || {
        if me() < 40 {
            sync_threads();
        } else {
            sync_threads();
        }
    };
    found(
        grid(1, 0),
        &["0-39 at sync_threads", "40-63 at sync_threads"],
        kernel,
    );
}

#[test]
fn a_shuffle_that_half_the_warp_skips() {
    let kernel = || {
        if me() % 32 < 16 {
            shuffle(me(), 1);
        }
    };
    found(
        grid(1, 0),
        &["0-15, 32-47 at a shuffle", "16-31, 48-63 have ended"],
        kernel,
    );
}

#[test]
fn a_warp_barrier_against_a_block_barrier() {
    let kernel = || {
        if me() == 3 {
            sync_warp();
        }
        sync_threads();
    };
    found(
        grid(1, 0),
        &["3 at sync_warp", "0-2, 4-63 at sync_threads"],
        kernel,
    );
}

/// As on a GPU since sm_70: a barrier waits for those that have not ended.
#[test]
fn threads_may_end_before_a_barrier() {
    clean(grid(2, 0), || {
        if me() < 50 {
            sync_threads();
        }
    });
}

#[test]
fn shared_memory_out_of_bounds() {
    let read = || {
        // SAFETY: not safe: that is the point.
        unsafe { Shared::<f32>::at_byte(0).store(me(), 1.0) };
    };
    found(
        grid(1, 252),
        &["out of bounds: bytes 252 to 256 of 252", "thread 63 at"],
        read,
    );
    clean(grid(1, 256), read);
}

#[test]
fn shared_memory_off_its_alignment() {
    let kernel = || {
        // SAFETY: not safe: that is the point.
        unsafe { Shared::<f64>::at_byte(4).store(me(), 1.0) };
    };
    found(
        grid(1, 1024),
        &["off its alignment: 8 bytes at byte"],
        kernel,
    );
}

#[test]
fn shared_memory_that_nobody_has_written() {
    let kernel = |write: bool| {
        let array = Shared::<f64>::at_byte(0);
        // SAFETY: right if it is written.
        unsafe {
            if write || me() != 9 {
                array.store(me(), 2.0);
            }
            sync_threads();
            array.load(me());
        }
    };
    found(grid(1, 512), &["nobody has written, byte 72"], || {
        kernel(false)
    });
    clean(grid(1, 512), || kernel(true));
}

/// What an earlier block left is not initialised for the next.
#[test]
fn shared_memory_of_another_block() {
    let kernel = || {
        let array = Shared::<u32>::at_byte(0);
        // SAFETY: not safe: that is the point.
        unsafe {
            if thread::block_idx_x() == 0 {
                array.store(me(), 1);
            } else {
                array.load(me());
            }
        }
    };
    for outcome in outcomes(grid(2, 256), kernel) {
        let text = outcome.expect_err("nothing was found");
        assert!(
            text.contains("nobody has written") && text.contains("block (1, 0, 0)"),
            "{text}"
        );
    }
}

#[test]
fn shuffles_exchange_values() {
    clean(grid(2, 0), || {
        for lanes in [1, 2, 4, 8, 16, 31] {
            let got = shuffle(me() * 5, lanes);
            assert_eq!(got, (me() ^ lanes) * 5);
            // SAFETY: as above.
            let wide = unsafe { Vector::shuffle_xor(f64::from(me()) + 0.125, lanes) };
            assert_eq!(wide, f64::from(me() ^ lanes) + 0.125);
        }
    });
}

#[test]
fn a_panic_names_the_kernel() {
    let kernel = || assert!(me() != 17, "seventeen");
    for outcome in outcomes(grid(1, 0), kernel) {
        let text = outcome.expect_err("nothing was found");
        assert!(text.contains("thread 17 panics: seventeen"), "{text}");
    }
}

/// The last block adds what all blocks have left: the pattern of reductions over a grid.
fn last_block(
    emulator: &Emulator,
    blocks: u32,
    before: bool,
    after: bool,
    fresh: bool,
) -> Result<f32, Error> {
    let scratch = emulator.scratch(4 * 64 * blocks as usize, 1)?;
    let (partials, counter) = (scratch.bytes.cast::<f32>(), scratch.counters);
    let result = Cell::new(0.0);
    launch(emulator, grid(blocks, 4), || {
        let (block, last) = (thread::block_idx_x(), thread::grid_dim_x() - 1);
        let word = Shared::<u32>::at_byte(0);
        // SAFETY: scratch memory has 64 words for each block, shared memory has one word.
        unsafe {
            f32::store(partials.add((block * 64 + me()) as usize), me() as f32);
            if before {
                sync_threads();
            }
            if me() == 0 {
                word.store(0, atomic::fetch_increment(counter, last));
            }
            sync_threads();
            if word.load(0) == last && (after || me() == 0) {
                let load = if fresh { f32::load_fresh } else { f32::load };
                let mine = (0..thread::grid_dim_x())
                    .map(|b| load(partials.add((b * 64 + 63 - me()) as usize)));
                let sum: f32 = mine.sum();
                result.set(result.get() + sum);
            }
        }
    })?;
    Ok(result.get())
}

#[test]
fn blocks_that_hand_on_results() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        // Twice: the counter is 0 again.
        for blocks in [1, 2, 9] {
            let sum = last_block(&emulator, blocks, true, true, true).expect("a right kernel");
            assert_eq!(sum, blocks as f32 * 2016.0);
        }
        let stale = last_block(&emulator, 3, true, true, false).expect_err("nothing was found");
        assert!(stale.to_string().contains("load_fresh"), "{stale}");
        let early = last_block(&emulator, 3, false, true, true).expect_err("nothing was found");
        assert!(early.to_string().contains("a data race"), "{early}");
    }
}

#[test]
fn blocks_that_hand_on_results_without_counting() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        let scratch = emulator.scratch(4, 0).expect("four bytes");
        let word = scratch.bytes.cast::<f32>();
        // SAFETY: not safe: that is the point.
        let outcome = launch(&emulator, grid(2, 0), || unsafe {
            if me() == 0 {
                f32::store(word, 1.0);
            }
        });
        let text = outcome.expect_err("nothing was found").to_string();
        assert!(text.contains("a data race"), "{text}");
    }
}

#[test]
fn scratch_memory_out_of_bounds_or_not_written() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        let scratch = emulator.scratch(4 * 63, 0).expect("scratch");
        let words = scratch.bytes.cast::<f32>();
        // SAFETY: not safe: that is the point.
        let outcome = launch(&emulator, grid(1, 0), || unsafe {
            f32::store(words.add(me() as usize), 1.0)
        });
        let text = outcome.expect_err("nothing was found").to_string();
        assert!(
            text.contains("scratch memory out of bounds: 4 bytes at byte 252 of 252"),
            "{text}"
        );
        let scratch = emulator.scratch(4 * 64, 0).expect("scratch");
        let words = scratch.bytes.cast::<f32>();
        let read = |i: u32| {
            // SAFETY: not safe: that is the point.
            launch(&emulator, grid(1, 0), || unsafe {
                f32::load(words.add(i as usize));
            })
        };
        let text = read(5).expect_err("nothing was found").to_string();
        assert!(
            text.contains("scratch memory that nobody has written, byte 20"),
            "{text}"
        );
        // SAFETY: 64 words.
        let write = launch(&emulator, grid(1, 0), || unsafe {
            f32::store(words.add(me() as usize), 1.0)
        });
        write.expect("a right kernel");
        // What an earlier launch has written is there.
        read(5).expect("a right kernel");
    }
}

#[test]
fn a_counter_that_is_not_0_again() {
    let emulator = Emulator::new(Schedule::InOrder);
    let scratch = emulator.scratch(0, 2).expect("scratch");
    let counter = scratch.counters.wrapping_add(1);
    // SAFETY: the counter is there.
    let outcome = launch(&emulator, grid(1, 0), || unsafe {
        atomic::fetch_increment(counter, 1000);
    });
    let text = outcome.expect_err("nothing was found").to_string();
    assert!(text.contains("leaves counter 1"), "{text}");
}

#[test]
fn launches_that_no_gpu_takes() {
    let emulator = Emulator::new(Schedule::InOrder);
    let refused = |grid: Grid, word: &str| {
        let text = launch(&emulator, grid, || {})
            .expect_err("it was taken")
            .to_string();
        assert!(text.contains(word), "{text}");
    };
    refused(grid(0, 0), "a grid of");
    refused(
        Grid {
            blocks: (1, 65536, 1),
            shared: 0,
        },
        "a grid of",
    );
    refused(grid(1, 1 << 20), "bytes of shared memory");
    // SAFETY: the kernel does not look at arguments.
    let outcome =
        unsafe { emulator.launch(&KERNEL, 0, grid(1, 0), &mut [core::ptr::null_mut()], || {}) };
    let text = outcome.expect_err("it was taken").to_string();
    assert!(text.contains("1 arguments for 0 parameters"), "{text}");
}

/// A barrier that is left out is missed: the way in which tests show that each barrier is needed.
#[test]
fn a_barrier_left_out() {
    let kernel = || mirror(|| sync_threads());
    for schedule in Schedule::ALL {
        let whole = Emulator::new(schedule);
        launch(&whole, grid(1, 256), kernel).expect("a right kernel");
        let barriers: Vec<_> = whole.barriers().into_iter().collect();
        assert_eq!(barriers.len(), 1);
        assert_eq!(barriers[0].kernel, "broken_f32");
        let broken = Emulator::new(schedule).without(barriers[0].clone());
        launch(&broken, grid(1, 256), kernel).expect_err("nothing was found");
    }
}
