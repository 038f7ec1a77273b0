//! The threads of large calls.
//!
//! `DIPTYCH_THREADS` says how many may work on one call; without it there is one, the caller's. The pool is made by the
//! first call that is large enough to use it. In the child of a `fork` it has no threads, and calls run on their own.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use diptych::{Exec, Pool};

/// How many threads may work on a call; 0 before the environment has been read.
static THREADS: AtomicUsize = AtomicUsize::new(0);
/// The pool, which lives as long as the process. An atomic and no lock: a `fork` may happen at any moment.
static POOL: AtomicPtr<Pool> = AtomicPtr::new(null_mut());

/// Smaller calls do not gain from threads: multiplications of a product, elements of a vector.
const LARGE: usize = 1 << 17;
/// More threads than this are a mistake in the environment.
const MOST: usize = 1024;

/// Calls `run` with the threads for a call of this size.
#[inline]
pub fn with_exec<R>(size: usize, run: impl FnOnce(&Exec<'_>) -> R) -> R {
    if size >= LARGE
        && THREADS.load(Ordering::Relaxed) != 1
        && let Some(pool) = pool()
    {
        return run(&Exec::new().with_pool(pool, pool.threads()));
    }
    run(&Exec::new())
}

/// Returns the pool, if there are to be threads and the system has them.
#[cold]
fn pool() -> Option<&'static Pool> {
    let threads = match THREADS.load(Ordering::Relaxed) {
        0 => {
            let value = std::env::var("DIPTYCH_THREADS").ok();
            let threads = value.and_then(|value| value.trim().parse().ok());
            let threads: usize = threads.unwrap_or(1);
            let threads = threads.clamp(1, MOST);
            THREADS.store(threads, Ordering::Relaxed);
            threads
        }
        threads => threads,
    };
    if threads == 1 {
        return None;
    }
    let pool = POOL.load(Ordering::Acquire);
    // SAFETY: not null, so a pool that was leaked below.
    if let Some(pool) = unsafe { pool.as_ref() } {
        return Some(pool);
    }
    let Ok(made) = Pool::new(threads) else {
        THREADS.store(1, Ordering::Relaxed);
        return None;
    };
    let made = Box::into_raw(Box::new(made));
    let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
    match POOL.compare_exchange(null_mut(), made, success, failure) {
        // SAFETY: a pool that is never freed.
        Ok(_) => Some(unsafe { &*made }),
        Err(first) => {
            // SAFETY: another thread was faster; its pool is used, and ours, which nobody else has seen, is freed.
            unsafe {
                drop(Box::from_raw(made));
                Some(&*first)
            }
        }
    }
}
