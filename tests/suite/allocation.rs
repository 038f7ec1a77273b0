//! No call with a workspace allocates, on any thread. Without one, only the first call of its size on a thread
//! allocates, for the library's own scratch memory.
//!
//! Allocations are counted in the whole process, so this file has a single test and nothing else runs meanwhile.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;

use diptych::{Exec, Level, ParallelFor};
use diptych_tests::calls::{self, Call, Inputs, Outputs, table_names};
use diptych_tests::fixed_pool::FixedPool;
use diptych_tests::levels::levels;
use diptych_tests::real::Dtype;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// An allocator that counts the allocations of all threads while a call runs.
struct Counting;

fn count() {
    // The main thread belongs to the test harness, which may allocate at any time.
    // SAFETY: both only return a number.
    if COUNTING.load(SeqCst) && unsafe { libc::gettid() != libc::getpid() } {
        ALLOCATIONS.fetch_add(1, SeqCst);
    }
}

// SAFETY: passes every request to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(p, layout) }
    }
    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller's.
        unsafe { System.realloc(p, layout, size) }
    }
}

#[global_allocator]
static COUNTER: Counting = Counting;

/// Returns how many times the process allocates while `f` runs.
fn allocations(f: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(SeqCst);
    COUNTING.store(true, SeqCst);
    f();
    COUNTING.store(false, SeqCst);
    ALLOCATIONS.load(SeqCst) - before
}

#[test]
fn no_call_allocates() {
    the_counter_sees_every_thread();
    every_call_of::<f32>();
    every_call_of::<f64>();
}

fn the_counter_sees_every_thread() {
    let pool = FixedPool::new(3);
    let allocate = || drop(std::hint::black_box(Box::new(1)));
    assert_eq!(allocations(allocate), 1);
    let tasks = allocations(|| pool.parallel_for(50, &|_| allocate()));
    assert_eq!(
        tasks, 50,
        "the tasks allocate once each, their pool not at all"
    );
}

fn every_call_of<T: Dtype>() {
    let calls = calls::calls::<T>();
    let called: BTreeSet<String> = calls.iter().map(|call| call.name.clone()).collect();
    assert_eq!(called, table_names(), "tests/src/calls.rs, and the table");
    for &level in levels() {
        with_a_workspace(level, "caller's thread", &calls, None);
        with_a_workspace(level, "caller's threads", &calls, Some(&FixedPool::new(3)));
        #[cfg(feature = "pool")]
        {
            let pool = diptych::Pool::new(3).expect("three threads");
            with_a_workspace(level, "the library's pool", &calls, Some(&pool));
        }
        with_own_scratch(level, &calls);
    }
}

fn at<'a>(level: Level) -> Exec<'a> {
    Exec::new()
        .with_level(level)
        .expect("the level is on this machine")
}

/// Runs the calls on new threads, so that scratch memory of the library's own would be counted.
fn with_a_workspace<T: Dtype>(
    level: Level,
    who: &str,
    calls: &[Call<T>],
    pool: Option<&(dyn ParallelFor + Sync)>,
) {
    let fresh = || {
        let exec = match pool {
            Some(pool) => at(level).with_pool(pool, 3),
            None => at(level),
        };
        let mut workspace = calls::workspace(calls, &exec);
        let exec = exec.with_workspace(&mut workspace);
        let (inputs, mut out) = (Inputs::default(), Outputs::default());
        for call in calls {
            let count =
                allocations(|| call.run(&exec, &inputs, &mut out).expect("valid arguments"));
            let (name, shape, level) = (&call.name, &call.shape, level.name());
            assert_eq!(
                count, 0,
                "{name} {shape}, level {level}, {who}, with a workspace"
            );
        }
    };
    std::thread::scope(|scope| scope.spawn(fresh).join().expect("no allocations"));
}

/// Runs the calls twice: in the first round the thread's buffer may grow, in the second it may not.
fn with_own_scratch<T: Dtype>(level: Level, calls: &[Call<T>]) {
    let exec = at(level);
    let (inputs, mut out) = (Inputs::default(), Outputs::default());
    for round in 0..2 {
        for call in calls {
            let count =
                allocations(|| call.run(&exec, &inputs, &mut out).expect("valid arguments"));
            let (name, shape, level) = (&call.name, &call.shape, level.name());
            assert!(
                count == 0 || round == 0,
                "second {name} {shape}, level {level}: {count} allocations"
            );
        }
    }
}
