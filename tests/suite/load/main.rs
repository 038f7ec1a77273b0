//! The library under load: many threads with mixed calls, allocations that fail, long repetition of the same work,
//! pools of every size. `cargo xtask load` runs these tests for longer.
//!
//! The allocator and its counts are global to the process, so these tests run one after the other.

mod allocator;
mod mixed;
mod pools;
mod shortage;
mod soak;
mod threads;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits until no other test runs, and returns a guard that keeps it so.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a number from the environment.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse().unwrap_or(default)
}

/// Prints a line to stderr directly: the test harness shows the output of `print!` only for tests that fail.
fn say(line: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
