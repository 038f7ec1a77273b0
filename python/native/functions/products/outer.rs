//! Outer products: outer, ger.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::same_type;
use super::gemm::number;
use super::read_two;
use crate::arguments::Arguments;
use crate::call;
use crate::errors::{Class, refuse};
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::View;
use crate::tensor;
use diptych::tensor::Tensor;

/// Returns a view of a vector, or of an array that lies in memory as one.
fn flat(function: &str, name: &str, operand: &Operand) -> PyResult<View> {
    let mut view = View::new(operand);
    if view.ndim() != 1 && !view.flatten() {
        return refuse(
            Class::Shape,
            format!(
                "{function}: {name} has the shape {} and does not lie in memory as one vector; pass a copy",
                operand.shape_text()
            ),
        );
    }
    Ok(view)
}

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn outer(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
        if x.tensor.ndim == 1 && y.tensor.ndim == 1 {
            let shape = [x.shape()[0], y.shape()[0]];
            output.prepare(function, &x, &shape, x.dtype(), a[2])?;
            let work = output.operand.bytes();
            let release = call::prepare(work, &mut [&mut x, &mut y, &mut output.operand]);
            outer_of(function, release, [&x, &y], [&x.tensor, &y.tensor], &output)?;
            return output.finish();
        }
        let (p, q) = (flat(function, "x", &x)?, flat(function, "y", &y)?);
        let shape = [p.shape()[0], q.shape()[0]];
        output.prepare(function, &x, &shape, x.dtype(), a[2])?;
        let release = call::prepare(output.operand.bytes(), &mut [&mut output.operand]);
        outer_of(
            function,
            release,
            [&x, &y],
            [&p.tensor(), &q.tensor()],
            &output,
        )?;
        output.finish()
    }
}

/// # Safety
/// As [`outer`], with vectors.
#[inline(always)]
unsafe fn outer_of(
    function: &str,
    release: bool,
    [x, y]: [&Operand; 2],
    [p, q]: [&Tensor; 2],
    output: &Output,
) -> PyResult<()> {
    let out = &output.operand;
    let arguments = || vec![("x", x), ("y", y), ("out", out)];
    // SAFETY: the caller's.
    unsafe {
        call::run(function, release, out, arguments, |backend| {
            tensor::outer(backend, p, q, &out.tensor)
        })
    }
}

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn ger(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        let alpha = number(function, "alpha", a[0], 1.0)?;
        read_two(function, [("x", a[1]), ("y", a[2])], &mut x, &mut y)?;
        output.take(function, "a", a[3])?;
        same_type(function, ("x", &x), ("a", &output.operand))?;
        let work = output.operand.bytes().saturating_mul(2);
        let release = call::prepare(work, &mut [&mut x, &mut y, &mut output.operand]);
        let (x, y, out) = (&x, &y, &output.operand);
        let arguments = || vec![("x", x), ("y", y), ("a", out)];
        call::run(function, release, out, arguments, |backend| {
            tensor::ger(backend, alpha, &x.tensor, &y.tensor, &out.tensor)
        })?;
        output.finish()
    }
}
