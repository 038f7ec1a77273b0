//! Many threads, each with a mix of calls, on the calling thread, a caller's pool and the library's pool.

use core::ffi::c_void;
use core::ptr;

use diptych_ffi::{
    dpt_exec, dpt_pool, dpt_pool_create, dpt_pool_destroy, dpt_pool_exec, dpt_task_fn,
};
use diptych_tests::hostile::functions::Functions;

use crate::mixed::{CALLS, FIRST_LARGE, Mix, Output};
use crate::{alone, number, say};

/// Returns a `dpt_exec` with all defaults.
pub fn plain() -> dpt_exec {
    dpt_exec {
        struct_size: size_of::<dpt_exec>(),
        device: 0,
        flags: 0,
        stream: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_size: 0,
        parallel_for: None,
        pool: ptr::null_mut(),
        max_threads: 0,
        reserved: 0,
    }
}

/// A pool of the library, destroyed when dropped.
pub struct Pool(*mut dpt_pool);

impl Pool {
    pub fn new(threads: i32) -> Pool {
        let mut pool = ptr::null_mut();
        // SAFETY: a valid pointer to the result.
        assert_eq!(unsafe { dpt_pool_create(threads, &mut pool) }, 0);
        Pool(pool)
    }

    pub fn exec(&self) -> dpt_exec {
        let mut exec = plain();
        // SAFETY: the pool is alive, and `exec` is a valid struct.
        assert_eq!(unsafe { dpt_pool_exec(self.0, &mut exec) }, 0);
        exec
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: created by `new`, and no call uses it any more.
        unsafe { dpt_pool_destroy(self.0) };
    }
}

/// Runs the tasks out of order on the calling thread: odd indices backwards, then the even ones.
pub unsafe extern "C" fn jumbled(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    let run = run.expect("a task");
    let odd = (0..count).rev().filter(|index| index % 2 == 1);
    for index in odd.chain((0..count).filter(|index| index % 2 == 0)) {
        // SAFETY: the library's own function and argument.
        unsafe { run(task, index) };
    }
}

/// An exec that many threads share and only read.
#[derive(Clone, Copy)]
struct SharedExec(dpt_exec);

// SAFETY: a call only reads its exec, and any thread may use the pool in it.
unsafe impl Sync for SharedExec {}

/// Makes `calls` random calls on one of the threads.
fn one<T: Functions>(mix: &Mix<T>, pool: &SharedExec, seed: u64, calls: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut out = Output::default();
    let mut own = plain();
    own.parallel_for = Some(jumbled);
    own.max_threads = 5;
    for _ in 0..calls {
        let exec = match rng.u8(..4) {
            0 => &raw const pool.0,
            1 => &raw const own,
            _ => ptr::null(),
        };
        // Large calls are rare, because each takes as long as thousands of small ones.
        let which = if rng.u16(..2000) == 0 {
            rng.usize(FIRST_LARGE..CALLS)
        } else {
            rng.usize(..FIRST_LARGE)
        };
        mix.expect(which, exec, &mut out);
    }
}

/// Runs 64 threads with `DIPTYCH_LOAD_CALLS` calls each, and checks every result.
#[test]
fn many_threads_with_mixed_calls() {
    let _alone = alone();
    const THREADS: u64 = 64;
    let calls = number("DIPTYCH_LOAD_CALLS", 20_000);
    let (single, double) = (Mix::<f32>::new(), Mix::<f64>::new());
    let pool = Pool::new(4);
    let exec = SharedExec(pool.exec());
    std::thread::scope(|scope| {
        for seed in 0..THREADS {
            let (single, double, exec) = (&single, &double, &exec);
            scope.spawn(move || {
                if seed % 2 == 0 {
                    one(single, exec, seed, calls);
                } else {
                    one(double, exec, seed, calls);
                }
            });
        }
    });
    say(&format!(
        "load: {THREADS} threads with {calls} calls each, all results right"
    ));
}
