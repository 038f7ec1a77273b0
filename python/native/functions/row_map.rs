//! Maps over rows: results for each element of x, from it and from its row.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::array;
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::operand::Operand;
use crate::order::Order;
use crate::output::Output;
use crate::shape::Axes;
use crate::tensor::{self, Backend};
use diptych::tensor::Tensor;

type Operation =
    unsafe fn(Backend<'_, '_>, &Tensor, Option<&[i32]>, &Tensor) -> diptych_gpu::Result<()>;

/// A map: x, axis, out.
///
/// # Safety
/// The GIL is held, the objects alive.
unsafe fn row_map(
    function: &str,
    arguments: &Arguments,
    operation: Operation,
) -> PyResult<*mut PyObject> {
    let [object, axis, out, ..] = *arguments;
    let mut x = Operand::new();
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        x.read(function, "x", object)?;
        array(function, "x", &x)?;
        let axes = Axes::read(function, axis, x.shape().len())?;
        if out.is_null() {
            let order = Order::of(x.shape(), std::slice::from_ref(&x));
            output.make(function, &x, x.shape(), x.dtype(), order.as_ref())?;
        } else {
            output.take_exact(function, out, x.shape(), x.dtype())?;
        }
        let work = x.bytes().saturating_mul(2);
        let release = call::prepare(work, &mut [&mut x, &mut output.operand]);
        let (x, out) = (&x, &output.operand);
        let arguments = || vec![("x", x), ("out", out)];
        call::run(function, release, out, arguments, |backend| {
            operation(backend, &x.tensor, axes.as_option(), &out.tensor)
        })?;
        output.finish()
    }
}

functions! {
    /// Divide each row of x by its Euclidean norm: x / nrm2(x, axis=axis, keepdims=True).
    ///
    /// The quotients are rounded once, so the bits are those of this expression. A row of zeros
    /// gives NaN, as 0 / 0.
    ///
    /// Parameters
    /// ----------
    /// x : array
    ///     Of a type of floats.
    /// axis : int or tuple of int, optional
    ///     The axes that make a row; negative ones count from the end. None: all.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type. It may be x.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, or a new array of the kind of x, with its shape and type.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If out does not have the shape of x.
    /// DtypeError
    ///     If x is not an array, or its type is not supported.
    /// ArgumentError
    ///     If an axis is out of range or given twice, or out is read-only or overlaps x without
    ///     being it.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> diptych.normalize(np.array([[3.0, 4.0], [0.0, -2.0]]), axis=1)
    /// array([[ 0.6,  0.8],
    ///        [ 0. , -1. ]])
    normalize("x, *, axis=None, out=None") => |f, a| row_map(f, a, tensor::normalize);
}
