//! Accesses to shared memory that are out of bounds or misaligned, or that read memory that was not written.

use super::*;

#[test]
fn shared_memory_out_of_bounds() {
    let write = || {
        // SAFETY: unsound on purpose: the emulator must report it.
        unsafe { Shared::<f32>::at_byte(0).store(me(), 1.0) };
    };
    expect_fault(
        grid(1, 252),
        &["out of bounds: bytes 252 to 256 of 252", "thread 63 at"],
        write,
    );
    expect_success(grid(1, 256), write);
}

#[test]
fn misaligned_shared_memory() {
    let kernel = || {
        // SAFETY: unsound on purpose: the emulator must report it.
        unsafe { Shared::<f64>::at_byte(4).store(me(), 1.0) };
    };
    expect_fault(
        grid(1, 1024),
        &["misaligned access to shared memory: 8 bytes at byte"],
        kernel,
    );
}

#[test]
fn shared_memory_that_was_never_written() {
    let kernel = |write: bool| {
        let array = Shared::<f64>::at_byte(0);
        // SAFETY: sound if all words are written.
        unsafe {
            if write || me() != 9 {
                array.store(me(), 2.0);
            }
            sync_threads();
            array.load(me());
        }
    };
    expect_fault(grid(1, 512), &["never written, byte 72"], || kernel(false));
    expect_success(grid(1, 512), || kernel(true));
}

/// Data that an earlier block has left count as uninitialised for the next block.
#[test]
fn shared_memory_of_another_block() {
    let kernel = || {
        let array = Shared::<u32>::at_byte(0);
        // SAFETY: unsound on purpose: the emulator must report it.
        unsafe {
            if thread::block_idx_x() == 0 {
                array.store(me(), 1);
            } else {
                array.load(me());
            }
        }
    };
    for outcome in outcomes(grid(2, 256), kernel) {
        let text = outcome.expect_err("no fault was found");
        assert!(
            text.contains("never written") && text.contains("block (1, 0, 0)"),
            "{text}"
        );
    }
}
