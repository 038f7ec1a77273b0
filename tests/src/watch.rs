//! A limit for calls that might never return.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Far more than any case takes, also in an emulator on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// Calls `body`. If it takes too long, ends the process with a message that contains `what`: nothing else ends a loop in
/// the library.
pub fn watched<R>(what: String, body: impl FnOnce() -> R) -> R {
    let (running, ended) = channel::<()>();
    std::thread::spawn(move || {
        if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            eprintln!("still running after {} s:\n{what}", LIMIT.as_secs());
            std::process::abort();
        }
    });
    let result = body();
    drop(running);
    result
}
