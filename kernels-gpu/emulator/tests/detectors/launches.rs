//! Shuffles, panics, and invalid launches.

use super::*;
use diptych_device::gpu::Vector;

#[test]
fn shuffles_exchange_values() {
    expect_success(grid(2, 0), || {
        for lanes in [1, 2, 4, 8, 16, 31] {
            let got = shuffle(me() * 5, lanes);
            assert_eq!(got, (me() ^ lanes) * 5);
            // SAFETY: all threads of the warp reach the shuffle.
            let wide = unsafe { Vector::shuffle_xor(f64::from(me()) + 0.125, lanes) };
            assert_eq!(wide, f64::from(me() ^ lanes) + 0.125);
        }
    });
}

#[test]
fn a_panic_names_the_kernel() {
    let kernel = || assert!(me() != 17, "seventeen");
    for outcome in outcomes(grid(1, 0), kernel) {
        let text = outcome.expect_err("no fault was found");
        assert!(text.contains("thread 17 panics: seventeen"), "{text}");
    }
}

#[test]
fn launches_that_a_gpu_refuses() {
    let emulator = Emulator::new(Schedule::InOrder);
    let refused = |grid: Grid, word: &str| {
        let text = launch(&emulator, grid, || {})
            .expect_err("the launch was accepted")
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
    // SAFETY: the kernel does not use its arguments.
    let outcome = unsafe {
        emulator.launch(
            &KERNEL,
            diptych::Dtype::F32,
            grid(1, 0),
            &mut [core::ptr::null_mut()],
            || {},
        )
    };
    let text = outcome.expect_err("the launch was accepted").to_string();
    assert!(text.contains("1 arguments for 0 parameters"), "{text}");
}
