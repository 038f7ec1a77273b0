//! Calls that were held up: when another program has the CPU of a worker in the middle of a task, the caller has to wait
//! for the scheduler's next slice, some milliseconds. Calls then run alone for a while.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A shorter wait is not a slice of the scheduler.
const LEAST: Duration = Duration::from_micros(500);
/// Calls run alone for this many times the wait, so that waits take at most about a sixteenth of the time.
const TIMES: u32 = 16;

/// Whether calls run alone. It has no lock, which a `fork` could leave locked.
#[derive(Debug)]
pub struct Backoff {
    start: Instant,
    /// Until when, in microseconds after `start`; 0 when they do not.
    until: AtomicU64,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            until: AtomicU64::new(0),
        }
    }
}

impl Backoff {
    /// Returns whether calls are to run alone.
    pub fn is_on(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return false;
        }
        let on = self.micros(Duration::ZERO) < until;
        if !on {
            self.until.store(0, Ordering::Relaxed);
        }
        on
    }

    /// Notes that a call `worked` itself, and then `waited` for workers. One that waits longer than it works takes
    /// longer than on one thread.
    pub fn note(&self, worked: Duration, waited: Duration) {
        if waited > worked.max(LEAST) {
            let until = self.micros(waited * TIMES);
            self.until.store(until, Ordering::Relaxed);
        }
    }

    /// Returns the time that is `later` than now.
    fn micros(&self, later: Duration) -> u64 {
        let time = self.start.elapsed() + later;
        u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_make_calls_run_alone_for_a_while() {
        let (short, long) = (LEAST / 2, 2 * LEAST);
        let backoff = Backoff::default();
        backoff.note(Duration::ZERO, short);
        backoff.note(long, long);
        assert!(!backoff.is_on());
        backoff.note(short, long);
        assert!(backoff.is_on());
        std::thread::sleep(2 * TIMES * long);
        assert!(!backoff.is_on());
        assert_eq!(backoff.until.load(Ordering::Relaxed), 0);
    }
}
