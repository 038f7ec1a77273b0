//! What the caller and the workers of a pool share: the work of a call, who takes part in it, and who sleeps.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::any::Any;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::affinity;
use super::backoff::Backoff;

/// The state that the caller and the workers share.
#[derive(Debug, Default)]
pub struct Control {
    /// Whether a call is using the pool.
    pub busy: AtomicBool,
    /// Counts the calls, so that workers see a new one without taking the lock.
    pub calls: AtomicU64,
    /// The next index of the current call.
    next: AtomicUsize,
    /// How many workers run tasks of the current call; changed only under the lock.
    active: AtomicUsize,
    /// How many workers sleep; changed only under the lock.
    pub asleep: AtomicUsize,
    /// The CPU that the last caller ran on.
    caller_cpu: AtomicUsize,
    pub backoff: Backoff,
    state: Mutex<State>,
    /// Signals workers: there is work, or the pool is closing.
    pub work_ready: Condvar,
    /// Signals the caller: no worker is active.
    finished: Condvar,
}

#[derive(Debug, Default)]
pub struct State {
    work: Option<Work>,
    /// How many more workers may join the current call.
    openings: usize,
    /// When a call last found workers asleep and was too short to wake them.
    missed: Option<Instant>,
    /// The payload of a panic in a task on a worker.
    panic: Option<Box<dyn Any + Send>>,
    pub closing: bool,
}

/// One call's work.
#[derive(Clone, Copy)]
struct Work {
    count: usize,
    run: *const (dyn Fn(usize) + Sync),
}

// SAFETY: `run` points to a closure that is `Sync`, and `parallel_for` keeps it alive until no worker is active.
unsafe impl Send for Work {}

impl core::fmt::Debug for Work {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} tasks", self.count)
    }
}

/// How long workers stay awake without work.
pub const AWAKE: Duration = Duration::from_millis(1);

/// Spins until `done`, because waking a thread takes long; after a while it yields the CPU between checks. Returns
/// false when [`AWAKE`] has passed.
fn spin_until(done: impl Fn() -> bool) -> bool {
    /// About 20 us.
    const SPINS: usize = 1000;
    for _ in 0..SPINS {
        if done() {
            return true;
        }
        core::hint::spin_loop();
    }
    let start = Instant::now();
    while !done() {
        if start.elapsed() >= AWAKE {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

impl Control {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the work of a call, and wakes workers for it.
    pub fn publish(&self, count: usize, workers: usize, run: &(dyn Fn(usize) + Sync)) {
        let run: *const (dyn Fn(usize) + Sync + '_) = run;
        // SAFETY: only the lifetime changes; `finish` returns after the last use.
        let run: *const (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(run) };
        let openings = workers.min(count - 1);
        let mut state = self.lock();
        state.work = Some(Work { count, run });
        state.openings = openings;
        self.next.store(0, Ordering::Relaxed);
        self.record_caller_cpu();
        self.calls.fetch_add(1, Ordering::Release);
        let awake = workers - self.asleep.load(Ordering::Relaxed);
        self.wake(state, openings.saturating_sub(awake));
    }

    /// Releases the lock and wakes `count` sleeping workers.
    fn wake(&self, state: MutexGuard<'_, State>, count: usize) {
        drop(state);
        if count == 0 {
            return;
        }
        for _ in 0..count {
            self.work_ready.notify_one();
        }
        // The system often wakes them on this CPU, above all on virtual machines, where they would wait until the
        // caller has done all the work. Yielding lets them run and move to another CPU.
        std::thread::yield_now();
    }

    /// Records the CPU of the caller.
    fn record_caller_cpu(&self) {
        self.caller_cpu.store(affinity::cpu(), Ordering::Relaxed);
    }

    /// Moves the calling worker to another CPU if it is on the caller's.
    fn leave_caller_cpu(&self) {
        if self.caller_cpu.load(Ordering::Relaxed) == affinity::cpu() {
            affinity::leave_cpu();
        }
    }

    /// Runs tasks until no index is left.
    pub fn work(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            run(index);
        }
    }

    /// Withdraws the work, waits for the active workers, and returns the payload if one of them panicked.
    pub fn finish(&self, began: Instant) -> Option<Box<dyn Any + Send>> {
        self.lock().work = None;
        let worked = began.elapsed();
        spin_until(|| self.active.load(Ordering::Acquire) == 0);
        let mut state = self.lock();
        while self.active.load(Ordering::Relaxed) > 0 {
            state = self
                .finished
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        self.backoff.note(worked, began.elapsed() - worked);
        state.panic.take()
    }

    /// The loop of a worker.
    pub fn serve(&self) {
        let mut seen = 0;
        while let Some(work) = self.next_work(&mut seen) {
            // SAFETY: the caller waits in `finish` while this worker is active.
            let run = unsafe { &*work.run };
            let result = catch_unwind(AssertUnwindSafe(|| self.work(work.count, run)));
            let mut state = self.lock();
            match result {
                Err(panic) if state.panic.is_none() => state.panic = Some(panic),
                // Dropping the payload could panic again, and the caller would wait for ever.
                Err(panic) => core::mem::forget(panic),
                Ok(()) => {}
            }
            if self.active.fetch_sub(1, Ordering::Release) == 1 {
                self.finished.notify_one();
            }
        }
    }

    /// Notes that a call too short to wake workers could have used them. If another one did so within the last
    /// millisecond, wakes them all, since more such calls are likely to follow.
    pub fn note_miss(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        match state.missed.take() {
            Some(before) if now - before < AWAKE => {
                let asleep = self.asleep.load(Ordering::Relaxed);
                self.record_caller_cpu();
                self.wake(state, asleep);
            }
            _ => state.missed = Some(now),
        }
    }

    /// Waits for a call that needs another worker, and joins it; `None` when the pool is closing.
    fn next_work(&self, seen: &mut u64) -> Option<Work> {
        loop {
            let called = spin_until(|| self.calls.load(Ordering::Acquire) != *seen);
            self.leave_caller_cpu();
            let mut state = self.lock();
            *seen = self.calls.load(Ordering::Relaxed);
            if state.closing {
                return None;
            }
            if let (Some(work), 1..) = (state.work, state.openings) {
                state.openings -= 1;
                self.active.fetch_add(1, Ordering::Relaxed);
                return Some(work);
            }
            if !called {
                self.asleep.fetch_add(1, Ordering::Relaxed);
                let state = self.work_ready.wait(state);
                let state = state.unwrap_or_else(PoisonError::into_inner);
                self.asleep.fetch_sub(1, Ordering::Relaxed);
                drop(state);
                self.leave_caller_cpu();
            }
        }
    }
}
