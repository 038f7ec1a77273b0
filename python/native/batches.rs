//! Whether a row of a product is to have the same bits in every batch.

use diptych::Exec;
use pyo3::prelude::*;

use crate::blocks::Blocks;

/// The open blocks: objects of [`BatchInvariant`].
static BLOCKS: Blocks = Blocks::new("diptych.batch_invariant");

/// Returns whether a block is open.
///
/// # Safety
/// The GIL is held.
#[inline(always)]
pub unsafe fn are_invariant() -> PyResult<bool> {
    // SAFETY: the caller's.
    Ok(BLOCKS
        .innermost(unsafe { Python::assume_attached() })?
        .is_some())
}

/// Returns what a call on the CPU uses, without threads.
///
/// # Safety
/// The GIL is held.
#[inline(always)]
pub unsafe fn exec<'a>() -> PyResult<Exec<'a>> {
    let exec = Exec::new();
    // SAFETY: the caller's.
    Ok(if unsafe { are_invariant()? } {
        exec.batch_invariant()
    } else {
        exec
    })
}

/// Make a row of a matrix product independent of its batch, in a ``with`` block.
///
/// A row of ``matmul``, ``gemm`` or ``dot`` of float32 or float64 then has the same bits whatever the number of rows is,
/// so that a row computed alone is that row of any batch. Elsewhere a single row has the order of ``dot``, which is faster
/// where the other matrix is transposed. Products of other types never depend on the number of rows.
///
/// This holds in the current context (see the module ``contextvars``): in the calling thread, and under asyncio in the
/// calling task and those that it starts in the block. A generator has its caller's context.
///
/// >>> import diptych, numpy
/// >>> x, w = numpy.linspace(0, 1, 3000).reshape(3, 1000), numpy.linspace(1, 2, 2000).reshape(1000, 2)
/// >>> with diptych.batch_invariant():
/// ...     bool((diptych.matmul(x[1:2], w) == diptych.matmul(x, w)[1]).all())
/// True
#[pyclass(name = "batch_invariant", module = "diptych", frozen)]
pub struct BatchInvariant;

#[pymethods]
impl BatchInvariant {
    #[new]
    fn new() -> Self {
        Self
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
