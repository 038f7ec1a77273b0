//! Threads for callers that have none of their own.
//!
//! Not a general pool's: a call here allocates nothing, the caller works beside its helpers instead
//! of sleeping while two others are woken, the threads have ended when the pool is gone, and a lack of
//! memory is an error.
//!
//! Helpers never wait for the loader: its lock may be held by the caller, who waits for them, in a constructor of a
//! library that is being loaded. So they have no `thread_local!` with a destructor, nor what std keeps of its own
//! threads (where threads are made without it). Std's locks and its count of panics need nothing from the loader.

mod threads;

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::any::Any;
use std::boxed::Box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::vec::Vec;

use crate::error::{Error, Result};
use crate::exec::ParallelFor;
use threads::Helper;

/// A fixed set of threads, to be lent to calls with [`Exec::with_pool`](crate::Exec::with_pool).
/// Made only when asked for; dropped, its threads end.
///
/// It serves one call at a time: calls made meanwhile, from other threads or from within a task,
/// run on their own thread alone. Calls allocate nothing. After a call the threads stay awake for a
/// millisecond, giving way to others, and then sleep. Work of less than some 300 us does not wake them, but
/// for the second time within a millisecond. On Linux one that is on the CPU of its caller goes to another
/// of those that it may use (a change of its affinity at that moment may be undone). Their stacks have 2 MiB;
/// they have the default floating-point environment, and block signals but SIGPROF and those that a thread raises
/// itself.
#[derive(Debug)]
pub struct Pool {
    /// Exactly one, whose place is not the pool's own: the pool may be moved. (Where memory is short, a
    /// box would end the process.)
    board: Vec<Board>,
    helpers: Vec<Helper>,
    /// The process that has the threads: a fork does not copy them.
    process: u32,
}

/// What the caller and the helpers share.
#[derive(Debug, Default)]
struct Board {
    /// Whether a call has the pool.
    taken: AtomicBool,
    /// Counts the calls, so that helpers who look without the lock see a new one.
    calls: AtomicU64,
    /// The next index of the present call.
    next: AtomicUsize,
    /// How many helpers are in the present call; changed only under the lock.
    inside: AtomicUsize,
    /// How many helpers sleep; changed only under the lock.
    asleep: AtomicUsize,
    /// The CPU of the last caller.
    caller: AtomicUsize,
    state: Mutex<State>,
    posted: Condvar,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct State {
    work: Option<Work>,
    /// How many helpers may still join the present call.
    seats: usize,
    /// When helpers that sleep were last asked for by work too small to wake them.
    missed: Option<Instant>,
    /// What a task panicked with, on a helper.
    panic: Option<Box<dyn Any + Send>>,
    closing: bool,
}

/// One call's work.
#[derive(Clone, Copy)]
struct Work {
    count: usize,
    run: *const (dyn Fn(usize) + Sync),
}

// SAFETY: `run` points to a closure that is `Sync`, and `parallel_for` keeps it alive until no helper
// is inside.
unsafe impl Send for Work {}

impl core::fmt::Debug for Work {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} tasks", self.count)
    }
}

impl Pool {
    /// A pool that runs `threads` tasks at once: the caller's thread and `threads - 1` helpers.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for 0 threads, [`Error::ThreadsUnavailable`] when the operating
    /// system gives none, [`Error::OutOfMemory`].
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::InvalidValue { arg: "threads" });
        }
        let mut pool = Self {
            board: with_room(1)?,
            helpers: with_room(threads - 1)?,
            process: std::process::id(),
        };
        pool.board.push(Board::default());
        for _ in 1..threads {
            // SAFETY: the board is dropped after `Drop` has joined the helpers, and it never moves.
            let helper = unsafe { Helper::start(pool.board()) }?;
            pool.helpers.push(helper);
        }
        Ok(pool)
    }

    /// How many tasks can run at once.
    pub fn threads(&self) -> usize {
        self.helpers.len() + 1
    }

    fn board(&self) -> &Board {
        &self.board[0]
    }

    fn in_this_process(&self) -> bool {
        self.process == std::process::id()
    }
}

fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut empty = Vec::new();
    let room = empty.try_reserve_exact(count);
    room.map(|()| empty).map_err(|_| Error::OutOfMemory)
}

impl Drop for Pool {
    fn drop(&mut self) {
        if !self.in_this_process() {
            // There is nothing to wait for here, and another thread may have held the lock at the fork.
            core::mem::forget(core::mem::take(&mut self.board));
            return;
        }
        let board = self.board();
        board.lock().closing = true;
        board.calls.fetch_add(1, Ordering::Release);
        board.posted.notify_all();
        self.helpers.drain(..).for_each(Helper::join);
    }
}

// SAFETY: `next` gives each index below `count` to one thread, and the call ends after the caller has
// found none left and every helper that had joined has left.
unsafe impl ParallelFor for Pool {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        let alone = count < 2 || self.helpers.is_empty() || !self.in_this_process();
        let board = self.board();
        if alone || board.taken.swap(true, Ordering::Acquire) {
            (0..count).for_each(run);
            return;
        }
        board.post(count, self.helpers.len(), run);
        let call = Call {
            board,
            unwinding: std::thread::panicking(),
        };
        board.work(count, run);
        drop(call);
    }

    fn awake(&self) -> usize {
        let asleep = self.board().asleep.load(Ordering::Relaxed);
        if asleep > 0 && self.in_this_process() {
            self.board().miss();
        }
        self.threads() - asleep
    }
}

