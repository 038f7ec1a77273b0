//! A thread pool for callers that have no threads of their own.
//!
//! It differs from general-purpose pools: a call allocates nothing, the caller works beside the workers instead of
//! sleeping, dropping the pool waits for the end of its threads, and lack of memory is an error.
//!
//! Workers never take the dynamic loader's lock: a constructor of a library that is being loaded runs under that lock,
//! and may make a call that waits for them. So they use no `thread_local!` with a destructor, and on Unix they are
//! created without std, which keeps such data for each of its threads. Std's locks and its panic count do not need the
//! loader.

mod affinity;
mod backoff;
mod control;
mod threads;

use core::sync::atomic::Ordering;
use std::panic::resume_unwind;
use std::time::Instant;
use std::vec::Vec;

use crate::error::{Error, Result};
use crate::exec::ParallelFor;
use control::Control;
use threads::Worker;

/// A fixed set of threads that calls use through [`Exec::with_pool`](crate::Exec::with_pool). Dropping it ends the
/// threads.
///
/// ```
/// use diptych::{Exec, Pool};
///
/// let pool = Pool::new(4)?;
/// let exec = Exec::new().with_pool(&pool, pool.threads());
/// let x = vec![0.5_f32; 1 << 22];
/// assert_eq!(diptych::sum(&exec, x.as_slice())?, 2097152.0);
/// # Ok::<(), diptych::Error>(())
/// ```
///
/// A pool serves one call at a time. Calls made in the meantime, by other threads or by a task of that call, run on
/// their own thread alone. Calls allocate nothing. A panic in a task is raised again on the calling thread, after the
/// other threads have finished.
///
/// After a call the threads stay awake for a millisecond, yielding the CPU to other threads, and then sleep. Calls
/// under about 300 us wake them only if another such call came within the last millisecond. On Linux, a thread that
/// runs on the CPU of the caller moves to another CPU of its affinity mask (a change of the mask by others at that
/// moment may be undone).
///
/// A call that waited longer for the threads than it worked itself, because other programs have their CPUs, makes calls run
/// on their own thread alone for some 50 ms.
///
/// The threads have 2 MiB of stack and the default floating-point environment (the tasks of a call: the caller's control
/// word). They block all signals except SIGPROF and those that a thread's own instructions raise, such as SIGSEGV. In the
/// child of a `fork` a pool has no threads: calls run on the calling thread alone.
#[derive(Debug)]
pub struct Pool {
    /// Exactly one, on the heap so that it stays in place when the pool is moved. (Allocating a `Box` would abort the
    /// process when there is no memory.)
    control: Vec<Control>,
    workers: Vec<Worker>,
    /// The process that has the threads: `fork` does not copy them.
    process: u32,
}

impl Pool {
    /// Makes a pool that runs `threads` tasks at once: one on the caller's thread, the others on `threads - 1` new
    /// threads.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] when `threads` is 0, [`Error::ThreadsUnavailable`] when the operating system refuses to
    /// start a thread, [`Error::OutOfMemory`].
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::InvalidValue { arg: "threads" });
        }
        let mut pool = Self {
            control: with_room(1)?,
            workers: with_room(threads - 1)?,
            process: std::process::id(),
        };
        pool.control.push(Control::default());
        for _ in 1..threads {
            // SAFETY: the control never moves, and is dropped after `Drop` has joined the workers.
            let worker = unsafe { Worker::start(pool.control()) }?;
            pool.workers.push(worker);
        }
        Ok(pool)
    }

    /// Returns how many tasks can run at once, the one on the caller's thread included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    fn control(&self) -> &Control {
        &self.control[0]
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
            // There are no threads to wait for, and the lock may have been held when the process forked.
            core::mem::forget(core::mem::take(&mut self.control));
            return;
        }
        let control = self.control();
        control.lock().closing = true;
        control.calls.fetch_add(1, Ordering::Release);
        control.work_ready.notify_all();
        self.workers.drain(..).for_each(Worker::join);
    }
}

// SAFETY: `next` gives each index below `count` to one thread, and the call returns after the caller has found no index
// left and every worker that joined has finished.
unsafe impl ParallelFor for Pool {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        let control = self.control();
        let alone = count < 2 || self.workers.is_empty() || control.backoff.is_on();
        let alone = alone || !self.in_this_process();
        if alone || control.busy.swap(true, Ordering::Acquire) {
            (0..count).for_each(run);
            return;
        }
        control.publish(count, self.workers.len(), run);
        let call = Call {
            control,
            began: Instant::now(),
            unwinding: std::thread::panicking(),
        };
        control.work(count, run);
        drop(call);
    }

    fn awake(&self) -> usize {
        if self.control().backoff.is_on() {
            return 1;
        }
        let asleep = self.control().asleep.load(Ordering::Relaxed);
        if asleep > 0 && self.in_this_process() {
            self.control().note_miss();
        }
        self.threads() - asleep
    }
}

/// A call in progress. Dropping it, also when a task panics, waits for the workers.
struct Call<'a> {
    control: &'a Control,
    began: Instant,
    /// Whether the thread was already unwinding when the call began.
    unwinding: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let panic = self.control.finish(self.began);
        self.control.busy.store(false, Ordering::Release);
        if let Some(panic) = panic
            && std::thread::panicking() == self.unwinding
        {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::control::AWAKE;
    use super::*;
    use core::sync::atomic::AtomicUsize;
    use std::time::Duration;

    /// Waits for a condition that soon becomes true.
    fn wait_until(done: impl Fn() -> bool) {
        let start = Instant::now();
        while !done() {
            assert!(
                start.elapsed() < Duration::from_secs(60),
                "the condition never became true"
            );
            std::thread::yield_now();
        }
    }

    #[test]
    fn two_short_calls_within_a_millisecond_wake_workers() {
        let pool = Pool::new(3).expect("threads");
        let asleep = |count| wait_until(|| pool.control().asleep.load(Ordering::Relaxed) == count);
        asleep(2);
        for _ in 0..3 {
            assert_eq!(pool.awake(), 1);
            std::thread::sleep(5 * AWAKE);
        }
        wait_until(|| pool.awake() == 3);
        asleep(2);
    }

    #[test]
    fn long_work_wakes_workers() {
        for _ in 0..3 {
            // A new one, whose calls have not been held up.
            let pool = Pool::new(2).expect("threads");
            wait_until(|| pool.control().asleep.load(Ordering::Relaxed) == 1);
            let arrived = AtomicUsize::new(0);
            // Each task waits for the other, so two threads must run them.
            pool.parallel_for(2, &|_| {
                arrived.fetch_add(1, Ordering::Relaxed);
                wait_until(|| arrived.load(Ordering::Relaxed) == 2);
            });
        }
    }
}
