//! How many threads calls use.
//!
//! There is one pool for the process. All functions here are called with the GIL held, so nothing else can be changing
//! the pool when the process forks. Python then calls [`forget_pool`] in the child, which makes a pool of its own when it
//! needs one; to compare process numbers in each call would be a system call. In a child that Python knows nothing of,
//! the pool has no threads, and calls run on their own.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use diptych::{Exec, Pool};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{Class, raise, refuse};

/// The number for threads without one of their own.
static DEFAULT: AtomicUsize = AtomicUsize::new(1);
/// How many `with threads(n)` blocks are open, in all threads.
static OPEN: AtomicUsize = AtomicUsize::new(0);
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

thread_local! {
    /// The number of the innermost `with threads(n)` block of this thread; 0 without one.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Returns how many threads calls of this thread use.
pub fn current() -> usize {
    if OPEN.load(Relaxed) > 0 {
        let own = OWN.get();
        if own > 0 {
            return own;
        }
    }
    DEFAULT.load(Relaxed)
}

/// Returns a pool of at least `threads` threads.
fn pool(threads: usize) -> PyResult<Arc<Pool>> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match &*slot {
        Some(pool) if pool.threads() >= threads => Ok(pool.clone()),
        _ => {
            let made =
                Pool::new(threads).map_err(|error| raise(Class::Error, error.to_string()))?;
            let made = Arc::new(made);
            *slot = Some(made.clone());
            Ok(made)
        }
    }
}

/// Forgets the pool, whose threads the child of a fork does not have.
#[pyfunction]
fn forget_pool() {
    *POOL.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Has Python call [`forget_pool`] in children, where there is a `fork`.
pub fn forget_pool_in_children(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let Ok(register) = module.py().import("os")?.getattr("register_at_fork") else {
        return Ok(());
    };
    let options = PyDict::new(module.py());
    options.set_item("after_in_child", wrap_pyfunction!(forget_pool, module)?)?;
    register.call((), Some(&options)).map(drop)
}

/// Calls `body` with what a long call of this thread uses.
pub fn with_exec<R>(body: impl FnOnce(&Exec<'_>) -> R) -> PyResult<R> {
    let threads = current();
    if threads <= 1 {
        return Ok(body(&Exec::new()));
    }
    let pool = pool(threads)?;
    Ok(body(&Exec::new().with_pool(&*pool, threads)))
}

fn check(threads: isize) -> PyResult<usize> {
    const MOST: isize = 4096;
    if (1..=MOST).contains(&threads) {
        return Ok(threads as usize);
    }
    refuse(
        Class::Argument,
        format!("the number of threads must be between 1 and {MOST}, not {threads}"),
    )
}

/// Set how many threads long calls may use, in the whole process.
///
/// Results have the same bits with any number. At first it is the number in the environment variable
/// ``DIPTYCH_THREADS``, or 1.
///
/// >>> import diptych
/// >>> diptych.set_threads(1)
/// >>> diptych.get_threads()
/// 1
#[pyfunction]
#[pyo3(signature = (n, /))]
pub fn set_threads(n: isize) -> PyResult<()> {
    DEFAULT.store(check(n)?, Relaxed);
    Ok(())
}

/// Return how many threads long calls of this thread may use.
#[pyfunction]
pub fn get_threads() -> usize {
    current()
}

/// Let long calls in a ``with`` block use up to ``n`` threads; in the calling thread only.
///
/// Results have the same bits with any number.
///
/// >>> import diptych
/// >>> with diptych.threads(2):
/// ...     diptych.get_threads()
/// 2
#[pyclass(name = "threads", module = "diptych", frozen)]
pub struct Threads {
    count: usize,
    /// What held before each block that is open.
    before: Mutex<Vec<usize>>,
}

#[pymethods]
impl Threads {
    #[new]
    #[pyo3(signature = (n, /))]
    fn new(n: isize) -> PyResult<Self> {
        Ok(Self {
            count: check(n)?,
            before: Mutex::default(),
        })
    }

    fn __enter__(this: Bound<'_, Self>) -> Bound<'_, Self> {
        let threads = this.get();
        let mut before = threads
            .before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        before.push(OWN.replace(threads.count));
        OPEN.fetch_add(1, Relaxed);
        drop(before);
        this
    }

    fn __exit__(
        &self,
        _class: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = before.pop() {
            OWN.set(last);
            OPEN.fetch_sub(1, Relaxed);
        }
    }
}
