//! Shared memory out of bounds, off its alignment, not written.

use super::*;

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