/// A call under way; its end, by a panic too, waits for the helpers.
struct Call<'a> {
    board: &'a Board,
    /// Whether the thread was unwinding before, from a panic that is not this call's.
    unwinding: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let panic = self.board.finish();
        self.board.taken.store(false, Ordering::Release);
        if let Some(panic) = panic
            && std::thread::panicking() == self.unwinding
        {
            resume_unwind(panic);
        }
    }
}

/// How long threads stay awake without work.
const AWAKE: Duration = Duration::from_millis(1);

/// Looks a while whether `done`: to be woken takes long. After the first looks, others may have the CPU.
fn spin_until(done: impl Fn() -> bool) -> bool {
    /// Some 20 us.
    const LOOKS: usize = 1000;
    for _ in 0..LOOKS {
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

impl Board {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the helpers the work of a call.
    fn post(&self, count: usize, helpers: usize, run: &(dyn Fn(usize) + Sync)) {
        let run: *const (dyn Fn(usize) + Sync + '_) = run;
        // SAFETY: only the lifetime changes; `finish` outlasts every use.
        let run: *const (dyn Fn(usize) + Sync) = unsafe { core::mem::transmute(run) };
        let seats = helpers.min(count - 1);
        let mut state = self.lock();
        state.work = Some(Work { count, run });
        state.seats = seats;
        self.next.store(0, Ordering::Relaxed);
        self.be_here();
        self.calls.fetch_add(1, Ordering::Release);
        let awake = helpers - self.asleep.load(Ordering::Relaxed);
        self.wake(state, seats.saturating_sub(awake));
    }

    /// Wakes so many of the helpers that sleep.
    fn wake(&self, state: MutexGuard<'_, State>, count: usize) {
        drop(state);
        if count == 0 {
            return;
        }
        for _ in 0..count {
            self.posted.notify_one();
        }
        // The system often wakes them on this CPU, above all in a virtual machine, and they would wait until
        // the caller has done all the work: they are to leave it.
        std::thread::yield_now();
    }

    /// Notes where the caller is.
    fn be_here(&self) {
        self.caller.store(threads::cpu(), Ordering::Relaxed);
    }

    /// Moves a helper that is where the caller is.
    fn make_way(&self) {
        if self.caller.load(Ordering::Relaxed) == threads::cpu() {
            threads::leave_cpu();
        }
    }

    /// Runs tasks until none is left.
    fn work(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            run(index);
        }
    }

    /// Withdraws the work and waits for the helpers that are inside.
    fn finish(&self) -> Option<Box<dyn Any + Send>> {
        self.lock().work = None;
        spin_until(|| self.inside.load(Ordering::Acquire) == 0);
        let mut state = self.lock();
        while self.inside.load(Ordering::Relaxed) > 0 {
            state = self
                .finished
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.panic.take()
    }

    /// The life of a helper.
    fn help(&self) {
        let mut seen = 0;
        while let Some(work) = self.join(&mut seen) {
            // SAFETY: the caller waits in `finish` while this helper is inside.
            let run = unsafe { &*work.run };
            let result = catch_unwind(AssertUnwindSafe(|| self.work(work.count, run)));
            let mut state = self.lock();
            match result {
                Err(panic) if state.panic.is_none() => state.panic = Some(panic),
                // Its destructor could panic too, and then the caller would wait for ever.
                Err(panic) => core::mem::forget(panic),
                Ok(()) => {}
            }
            if self.inside.fetch_sub(1, Ordering::Release) == 1 {
                self.finished.notify_one();
            }
        }
    }

    /// Work too small to wake helpers would have had use for them. The second time in a millisecond they are
    /// woken, for what may follow.
    fn miss(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        match state.missed.take() {
            Some(before) if now - before < AWAKE => {
                let asleep = self.asleep.load(Ordering::Relaxed);
                self.be_here();
                self.wake(state, asleep);
            }
            _ => state.missed = Some(now),
        }
    }

    /// Waits for a call that has a seat left, and takes it; `None` when the pool ends.
    fn join(&self, seen: &mut u64) -> Option<Work> {
        loop {
            let called = spin_until(|| self.calls.load(Ordering::Acquire) != *seen);
            self.make_way();
            let mut state = self.lock();
            *seen = self.calls.load(Ordering::Relaxed);
            if state.closing {
                return None;
            }
            if let (Some(work), 1..) = (state.work, state.seats) {
                state.seats -= 1;
                self.inside.fetch_add(1, Ordering::Relaxed);
                return Some(work);
            }
            if !called {
                self.asleep.fetch_add(1, Ordering::Relaxed);
                let state = self.posted.wait(state);
                let state = state.unwrap_or_else(PoisonError::into_inner);
                self.asleep.fetch_sub(1, Ordering::Relaxed);
                drop(state);
                self.make_way();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for what comes soon.
    fn wait_until(done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(60), "it never came");
            std::thread::yield_now();
        }
    }

    #[test]
    fn helpers_sleep_until_small_work_misses_them_often() {
        let pool = Pool::new(3).expect("threads");
        let asleep = |count| wait_until(|| pool.board().asleep.load(Ordering::Relaxed) == count);
        asleep(2);
        for _ in 0..3 {
            assert_eq!(pool.awake(), 1);
            std::thread::sleep(5 * AWAKE);
        }
        wait_until(|| pool.awake() == 3);
        asleep(2);
    }

    #[test]
    fn work_wakes_helpers() {
        let pool = Pool::new(2).expect("threads");
        for _ in 0..3 {
            wait_until(|| pool.board().asleep.load(Ordering::Relaxed) == 1);
            let arrived = AtomicUsize::new(0);
            // Each waits for the other.
            pool.parallel_for(2, &|_| {
                arrived.fetch_add(1, Ordering::Relaxed);
                wait_until(|| arrived.load(Ordering::Relaxed) == 2);
            });
        }
    }
}
