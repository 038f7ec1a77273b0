//! Calls on the caller's threads and on the library's pool: they use as many as allowed and no more. Also many
//! callers at once, calls within tasks, forks. The bits are always those of one thread.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::thread::ThreadId;

use diptych::{Exec, ParallelFor};
use diptych_tests::calls::{Call, Inputs, Outputs, calls};
use diptych_tests::real::Dtype;
use diptych_tests::report::Report;
use diptych_tests::threads::Scoped;

diptych_tests::per_dtype!(
    large_calls_use_the_threads_that_they_may,
    tasks_may_make_calls,
    many_callers_of_one_pool
);

/// A pool that runs its tasks on another pool, and records how it is used.
struct Watch<P> {
    inner: P,
    /// The largest number of tasks of one call.
    most: AtomicUsize,
    /// Whether `parallel_for` was called while tasks were running.
    nested: AtomicBool,
    running: AtomicUsize,
    /// The most tasks that ran at once.
    peak: AtomicUsize,
    threads: Mutex<HashSet<ThreadId>>,
}

impl<P> Watch<P> {
    fn new(inner: P) -> Watch<P> {
        Watch {
            inner,
            most: AtomicUsize::new(0),
            nested: AtomicBool::new(false),
            running: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            threads: Mutex::new(HashSet::new()),
        }
    }

    /// Returns the number of threads that ran tasks.
    fn threads(&self) -> usize {
        self.threads.lock().expect("no panics").len()
    }
}

// SAFETY: the inner pool runs each index once; this one only records.
unsafe impl<P: ParallelFor + Sync> ParallelFor for Watch<P> {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        self.most.fetch_max(count, SeqCst);
        self.nested.fetch_or(self.running.load(SeqCst) > 0, SeqCst);
        self.inner.parallel_for(count, &|index| {
            let running = self.running.fetch_add(1, SeqCst) + 1;
            self.peak.fetch_max(running, SeqCst);
            let thread = std::thread::current().id();
            self.threads.lock().expect("no panics").insert(thread);
            run(index);
            self.running.fetch_sub(1, SeqCst);
        });
    }
}

/// Returns the result of each call on one thread.
fn alone<T: Dtype>(calls: &[Call<T>], inputs: &Inputs<T>) -> Vec<Outputs<T>> {
    let result = |call: &Call<T>| {
        let mut out = Outputs::default();
        call.run(&Exec::new(), inputs, &mut out)
            .expect("valid arguments");
        out
    };
    calls.iter().map(result).collect()
}

/// Returns one large call of each operation and form.
fn large_calls<T: Dtype>() -> Vec<Call<T>> {
    let mut names = BTreeSet::new();
    let mut all = calls::<T>();
    all.retain(|call| call.is_large && names.insert(call.name.clone()));
    assert_eq!(
        names,
        diptych_tests::calls::table_names(),
        "operations with a large call"
    );
    all
}

/// Operations that always run on the calling thread alone.
const ALONE: [&str; 2] = ["argmin", "argmax"];

fn large_calls_use_the_threads_that_they_may<T: Dtype>() {
    let mut report = Report::new();
    let mut calls = calls::<T>();
    calls.retain(|call| call.is_large);
    let (inputs, mut out) = (Inputs::default(), Outputs::default());
    let want = alone(&calls, &inputs);
    for (call, want) in calls.iter().zip(&want) {
        for most in [1, 2, 3, 7] {
            let watch = Watch::new(Scoped::new(most));
            let exec = Exec::new().with_pool(&watch, most);
            out.clear();
            call.run(&exec, &inputs, &mut out).expect("valid arguments");
            let (tasks, nested) = (watch.most.load(SeqCst), watch.nested.load(SeqCst));
            let what = |problem: &str| {
                let (name, shape) = (&call.name, &call.shape);
                format!("{name} {shape}, max_threads {most}, {tasks} tasks: {problem}")
            };
            report.check(tasks <= most && !nested, || what("too many tasks at once"));
            report.check(out == *want, || what("wrong bits"));
            if ALONE.contains(&call.name.as_str()) {
                report.check(tasks <= 1, || {
                    what("uses several threads; remove it from ALONE")
                });
            } else {
                report.check(tasks > 1 || most == 1, || what("did not use the threads"));
            }
        }
    }
    report.finish();
}

/// Tasks make calls that use the same pool.
fn tasks_may_make_calls<T: Dtype>() {
    let (calls, inputs) = (large_calls::<T>(), Inputs::default());
    let want = alone(&calls, &inputs);
    let nest = |pool: &(dyn ParallelFor + Sync), who: &str| {
        let right = AtomicUsize::new(0);
        pool.parallel_for(calls.len(), &|index| {
            let exec = Exec::new().with_pool(pool, 3);
            let mut out = Outputs::default();
            let status = calls[index].run(&exec, &inputs, &mut out);
            right.fetch_add(usize::from(status.is_ok() && out == want[index]), SeqCst);
        });
        assert_eq!(
            right.into_inner(),
            calls.len(),
            "calls within tasks of {who}"
        );
    };
    nest(&Scoped::new(3), "the caller's threads");
    #[cfg(feature = "pool")]
    nest(
        &diptych::Pool::new(3).expect("three threads"),
        "the library's pool",
    );
}

