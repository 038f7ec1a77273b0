//! How many threads calls use.
//!
//! There is one pool for the process. All functions here are called with the GIL held, so nothing else can be changing
//! the pool when the process forks. Python then calls [`forget_pool`] in the child, which makes a pool of its own when it
//! needs one; to compare process numbers in each call would be a system call. In a child that Python knows nothing of,
//! the pool has no threads, and calls run on their own.

use std::env;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use diptych::{Exec, Pool};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batches;
use crate::blocks::Blocks;
use crate::errors::{Class, raise, refuse};

/// The number where no `with threads(n)` block is open.
static DEFAULT: AtomicUsize = AtomicUsize::new(1);
/// The open `with threads(n)` blocks: objects of [`Threads`].
static BLOCKS: Blocks = Blocks::new("diptych.threads");
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// Returns how many threads calls in the current context use.
fn current(py: Python<'_>) -> PyResult<usize> {
    match BLOCKS.innermost(py)? {
        Some(block) => Ok(block.cast::<Threads>()?.get().count),
        None => Ok(DEFAULT.load(Relaxed)),
    }
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

/// Reads `DIPTYCH_THREADS`, and has Python call [`forget_pool`] in children, where there is a `fork`; when the module is
/// first imported.
pub fn set_up(module: &Bound<'_, PyModule>) -> PyResult<()> {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Relaxed) {
        return Ok(());
    }
    let py = module.py();
    if let Ok(register) = py.import("os")?.getattr("register_at_fork") {
        let options = PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(forget_pool, module)?)?;
        register.call((), Some(&options))?;
    }
    let Some(value) = env::var_os("DIPTYCH_THREADS").filter(|value| !value.is_empty()) else {
        return Ok(());
    };
    let threads = value.to_str().and_then(|text| text.trim().parse().ok());
    if let Some(Ok(threads)) = threads.map(check) {
        DEFAULT.store(threads, Relaxed);
        return Ok(());
    }
    let value = value.to_string_lossy();
    let text =
        format!("DIPTYCH_THREADS is '{value}', which is not a number of threads; calls use one");
    PyErr::warn(
        py,
        &py.get_type::<PyRuntimeWarning>(),
        &CString::new(text)?,
        1,
    )
}

/// Calls `body` with what a long call uses.
///
/// # Safety
/// The GIL is held when this is called, and whenever `body` returns.
pub unsafe fn with_exec<R>(body: impl FnOnce(&Exec<'_>) -> R) -> PyResult<R> {
    // SAFETY: the caller's.
    let (exec, threads) = unsafe { (batches::exec()?, current(Python::assume_attached())?) };
    if threads <= 1 {
        return Ok(body(&exec));
    }
    let pool = pool(threads)?;
    Ok(body(&exec.with_pool(&*pool, threads)))
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

/// Return how many threads long calls may use here: the number of the innermost ``with diptych.threads(n)`` block that
/// is open, or else that of ``set_threads``.
#[pyfunction]
pub fn get_threads(py: Python<'_>) -> PyResult<usize> {
    current(py)
}

/// Let long calls in a ``with`` block use up to ``n`` threads.
///
/// This holds in the current context (see the module ``contextvars``): in the calling thread, and under asyncio in the
/// calling task and those that it starts in the block. A generator has its caller's context.
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
}

#[pymethods]
impl Threads {
    #[new]
    #[pyo3(signature = (n, /))]
    fn new(n: isize) -> PyResult<Self> {
        Ok(Self { count: check(n)? })
    }

    fn __enter__(this: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        BLOCKS.open(&this)?;
        Ok(this)
    }

    fn __exit__(
        this: &Bound<'_, Self>,
        _class: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        BLOCKS.close(this)
    }
}
