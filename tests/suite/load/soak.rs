//! Repeats the same work: memory use must stay constant.

use std::time::{Duration, Instant};

use crate::mixed::{CALLS, Mix, Output};
use crate::threads::Pool;
use crate::{allocator, alone, number, say};

/// Returns the resident memory in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number
        .and_then(|number| number.parse().ok())
        .expect("a number of KiB")
}

/// Starts threads with a pool each, makes all calls, and ends the threads and pools.
fn round(mix: &Mix<f32>) {
    std::thread::scope(|scope| {
        let threads = [1, 3].map(|threads| {
            scope.spawn(move || {
                let (pool, mut out) = (Pool::new(threads), Output::default());
                let exec = pool.exec();
                (0..CALLS).for_each(|which| mix.expect(which, &exec, &mut out));
                (0..CALLS).for_each(|which| mix.expect(which, core::ptr::null(), &mut out));
            })
        });
        // Joins explicitly: the end of the scope does not wait until the threads have freed their thread-local buffers.
        for thread in threads {
            thread.join().expect("a thread that ends");
        }
    });
}

/// Repeats all calls for `DIPTYCH_SOAK_SECONDS` seconds (3 by default).
#[test]
fn memory_stays_flat() {
    let _alone = alone();
    let mix = Mix::new();
    (0..20).for_each(|_| round(&mix));
    let (live, before) = (allocator::live(), resident());
    let (start, mut rounds, mut most) = (Instant::now(), 0, before);
    let time = Duration::from_secs(number("DIPTYCH_SOAK_SECONDS", 3));
    while start.elapsed() < time {
        round(&mix);
        rounds += 1;
        most = most.max(resident());
    }
    assert_eq!(
        allocator::live(),
        live,
        "allocations and bytes after {rounds} rounds"
    );
    // 8 MiB allow for the stacks of threads that are just ending; a leak of one page per round would exceed it.
    assert!(
        most < before + 8192,
        "{before} KiB grew to {most} KiB in {rounds} rounds"
    );
    say(&format!(
        "soak: {rounds} rounds in {} s, {before} KiB at first, {most} KiB at most, {} allocations live all the time",
        time.as_secs(),
        live.0
    ));
}