/// With any number of callers, the library's pool runs tasks only on the callers and its own helpers.
#[cfg(feature = "pool")]
fn many_callers_of_one_pool<T: Dtype>() {
    const CALLERS: usize = 5;
    let (calls, inputs) = (large_calls::<T>(), Inputs::default());
    let want = alone(&calls, &inputs);
    let pool = Watch::new(diptych::Pool::new(3).expect("three threads"));
    let caller = |first: usize| {
        let exec = Exec::new().with_pool(&pool, 3);
        let mut out = Outputs::default();
        // Each caller starts at a different call, so that different operations run at the same time.
        for turn in 0..2 * calls.len() {
            let index = (first * 7 + turn) % calls.len();
            out.clear();
            calls[index]
                .run(&exec, &inputs, &mut out)
                .expect("valid arguments");
            assert!(
                out == want[index],
                "{} {}: wrong bits",
                calls[index].name,
                calls[index].shape
            );
        }
    };
    std::thread::scope(|scope| {
        (0..CALLERS).for_each(|first| {
            scope.spawn(move || caller(first));
        });
    });
    let (threads, peak) = (pool.threads(), pool.peak.load(SeqCst));
    assert!(
        threads <= CALLERS + 2,
        "{threads} threads ran tasks of {CALLERS} callers and 2 helpers"
    );
    assert!(peak <= CALLERS + 2, "{peak} tasks at once");
}

/// Without the library's pool, several callers share a pool of their own.
#[cfg(not(feature = "pool"))]
fn many_callers_of_one_pool<T: Dtype>() {
    let (calls, inputs) = (large_calls::<T>(), Inputs::default());
    let want = alone(&calls, &inputs);
    let pool = Watch::new(Scoped::new(2));
    std::thread::scope(|scope| {
        (0..3).for_each(|_| {
            scope.spawn(|| {
                for (call, want) in calls.iter().zip(&want) {
                    let mut out = Outputs::default();
                    let exec = Exec::new().with_pool(&pool, 2);
                    call.run(&exec, &inputs, &mut out).expect("valid arguments");
                    assert!(out == *want, "{} {}: wrong bits", call.name, call.shape);
                }
            });
        });
    });
    assert!(pool.peak.load(SeqCst) <= 6 && pool.threads() > 0);
}

/// Tests that need a process of their own.
#[cfg(all(feature = "pool", target_os = "linux"))]
mod processes {
    use super::{alone, large_calls};
    use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    use diptych::{Exec, ParallelFor, Pool};
    use diptych_tests::calls::{Inputs, Outputs};
    use std::process::Command;
    use std::time::Duration;

    /// Runs one ignored test of this file in a process of its own.
    fn child(test: &str) {
        let own = std::env::current_exe().expect("own path");
        let output = Command::new(own)
            .args(["--exact", test, "--ignored"])
            .output();
        let output = output.expect("own binary");
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && text.contains("1 passed");
        assert!(
            passed,
            "{test}:\n{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Returns the number of threads of this process.
    fn threads() -> usize {
        std::fs::read_dir("/proc/self/task")
            .expect("Linux has /proc")
            .count()
    }

    /// Waits until the process has `wanted` threads: one that was joined may still be listed for a moment.
    fn expect_threads(wanted: usize, when: &str) {
        for _ in 0..1000 {
            if threads() == wanted {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("{} threads {when}, not {wanted}", threads());
    }

    #[test]
    fn a_pool_has_the_threads_that_it_says() {
        child("threads::processes::child_counts_threads");
    }

    #[test]
    #[ignore = "started by a_pool_has_the_threads_that_it_says"]
    fn child_counts_threads() {
        let before = threads();
        // A call without a pool starts no threads.
        let (calls, inputs) = (large_calls::<f32>(), Inputs::default());
        alone(&calls, &inputs);
        expect_threads(before, "after calls without a pool");
        for size in [1, 2, 4] {
            let pool = Pool::new(size).expect("threads");
            let exec = Exec::new().with_pool(&pool, 16);
            let mut out = Outputs::default();
            for call in &calls {
                call.run(&exec, &inputs, &mut out).expect("valid arguments");
            }
            assert_eq!(pool.threads(), size);
            // The calling thread is one of the pool's threads.
            expect_threads(before + size - 1, "with a pool");
            drop(pool);
            expect_threads(before, "after a pool");
        }
    }

    #[test]
    fn a_fork_loses_the_threads_and_nothing_else() {
        child("threads::processes::child_forks");
    }

    /// In a forked child, the parent's pool runs on the calling thread, and a new pool has threads.
    #[test]
    #[ignore = "started by a_fork_loses_the_threads_and_nothing_else"]
    fn child_forks() {
        let (calls, inputs) = (large_calls::<f64>(), Inputs::default());
        let want = alone(&calls, &inputs);
        let old = Pool::new(3).expect("three threads");
        let all_right = |pool: &Pool| {
            let exec = Exec::new().with_pool(pool, 3);
            let mut out = Outputs::default();
            calls.iter().zip(&want).all(|(call, want)| {
                out.clear();
                call.run(&exec, &inputs, &mut out).is_ok() && out == *want
            })
        };
        assert!(all_right(&old));
        // Several forks, because a helper may be working during some of them.
        for _ in 0..5 {
            // SAFETY: the child ends by _exit; until then it only does what this system allows after a fork of
            // a process with threads: it allocates and starts threads.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let verdict = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
                    let ran = AtomicUsize::new(0);
                    old.parallel_for(9, &|_| {
                        ran.fetch_add(1, SeqCst);
                    });
                    let new = Pool::new(2).expect("two threads");
                    ran.into_inner() == 9 && all_right(&old) && all_right(&new)
                }));
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(i32::from(!verdict.unwrap_or(false))) };
            }
            let mut status = -1;
            // SAFETY: waits for the child that was just forked.
            let waited = unsafe { libc::waitpid(child, &mut status, 0) };
            assert!(
                child > 0 && waited == child && status == 0,
                "the child's status is {status}"
            );
            assert!(all_right(&old), "the parent after the fork");
        }
    }
}
