//! The library under load: many threads with mixed calls, memory that runs out, hours of the same work,
//! pools of every size. `cargo xtask load` runs this for longer.
//!
//! The allocator is one for the process, so these tests run one after the other.

mod allocator;
mod mixed;
mod pools;
mod shortage;
mod soak;
mod threads;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// One test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).unwrap_or_default();
    text.parse().unwrap_or(default)
}

/// Prints a line past the test harness, which shows what tests print only when they fail.
fn say(line: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}
