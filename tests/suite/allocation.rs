//! No call with a workspace allocates, on any thread. Without one, only the first call of its size on a thread
//! allocates, for the library's own scratch memory.
//!
//! Allocations are counted in the whole process, so this file has a single test and nothing else runs meanwhile.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeSet;
use std::mem::MaybeUninit;

use diptych::{Exec, Level, ParallelFor, tensor};
use diptych_tests::calls::{self, Call, Inputs, Outputs, table_names};
use diptych_tests::fixed_pool::FixedPool;
use diptych_tests::levels::levels;
use diptych_tests::real::Dtype;
use diptych_tests::tensors::Array;

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
    every_layout_of_tensors();
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

/// Reductions and maps along axes whose elements lie apart, so that each of several matrices is reduced by columns,
/// gathered or converted: with a workspace that is too small for that, and with a large one.
fn every_layout_of_tensors() {
    const LAYOUTS: [([i64; 3], [i64; 3], &[i32]); 4] = [
        ([40, 300, 70], [21_000, 70, 1], &[1]),
        ([40, 300, 70], [21_000, 70, 1], &[0, 2]),
        ([40, 300, 70], [1, 40, 12_000], &[1, 2]),
        ([40, 300, 70], [42_000, 140, 2], &[1]),
    ];
    let pool = FixedPool::new(3);
    for &level in levels() {
        for bytes in [0, 16 << 20] {
            let mut workspace = vec![MaybeUninit::uninit(); bytes];
            for (shape, strides, axes) in LAYOUTS {
                let each = || {
                    let exec = at(level).with_pool(&pool, 3).with_workspace(&mut workspace);
                    reduce_along::<f32>(&exec, 32, shape, strides, axes);
                    reduce_along::<u16>(&exec, 16, shape, strides, axes);
                };
                std::thread::scope(|scope| scope.spawn(each).join().expect("no allocations"));
            }
        }
    }
}

/// Reduces floats with so many bits, and counts the allocations.
fn reduce_along<T: Copy>(
    exec: &Exec<'_>,
    bits: u8,
    shape: [i64; 3],
    strides: [i64; 3],
    axes: &[i32],
) {
    let mut kept = shape;
    axes.iter().for_each(|&axis| kept[axis as usize] = 1);
    let mut x = Array::<T>::with_strides(&shape, strides.to_vec());
    let mut all = Array::<T>::with_strides(&shape, strides.to_vec());
    let mut out = Array::<T>::with_strides(&kept, vec![kept[1] * kept[2], kept[2], 1]);
    let (x, all, out) = (
        x.described(2, bits),
        all.described(2, bits),
        out.described(2, bits),
    );
    let run = || {
        // SAFETY: the tensors are those of arrays.
        unsafe {
            tensor::sum(exec, &x, Some(axes), &out).expect("valid tensors");
            if bits == 32 {
                tensor::var(exec, &x, Some(axes), 0, &out).expect("valid tensors");
                tensor::normalize(exec, &x, Some(axes), &all).expect("valid tensors");
            }
        }
    };
    assert_eq!(
        allocations(run),
        0,
        "{bits} bits, axes {axes:?} of {strides:?}"
    );
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
