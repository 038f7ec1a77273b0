//! Pools that are created and destroyed repeatedly, and unusual numbers of threads and orders of tasks.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use diptych_ffi::{dpt_exec, dpt_task_fn};

use crate::alone;
use crate::mixed::{CALLS, FIRST_LARGE, Mix, Output};
use crate::threads::{Pool, jumbled, plain};

/// Makes all calls once with this exec.
fn all_right(mix: &Mix<f32>, exec: &dpt_exec) {
    let mut out = Output::default();
    (0..CALLS).for_each(|which| mix.expect(which, exec, &mut out));
}

#[test]
fn more_threads_than_cores() {
    let _alone = alone();
    let mix = Mix::new();
    for threads in [64, 200] {
        all_right(&mix, &Pool::new(threads).exec());
    }
    let mut exec = plain();
    exec.parallel_for = Some(jumbled);
    for most in [2, 1000, i32::MAX] {
        exec.max_threads = most;
        all_right(&mix, &exec);
    }
}

/// Destroys pools that have made no call, whose threads are still awake after a call, and whose threads sleep.
#[test]
fn pools_end_when_idle() {
    let _alone = alone();
    let (mix, mut out) = (Mix::<f64>::new(), Output::default());
    for round in 0..60 {
        let pool = Pool::new(1 + round % 5);
        if round % 3 > 0 {
            mix.expect(FIRST_LARGE, &pool.exec(), &mut out);
        }
        if round % 3 == 2 {
            std::thread::sleep(Duration::from_millis(4));
        }
    }
}

struct Nest<'a> {
    mix: &'a Mix<f32>,
    exec: dpt_exec,
    right: AtomicUsize,
}

// SAFETY: a call only reads its exec, and any thread may use the pool in it.
unsafe impl Sync for Nest<'_> {}

const WIDTH: usize = 3;

/// A task that starts the tasks that make the calls.
unsafe extern "C" fn outer(task: *mut c_void, _: i64) {
    // SAFETY: the nest outlives its tasks, and there are only shared references to it.
    let nest = unsafe { &*task.cast::<Nest<'_>>() };
    run_tasks(nest, Some(inner));
}

unsafe extern "C" fn inner(task: *mut c_void, _: i64) {
    // SAFETY: as above.
    let nest = unsafe { &*task.cast::<Nest<'_>>() };
    let mut out = Output::default();
    let right = (0..CALLS).all(|which| nest.mix.check(which, &nest.exec, &mut out).1);
    nest.right.fetch_add(usize::from(right), SeqCst);
}

fn run_tasks(nest: &Nest<'_>, task: dpt_task_fn) {
    let run = nest.exec.parallel_for.expect("threads");
    let argument = core::ptr::from_ref(nest).cast_mut().cast();
    // SAFETY: the function and the pool belong to one exec, and the tasks expect this argument.
    unsafe { run(nest.exec.pool, WIDTH as i64, task, argument) };
}

#[test]
fn calls_in_tasks_of_tasks() {
    let _alone = alone();
    let mix = Mix::new();
    let pool = Pool::new(3);
    let mut own = plain();
    own.parallel_for = Some(jumbled);
    own.max_threads = 3;
    for exec in [pool.exec(), own] {
        let nest = Nest {
            mix: &mix,
            exec,
            right: AtomicUsize::new(0),
        };
        run_tasks(&nest, Some(outer));
        assert_eq!(nest.right.into_inner(), WIDTH * WIDTH);
    }
}
