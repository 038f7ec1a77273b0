//! Memory that runs out, at each request for scratch memory in turn: a call then does its work in less or
//! says so, and everything after it is as if nothing had been.

use core::ptr;

use diptych_tests::hostile::functions::Functions;

use crate::mixed::{CALLS, Mix, Output};
use crate::threads::Pool;
use crate::{allocator, alone, say};

const OUT_OF_MEMORY: i32 = 100;

/// All calls once, on the calling thread and on a pool, in a thread that has no scratch memory yet.
fn round<T: Functions>(mix: &Mix<T>, k: Option<i64>) -> (usize, bool) {
    let fresh = || {
        let (pool, mut out) = (Pool::new(3), Output::default());
        let exec = pool.exec();
        let every = || {
            let calls =
                (0..CALLS).flat_map(|which| [(which, ptr::null()), (which, &raw const exec)]);
            let results = calls.map(|(which, exec)| (which, mix.check(which, exec, &mut out)));
            let mut refused = 0;
            for (which, (status, right)) in results {
                assert!(
                    right || status == OUT_OF_MEMORY,
                    "call {which}: status {status}, or other bits"
                );
                refused += usize::from(!right);
            }
            refused
        };
        let mut every = every;
        let Some(k) = k else {
            return (every(), true);
        };
        let (refused, reached) = allocator::refusing(k, &mut every);
        assert_eq!(every(), 0, "after request {k} was refused");
        (refused, reached)
    };
    std::thread::scope(|scope| scope.spawn(fresh).join())
        .expect("a call that is refused memory returns")
}

fn every_request<T: Functions>() {
    let mix = Mix::<T>::new();
    let requests = allocator::large_requests(|| assert_eq!(round(&mix, None).0, 0));
    let (mut k, mut refused) = (0, 0);
    loop {
        let (calls, reached) = round(&mix, Some(k));
        if !reached {
            break;
        }
        refused += calls;
        k += 1;
    }
    assert!(k > 0 && requests > 0, "no call asked for scratch memory");
    let name = T::DTYPE;
    say(&format!(
        "shortage: {k} requests of {name} refused in turn: {refused} calls gave a status, the others did with less"
    ));
}

#[test]
fn memory_runs_out() {
    let _alone = alone();
    every_request::<f32>();
    every_request::<f64>();
}
