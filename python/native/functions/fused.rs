//! Losses with their gradients in one pass.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, same_type};
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::errors::fetch;
use crate::errors::{Class, refuse};
use crate::operand::{Kind, Operand};
use crate::output::Output;
use crate::tensor;

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn mse_grad(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut pred, mut target) = (Operand::new(), Operand::new());
    let (mut grad, mut loss) = (Output::new(), Output::new());
    // SAFETY: the caller's.
    unsafe {
        pred.read(function, "pred", a[0])?;
        target.read(function, "target", a[1])?;
        array(function, "pred", &pred)?;
        array(function, "target", &target)?;
        same_type(function, ("pred", &pred), ("target", &target))?;
        if pred.shape() != target.shape() {
            return refuse(
                Class::Shape,
                format!(
                    "{function}: pred has the shape {}, target {}; they must be the same",
                    pred.shape_text(),
                    target.shape_text()
                ),
            );
        }
        grad.prepare(function, &pred, pred.shape(), pred.dtype(), a[2])?;
        if pred.is_on_device() && !matches!(pred.kind, Kind::Exchange(_)) {
            let why = "cannot make the loss: the type of the arrays does not say how to allocate CUDA memory";
            return refuse(Class::Argument, format!("{function}: {why}"));
        }
        loss.make(function, &pred, &[], pred.dtype(), None)?;
        let work = pred.bytes().saturating_mul(3);
        let all = &mut [&mut pred, &mut target, &mut grad.operand, &mut loss.operand];
        let release = call::prepare(work, all);
        let (p, t, g, l) = (&pred, &target, &grad.operand, &loss.operand);
        let arguments = || vec![("pred", p), ("target", t), ("out", g)];
        call::run(function, release, g, arguments, |backend| {
            tensor::mse_grad(backend, &p.tensor, &t.tensor, &g.tensor, &l.tensor)
        })?;
        let loss = loss.finish()?;
        let pair = grad.finish().map(|grad| {
            let pair = ffi::PyTuple_Pack(2, loss, grad);
            ffi::Py_DECREF(grad);
            pair
        });
        ffi::Py_DECREF(loss);
        let pair = pair?;
        if pair.is_null() {
            return Err(fetch());
        }
        Ok(pair)
    }
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn lsq_grad(function: &str, args: &Arguments) -> PyResult<*mut PyObject> {
    let (mut a, mut x, mut y) = (Operand::new(), Operand::new(), Operand::new());
    let mut grad = Output::new();
    // SAFETY: the caller's.
    unsafe {
        a.read(function, "a", args[0])?;
        x.read(function, "x", args[1])?;
        y.read(function, "y", args[2])?;
        for (name, operand) in [("a", &a), ("x", &x), ("y", &y)] {
            array(function, name, operand)?;
            same_type(function, ("a", &a), (name, operand))?;
        }
        let fits = match (a.shape(), x.shape(), y.shape()) {
            ([m, n], [p], [q]) => m == q && n == p,
            _ => false,
        };
        if !fits {
            return refuse(
                Class::Shape,
                format!(
                    "{function}: a {}, x {}, y {}: a must have the shape (m, n), x (n,) and y (m,)",
                    a.shape_text(),
                    x.shape_text(),
                    y.shape_text()
                ),
            );
        }
        grad.prepare(function, &a, x.shape(), a.dtype(), args[3])?;
        let work = a.bytes().saturating_mul(2);
        let release = call::prepare(work, &mut [&mut a, &mut x, &mut y, &mut grad.operand]);
        let (a, x, y, out) = (&a, &x, &y, &grad.operand);
        let arguments = || vec![("a", a), ("x", x), ("y", y), ("out", out)];
        call::run(function, release, out, arguments, |backend| {
            tensor::lsq_grad(backend, &a.tensor, &x.tensor, &y.tensor, &out.tensor)
        })?;
        grad.finish()
    }
}

functions! {
    /// The squared error and its gradient in one pass: (sum((pred - target)**2), 2 * (pred - target)).
    ///
    /// Parameters
    /// ----------
    /// pred, target : array
    ///     Arrays of one shape and one type of floats.
    /// out : array, optional
    ///     Where to write the gradient. It may be pred or target.
    ///
    /// Returns
    /// -------
    /// (scalar, array)
    ///     The loss and the gradient with respect to pred.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> diptych.mse_grad(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
    /// (np.float64(5.0), array([ 2., -4.]))
    mse_grad("pred, target, *, out=None") => |f, a| mse_grad(f, a);

    /// The gradient of the squared error of a @ x - y with respect to x: 2 * a.T @ (a @ x - y), in one
    /// pass over a.
    ///
    /// Parameters
    /// ----------
    /// a : array of shape (m, n)
    /// x : array of shape (n,)
    /// y : array of shape (m,)
    ///     All of one type of floats.
    /// out : array of shape (n,), optional
    ///     Where to write the result.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    /// >>> diptych.lsq_grad(a, np.array([1.0, 1.0]), np.array([1.0, 1.0]))
    /// array([40., 56.])
    lsq_grad("a, x, y, *, out=None") => |f, a| lsq_grad(f, a);
}
