//! `with` blocks that set something for the calls in them, in the current context: in the calling thread, and under asyncio
//! in the calling task.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// The open blocks of one kind.
pub struct Blocks {
    name: &'static str,
    /// Whether a block was ever opened; before, calls need not ask.
    used: AtomicBool,
    /// The context variable with the open blocks of a context: a tuple of objects, the innermost last.
    variable: PyOnceLock<Py<PyAny>>,
}

impl Blocks {
    /// None are open. `name` is that of the context variable.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            used: AtomicBool::new(false),
            variable: PyOnceLock::new(),
        }
    }

    fn variable<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let make = || {
            let options = PyDict::new(py);
            options.set_item("default", PyTuple::empty(py))?;
            let class = py.import("contextvars")?.getattr("ContextVar")?;
            PyResult::Ok(class.call((self.name,), Some(&options))?.unbind())
        };
        Ok(self.variable.get_or_try_init(py, make)?.bind(py))
    }

    /// Returns the open blocks of the current context.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let blocks = self.variable(py)?.call_method0(intern!(py, "get"))?;
        Ok(blocks.cast_into()?)
    }

    fn set<'py>(&self, py: Python<'py>, open: Vec<Bound<'py, PyAny>>) -> PyResult<()> {
        let open = PyTuple::new(py, open)?;
        let variable = self.variable(py)?;
        variable.call_method1(intern!(py, "set"), (open,)).map(drop)
    }

    /// Returns the innermost block that is open in the current context.
    pub fn innermost<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.used.load(Relaxed) {
            return Ok(None);
        }
        Ok(self.all(py)?.iter().next_back())
    }

    /// Opens a block of this object.
    pub fn open<T>(&self, block: &Bound<'_, T>) -> PyResult<()> {
        let py = block.py();
        let mut open: Vec<_> = self.all(py)?.iter().collect();
        open.push(block.clone().into_any());
        self.set(py, open)?;
        self.used.store(true, Relaxed);
        Ok(())
    }

    /// Closes the innermost block of this object. It need not be the last in the context, where generators hold others.
    pub fn close<T>(&self, block: &Bound<'_, T>) -> PyResult<()> {
        let py = block.py();
        let mut open: Vec<_> = self.all(py)?.iter().collect();
        // None of this object where the block is left in another context than the one that entered it.
        if let Some(place) = open.iter().rposition(|one| one.is(block)) {
            open.remove(place);
            self.set(py, open)?;
        }
        Ok(())
    }
}
