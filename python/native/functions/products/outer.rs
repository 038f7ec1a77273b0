//! Outer products: outer, ger.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::same_type;
use super::gemm::number;
use super::read_two;
use super::types::{self, Family};
use crate::arguments::Arguments;
use crate::call;
use crate::dtype::Dtype;
use crate::errors::{Class, refuse};
use crate::number::element;
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
            prepare(&mut output, function, &x, &shape, a[2])?;
            let work = output.operand.bytes();
            let release = call::prepare(work, &mut [&mut x, &mut y, &mut output.operand]);
            outer_of(function, release, [&x, &y], [&x.tensor, &y.tensor], &output)?;
            return output.finish();
        }
        let (p, q) = (flat(function, "x", &x)?, flat(function, "y", &y)?);
        let shape = [p.shape()[0], q.shape()[0]];
        prepare(&mut output, function, &x, &shape, a[2])?;
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

/// Takes an array for the result, or makes one: of the type of `x`; of 16-bit floats also one of `float32`.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
unsafe fn prepare(
    output: &mut Output,
    function: &str,
    x: &Operand,
    shape: &[i64],
    out: *mut PyObject,
) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe {
        if Family::of(x.dtype()) == Family::Half {
            types::prepare(output, function, x, shape, out)
        } else {
            output.prepare(function, x, shape, x.dtype(), out)
        }
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

/// Reads the factor of `ger`; for matrices of integers, one of their type.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn factor(function: &str, object: *mut PyObject, dtype: Dtype) -> PyResult<f64> {
    // SAFETY: the caller's.
    unsafe {
        if !dtype.is_integer() {
            return number(function, "alpha", object, 1.0);
        }
        let alpha = element(function, "alpha", object, dtype)?.cast_signed();
        let rounded = alpha as f64;
        if rounded as i128 != i128::from(alpha) {
            return refuse(
                Class::Argument,
                format!("{function}: alpha is {alpha}, which float64 does not hold exactly"),
            );
        }
        Ok(rounded)
    }
}

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn ger(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("x", a[1]), ("y", a[2])], &mut x, &mut y)?;
        let alpha = factor(function, a[0], x.dtype())?;
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
