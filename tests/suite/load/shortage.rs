//! Out of memory: each request for scratch memory fails in turn. The call then works with less memory and gives the
//! same result, and later calls are not affected.

use core::ptr;

use diptych_tests::hostile::functions::Functions;

use crate::mixed::{CALLS, Mix, Output};
use crate::threads::Pool;
use crate::{allocator, alone, say};

/// Makes all calls on a new thread, which has no scratch memory yet, with and without a pool; first with large request
/// `k` failing, then again. Returns whether there was a request `k`. Without `k`, makes all calls once and returns
/// true.
fn round<T: Functions>(mix: &Mix<T>, k: Option<i64>) -> bool {
    let fresh = || {
        let (pool, mut out) = (Pool::new(3), Output::default());
        let exec = pool.exec();
        let mut every = || {
            for which in 0..CALLS {
                mix.expect(which, ptr::null(), &mut out);
                mix.expect(which, &raw const exec, &mut out);
            }
        };
        let Some(k) = k else {
            every();
            return true;
        };
        let ((), reached) = allocator::refusing(k, &mut every);
        every();
        reached
    };
    std::thread::scope(|scope| scope.spawn(fresh).join())
        .expect("a call that is refused memory returns")
}

fn every_request<T: Functions>() {
    let mix = Mix::<T>::new();
    let requests = allocator::large_requests(|| assert!(round(&mix, None)));
    let mut k = 0;
    while round(&mix, Some(k)) {
        k += 1;
    }
    assert!(k > 0 && requests > 0, "no call asked for scratch memory");
    let name = T::DTYPE;
    say(&format!(
        "shortage: {k} requests of {name} failed in turn, and every call succeeded with less memory"
    ));
}

#[test]
fn memory_runs_out() {
    let _alone = alone();
    every_request::<f32>();
    every_request::<f64>();
}
