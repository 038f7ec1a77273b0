//! Ways to run a call: on the calling thread, on real threads in order or out of it, backwards on one
//! thread, on the library's own pool.

use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use diptych::{Exec, Level, ParallelFor};

use crate::levels::levels;
use crate::raw::On;

/// Runs tasks on this many fresh threads, which take the next task when they have finished one.
#[derive(Debug)]
pub struct Scoped {
    threads: usize,
    tasks: AtomicUsize,
    shuffle: Option<u64>,
}

impl Scoped {
    /// For `threads` threads.
    pub fn new(threads: usize) -> Scoped {
        Scoped {
            threads,
            tasks: AtomicUsize::new(0),
            shuffle: None,
        }
    }

    /// As [`Scoped::new`], but the tasks are handed out in a random order.
    pub fn shuffled(threads: usize, seed: u64) -> Scoped {
        Scoped {
            shuffle: Some(seed),
            ..Scoped::new(threads)
        }
    }

    /// How many tasks have run so far.
    pub fn tasks(&self) -> usize {
        self.tasks.load(Relaxed)
    }
}

// SAFETY: the shared counter hands out each index below `count` once, and the scope joins all
// threads before it returns.
unsafe impl ParallelFor for Scoped {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        let mut order: Vec<usize> = (0..count).collect();
        if let Some(seed) = self.shuffle {
            fastrand::Rng::with_seed(seed).shuffle(&mut order);
        }
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(count) {
                scope.spawn(|| {
                    while let Some(&index) = order.get(next.fetch_add(1, Relaxed)) {
                        run(index);
                    }
                });
            }
        });
        self.tasks.fetch_add(count, Relaxed);
    }
}

/// Runs the tasks on the calling thread, the last one first.
#[derive(Debug)]
pub struct Reversed;

// SAFETY: each index below `count` runs once, before the function returns.
unsafe impl ParallelFor for Reversed {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        (0..count).rev().for_each(run);
    }
}

/// Who runs the tasks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// No pool.
    Caller,
    /// This many real threads.
    Scoped(usize),
    /// This many real threads, the tasks in an order that this seed gives.
    Shuffled(usize, u64),
    /// One thread, tasks in reverse, as if there were this many.
    Reversed(usize),
    /// A pool of the library with this many threads.
    #[cfg(feature = "pool")]
    Pool(usize),
}

/// The library's pool of so many threads: one for the whole process.
#[cfg(feature = "pool")]
fn pool(threads: usize) -> &'static diptych::Pool {
    use std::sync::OnceLock;
    static POOLS: [OnceLock<diptych::Pool>; 5] = [const { OnceLock::new() }; 5];
    POOLS[threads].get_or_init(|| diptych::Pool::new(threads).expect("threads for a pool"))
}

/// A level and a way to run on it.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// CPU level.
    pub level: Level,
    /// Threads.
    pub threads: Threads,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "level {}, ", self.level.name())?;
        match self.threads {
            Threads::Caller => write!(f, "caller's thread"),
            Threads::Scoped(n) => write!(f, "{n} threads"),
            Threads::Shuffled(n, seed) => write!(f, "{n} threads, tasks shuffled by {seed}"),
            Threads::Reversed(n) => write!(f, "{n} tasks backwards"),
            #[cfg(feature = "pool")]
            Threads::Pool(n) => write!(f, "a pool of {n}"),
        }
    }
}

impl Config {
    /// Calls `f` with an `Exec` of this level and these threads.
    pub fn run<R>(&self, f: impl FnOnce(&dyn On) -> R) -> R {
        self.start(None, |exec| f(exec))
    }

    /// As [`Config::run`], for what only the CPU has.
    pub fn run_on_cpu<R>(&self, f: impl FnOnce(&Exec<'_>) -> R) -> R {
        self.start(None, f)
    }

    /// As [`Config::run`], with scratch memory of the caller's.
    pub fn run_with<R>(
        &self,
        workspace: &mut [MaybeUninit<u8>],
        f: impl FnOnce(&dyn On) -> R,
    ) -> R {
        self.start(Some(workspace), |exec| f(exec))
    }

    fn start<R>(
        &self,
        workspace: Option<&mut [MaybeUninit<u8>]>,
        f: impl FnOnce(&Exec<'_>) -> R,
    ) -> R {
        let mut exec = Exec::new()
            .with_level(self.level)
            .expect("the level is on this machine");
        if let Some(workspace) = workspace {
            exec = exec.with_workspace(workspace);
        }
        match self.threads {
            Threads::Caller => f(&exec),
            Threads::Scoped(n) => f(&exec.with_pool(&Scoped::new(n), n)),
            Threads::Shuffled(n, seed) => f(&exec.with_pool(&Scoped::shuffled(n, seed), n)),
            Threads::Reversed(n) => f(&exec.with_pool(&Reversed, n)),
            #[cfg(feature = "pool")]
            Threads::Pool(n) => f(&exec.with_pool(pool(n), n)),
        }
    }
}

/// Bytes of an output that no cache holds.
pub const BEYOND_CACHES: usize = 72 << 20;

/// The cases of a long list that this panel takes: all of them. One in so many is enough elsewhere.
pub fn some<C>(cases: impl IntoIterator<Item = C>, _one_in: usize) -> impl Iterator<Item = C> {
    cases.into_iter()
}

/// Every level on the calling thread alone.
pub fn single() -> Vec<Config> {
    levels()
        .iter()
        .map(|&level| Config {
            level,
            threads: Threads::Caller,
        })
        .collect()
}

/// Every level with every kind of threads.
pub fn all() -> Vec<Config> {
    let kinds = [
        Threads::Caller,
        Threads::Scoped(2),
        Threads::Scoped(3),
        Threads::Reversed(5),
    ];
    let with_kinds = |&level| kinds.map(|threads| Config { level, threads });
    levels().iter().flat_map(with_kinds).collect()
}
