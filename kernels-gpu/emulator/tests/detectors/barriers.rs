//! Barriers that are missing, too weak, or not reached by all threads.

use super::*;

#[test]
fn a_missing_barrier() {
    // The kind of fault depends on whether the reader or the writer is first.
    for outcome in outcomes(grid(1, 256), || mirror(|| {})) {
        let text = outcome.expect_err("no fault was found");
        let race = text.contains("a data race");
        assert!(race || text.contains("never written"), "{text}");
    }
    expect_success(grid(2, 256), || mirror(|| sync_threads()));
}

#[test]
fn a_barrier_before_the_next_iteration() {
    let iterate = |second: bool| {
        for _ in 0..3 {
            mirror(|| sync_threads());
            if second {
                sync_threads();
            }
        }
    };
    expect_fault(grid(1, 256), &["a data race"], || iterate(false));
    expect_success(grid(1, 256), || iterate(true));
}

#[test]
fn a_race_within_a_warp() {
    let swap = |between: fn()| {
        let array = Shared::<u32>::at_byte(0);
        // SAFETY: a data race unless `between` is a barrier of the warp.
        unsafe {
            array.store(me(), me());
            between();
            assert_eq!(array.load(me() ^ 1), me() ^ 1);
        }
    };
    let missing = outcomes(grid(1, 256), || swap(|| {}));
    assert!(missing.iter().all(Result::is_err), "{missing:?}");
    // A shuffle exchanges values, but does not order accesses to memory.
    let shuffled = || {
        swap(|| {
            shuffle(1, 1);
        })
    };
    expect_fault(grid(1, 256), &["a data race", "wrote at"], shuffled);
    expect_success(grid(1, 256), || swap(|| sync_warp()));
}

#[test]
fn a_warp_barrier_where_a_block_barrier_is_needed() {
    let outcomes = outcomes(grid(1, 256), || mirror(|| sync_warp()));
    assert!(outcomes.iter().all(Result::is_err), "{outcomes:?}");
}

#[test]
fn two_writers_of_one_word() {
    let kernel = || {
        // SAFETY: unsound on purpose: the emulator must report it.
        unsafe { Shared::<u32>::at_byte(0).store(me() / 2, 7) };
    };
    expect_fault(
        grid(1, 256),
        &["a data race", "writes byte", "wrote at"],
        kernel,
    );
}

#[test]
fn many_readers_and_then_a_writer() {
    let kernel = |barrier: bool| {
        let word = Shared::<u32>::at_byte(0);
        // SAFETY: a data race unless there is the barrier.
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
    expect_success(grid(3, 4), || kernel(true));
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
    expect_fault(
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
    expect_fault(
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
    expect_fault(
        grid(1, 0),
        &["3 at sync_warp", "0-2, 4-63 at sync_threads"],
        kernel,
    );
}

/// As on GPUs since sm_70, a barrier waits only for threads that have not ended.
#[test]
fn threads_may_end_before_a_barrier() {
    expect_success(grid(2, 0), || {
        if me() < 50 {
            sync_threads();
        }
    });
}

/// Disabling a barrier causes a fault: the tests of the kernels use this to show that every barrier is needed.
#[test]
fn a_disabled_barrier() {
    let kernel = || mirror(|| sync_threads());
    for schedule in Schedule::ALL {
        let whole = Emulator::new(schedule);
        launch(&whole, grid(1, 256), kernel).expect("a correct kernel");
        let barriers: Vec<_> = whole.barriers().into_iter().collect();
        assert_eq!(barriers.len(), 1);
        assert_eq!(barriers[0].kernel, "broken_f32");
        let broken = Emulator::new(schedule).without(barriers[0].clone());
        launch(&broken, grid(1, 256), kernel).expect_err("no fault was found");
    }
}
