//! Global memory: results passed between blocks, scratch memory, counters, outputs.

use super::*;
use core::cell::Cell;
use diptych_device::gpu::{Bits, Vector, atomic, global as memory};

/// A reduction over the grid: the last block adds the partial sums of all blocks. `before` adds the barrier before the
/// increment of the counter; `after` makes all threads of the last block read the sums and not only the one that
/// incremented; `fresh` uses loads that bypass stale caches.
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
                let load = if fresh { f32::load_relaxed } else { f32::load };
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
fn blocks_that_pass_on_results() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        for blocks in [1, 2, 9] {
            let sum = last_block(&emulator, blocks, true, true, true).expect("a correct kernel");
            assert_eq!(sum, blocks as f32 * 2016.0);
        }
        let stale = last_block(&emulator, 3, true, true, false).expect_err("no fault was found");
        assert!(stale.to_string().contains("load_relaxed"), "{stale}");
        let early = last_block(&emulator, 3, false, true, true).expect_err("no fault was found");
        assert!(early.to_string().contains("a data race"), "{early}");
    }
}

#[test]
fn blocks_that_pass_on_results_without_a_counter() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        let scratch = emulator.scratch(4, 0).expect("four bytes");
        let word = scratch.bytes.cast::<f32>();
        // SAFETY: unsound on purpose: the emulator must report it.
        let outcome = launch(&emulator, grid(2, 0), || unsafe {
            if me() == 0 {
                f32::store(word, 1.0);
            }
        });
        let text = outcome.expect_err("no fault was found").to_string();
        assert!(text.contains("a data race"), "{text}");
    }
}

#[test]
fn scratch_memory_out_of_bounds_or_not_written() {
    for schedule in Schedule::ALL {
        let emulator = Emulator::new(schedule);
        let scratch = emulator.scratch(4 * 63, 0).expect("scratch");
        let words = scratch.bytes.cast::<f32>();
        // SAFETY: unsound on purpose: the emulator must report it.
        let outcome = launch(&emulator, grid(1, 0), || unsafe {
            f32::store(words.add(me() as usize), 1.0)
        });
        let text = outcome.expect_err("no fault was found").to_string();
        assert!(
            text.contains("scratch memory out of bounds: 4 bytes at byte 252 of 252"),
            "{text}"
        );
        let scratch = emulator.scratch(4 * 64, 0).expect("scratch");
        let words = scratch.bytes.cast::<f32>();
        let read = |i: u32| {
            // SAFETY: unsound on purpose: the emulator must report it.
            launch(&emulator, grid(1, 0), || unsafe {
                f32::load(words.add(i as usize));
            })
        };
        let text = read(5).expect_err("no fault was found").to_string();
        assert!(
            text.contains("scratch memory that was never written, byte 20"),
            "{text}"
        );
        // SAFETY: 64 words.
        let write = launch(&emulator, grid(1, 0), || unsafe {
            f32::store(words.add(me() as usize), 1.0)
        });
        write.expect("a correct kernel");
        // A later launch may read it.
        read(5).expect("a correct kernel");
    }
}

#[test]
fn a_counter_that_does_not_return_to_0() {
    let emulator = Emulator::new(Schedule::InOrder);
    let scratch = emulator.scratch(0, 2).expect("scratch");
    let counter = scratch.counters.wrapping_add(1);
    // SAFETY: the counter exists.
    let outcome = launch(&emulator, grid(1, 0), || unsafe {
        atomic::fetch_increment(counter, 1000);
    });
    let text = outcome.expect_err("no fault was found").to_string();
    assert!(text.contains("leaves counter 1"), "{text}");
}

/// Bytes of one word that threads write without an order are apart; one byte is not.
#[test]
fn accesses_to_bytes() {
    let bytes = [const { Cell::new(0_u8) }; 64];
    let write = |shift: u32| {
        // SAFETY: each thread writes a byte; in the second launch two write one, which the emulator must report.
        launch(&Emulator::new(Schedule::InOrder), grid(1, 0), || unsafe {
            let at = bytes.as_ptr().add((me() >> shift) as usize);
            <u8 as Bits>::store(at.cast_mut().cast(), u64::from(me()));
        })
    };
    write(0).expect("a correct kernel");
    assert!(bytes.iter().zip(0..).all(|(byte, i)| byte.get() == i));
    let text = write(1).expect_err("no fault was found").to_string();
    assert!(text.contains("a data race"), "{text}");
}

/// Races on the caller's outputs: two threads write the same element, or a block reads another block's element.
#[test]
fn unordered_accesses_to_outputs() {
    let results = [Cell::new(0i64), Cell::new(0)];
    let place = |i: usize| results[i].as_ptr();
    // SAFETY: unsound on purpose: the emulator must report it.
    let twice = || unsafe {
        if me() == 5 || me() == 40 {
            memory::store(place(0), 3);
        }
    };
    expect_fault(grid(1, 0), &["a data race", "writes global memory"], twice);
    let blocks = |read: bool| {
        let block = thread::block_idx_x() as usize;
        // SAFETY: a data race if blocks read.
        unsafe {
            if me() == 7 {
                memory::store(place(block), 4);
            }
            sync_threads();
            if read {
                memory::load(place(1 - block));
            }
        }
    };
    for outcome in outcomes(grid(2, 0), || blocks(true)) {
        let text = outcome.expect_err("no fault was found");
        assert!(text.contains("reads global memory"), "{text}");
    }
    expect_success(grid(2, 0), || blocks(false));
}
