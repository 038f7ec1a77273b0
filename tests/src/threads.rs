//! Ways to run a call: on the calling thread, on several threads with the tasks in order or shuffled, on one
//! thread in reverse order, on the library's own pool.

use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use diptych::{Exec, Level, ParallelFor};

use crate::levels::levels;
use crate::raw::On;

/// Runs tasks on newly started threads, each of which takes the next task when it has finished one.
#[derive(Debug)]
pub struct Scoped {
    threads: usize,
    tasks: AtomicUsize,
    shuffle: Option<u64>,
}

impl Scoped {
    /// Creates a pool of `threads` threads.
    pub fn new(threads: usize) -> Scoped {
        Scoped {
            threads,
            tasks: AtomicUsize::new(0),
            shuffle: None,
        }
    }

    /// Like [`Scoped::new`], but hands out the tasks in a random order.
    pub fn shuffled(threads: usize, seed: u64) -> Scoped {
        Scoped {
            shuffle: Some(seed),
            ..Scoped::new(threads)
        }
    }

    /// Returns the number of tasks that have run so far.
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

/// The threads that run the tasks of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// The calling thread, without a pool.
    Caller,
    /// This many threads.
    Scoped(usize),
    /// This many threads, with the tasks shuffled by this seed.
    Shuffled(usize, u64),
    /// The calling thread, with the tasks for this many threads in reverse order.
    Reversed(usize),
    /// A pool of the library with this many threads.
    #[cfg(feature = "pool")]
    Pool(usize),
}

/// Returns the library's pool of `threads` threads, one per process.
#[cfg(feature = "pool")]
fn pool(threads: usize) -> &'static diptych::Pool {
    use std::sync::OnceLock;
    static POOLS: [OnceLock<diptych::Pool>; 5] = [const { OnceLock::new() }; 5];
    POOLS[threads].get_or_init(|| diptych::Pool::new(threads).expect("threads for a pool"))
}

/// A CPU level, and the threads to run on.
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

    /// Like [`Config::run`], for functions that only the CPU backend has.
    pub fn run_on_cpu<R>(&self, f: impl FnOnce(&Exec<'_>) -> R) -> R {
        self.start(None, f)
    }

    /// Like [`Config::run`], with the caller's scratch memory.
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

/// The size in bytes of an output that is larger than the caches.
pub const BEYOND_CACHES: usize = 72 << 20;

/// Returns all cases of a long list. (`device::some`, its counterpart for the emulator, keeps one in `_one_in`.)
pub fn some<C>(cases: impl IntoIterator<Item = C>, _one_in: usize) -> impl Iterator<Item = C> {
    cases.into_iter()
}

/// Returns every level, on the calling thread.
pub fn single() -> Vec<Config> {
    levels()
        .iter()
        .map(|&level| Config {
            level,
            threads: Threads::Caller,
        })
        .collect()
}

/// Returns every level with several kinds of threads.
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
