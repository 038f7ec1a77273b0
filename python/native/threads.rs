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
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{Class, raise, refuse};

/// The number where no `with threads(n)` block is open.
static DEFAULT: AtomicUsize = AtomicUsize::new(1);
/// Whether a block was ever opened; before, calls need not ask.
static USED: AtomicBool = AtomicBool::new(false);
/// The context variable with the open blocks of a context: a tuple of [`Threads`], the innermost last.
static BLOCKS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

fn variable(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    let make = || {
        let options = PyDict::new(py);
        options.set_item("default", PyTuple::empty(py))?;
        let class = py.import("contextvars")?.getattr("ContextVar")?;
        PyResult::Ok(class.call(("diptych.threads",), Some(&options))?.unbind())
    };
    Ok(BLOCKS.get_or_try_init(py, make)?.bind(py))
}

/// Returns the open blocks of the current context.
fn blocks(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let blocks = variable(py)?.call_method0(intern!(py, "get"))?;
    Ok(blocks.cast_into()?)
}

fn set_blocks<'py>(py: Python<'py>, open: Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    let open = PyTuple::new(py, open)?;
    variable(py)?
        .call_method1(intern!(py, "set"), (open,))
        .map(drop)
}

/// Returns how many threads calls in the current context use.
fn current(py: Python<'_>) -> PyResult<usize> {
    if USED.load(Relaxed)
        && let Some(innermost) = blocks(py)?.iter().next_back()
    {
        return Ok(innermost.cast::<Threads>()?.get().count);
    }
    Ok(DEFAULT.load(Relaxed))
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
    let threads = current(unsafe { Python::assume_attached() })?;
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
        let mut open: Vec<_> = blocks(this.py())?.iter().collect();
        open.push(this.clone().into_any());
        set_blocks(this.py(), open)?;
        USED.store(true, Relaxed);
        Ok(this)
    }

    /// Closes the innermost block of this object. It need not be the last in the context, where generators hold others.
    fn __exit__(
        this: &Bound<'_, Self>,
        _class: &Bound<'_, PyAny>,
        _value: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut open: Vec<_> = blocks(this.py())?.iter().collect();
        // None of this object where the block is left in another context than the one that entered it.
        if let Some(place) = open.iter().rposition(|block| block.is(this)) {
            open.remove(place);
            set_blocks(this.py(), open)?;
        }
        Ok(())
    }
}
