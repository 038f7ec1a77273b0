//! Ways to run a call: on the calling thread, on real threads, and backwards on one thread.

use core::fmt;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use diptych::{Exec, Level, ParallelFor};

use crate::levels::levels;

/// Runs tasks on this many fresh threads, which take the next task when they have finished one.
#[derive(Debug)]
pub struct Scoped {
    threads: usize,
    tasks: AtomicUsize,
}

impl Scoped {
    /// For `threads` threads.
    pub fn new(threads: usize) -> Scoped {
        Scoped {
            threads,
            tasks: AtomicUsize::new(0),
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
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(count) {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Relaxed);
                        if index >= count {
                            return;
                        }
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
    /// One thread, tasks in reverse, as if there were this many.
    Reversed(usize),
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
        match self.threads {
            Threads::Caller => write!(f, "level {}, caller's thread", self.level.name()),
            Threads::Scoped(n) => write!(f, "level {}, {n} threads", self.level.name()),
            Threads::Reversed(n) => write!(f, "level {}, {n} tasks backwards", self.level.name()),
        }
    }
}

impl Config {
    /// Calls `f` with an `Exec` of this level and these threads.
    pub fn run<R>(&self, f: impl FnOnce(&Exec<'_>) -> R) -> R {
        self.start(None, f)
    }

    /// As [`Config::run`], with scratch memory of the caller's.
    pub fn run_with<R>(
        &self,
        workspace: &mut [MaybeUninit<u8>],
        f: impl FnOnce(&Exec<'_>) -> R,
    ) -> R {
        self.start(Some(workspace), f)
    }

    fn start<R>(
        &self,
        workspace: Option<&mut [MaybeUninit<u8>]>,
        f: impl FnOnce(&Exec<'_>) -> R,
    ) -> R {
        let scoped = Scoped::new(self.threads.count());
        let mut exec = Exec::new()
            .with_level(self.level)
            .expect("the level is on this machine");
        if let Some(workspace) = workspace {
            exec = exec.with_workspace(workspace);
        }
        match self.threads {
            Threads::Caller => f(&exec),
            Threads::Scoped(n) => f(&exec.with_pool(&scoped, n)),
            Threads::Reversed(n) => f(&exec.with_pool(&Reversed, n)),
        }
    }
}

impl Threads {
    fn count(self) -> usize {
        match self {
            Threads::Caller => 1,
            Threads::Scoped(n) | Threads::Reversed(n) => n,
        }
    }
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
