//! Threads for callers that have none of their own.

use crate::error::{Error, Result};
use crate::exec::ParallelFor;

/// A fixed set of threads, to be lent to calls with [`Exec::with_pool`](crate::Exec::with_pool).
/// Made only when asked for; dropped, its threads end.
#[derive(Debug)]
pub struct Pool {
    pool: rayon_core::ThreadPool,
    /// The process that has the threads: a fork does not copy them.
    process: u32,
}

impl Pool {
    /// A pool of `threads` threads.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] for 0 threads, [`Error::ThreadsUnavailable`] when the operating
    /// system gives none.
    pub fn new(threads: usize) -> Result<Self> {
        if threads == 0 {
            return Err(Error::InvalidValue { arg: "threads" });
        }
        let pool = rayon_core::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| std::format!("diptych-{i}"))
            .build()
            .map_err(|_| Error::ThreadsUnavailable)?;
        Ok(Self {
            pool,
            process: std::process::id(),
        })
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

// SAFETY: `halve` splits the range into disjoint halves down to single indices and `join` returns
// after both halves; the loop visits each index once.
unsafe impl ParallelFor for Pool {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        if self.process == std::process::id() {
            self.pool.install(|| halve(0, count, run));
        } else {
            (0..count).for_each(run);
        }
    }
}

fn halve(from: usize, to: usize, run: &(dyn Fn(usize) + Sync)) {
    match to - from {
        0 => {}
        1 => run(from),
        n => {
            let middle = from + n / 2;
            rayon_core::join(|| halve(from, middle, run), || halve(middle, to, run));
        }
    }
}
