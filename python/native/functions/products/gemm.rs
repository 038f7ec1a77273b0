//! Products of matrices with everything that one pass can do: gemm.

use std::ptr;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::same_type;
use super::matmul::{product_work, split};
use super::{read_two, two_shapes};
use crate::arguments::Arguments;
use crate::call;
use crate::errors::{Class, refuse};
use crate::number::float;
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Shape, View};
use crate::tensor;
use diptych::tensor::Epilogue;

/// Reads a number; `default` if it is not given.
pub unsafe fn number(
    function: &str,
    name: &str,
    object: *mut PyObject,
    default: f64,
) -> PyResult<f64> {
    if object.is_null() {
        return Ok(default);
    }
    // SAFETY: the caller's.
    unsafe { float(function, name, object) }
}

/// The parameters of gemm: a, b, c, alpha, beta, bias, clip.
///
/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn gemm(function: &str, args: &Arguments) -> PyResult<*mut PyObject> {
    let (mut a, mut b, mut bias) = (Operand::new(), Operand::new(), Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("a", args[0]), ("b", args[1])], &mut a, &mut b)?;
        let alpha = number(function, "alpha", args[3], 1.0)?;
        let beta = number(function, "beta", args[4], 0.0)?;
        let clamp = read_clip(function, args[6])?;
        let (shape, k) = shape_of_product(function, &a, &b)?;
        if args[2].is_null() {
            if beta != 0.0 {
                return refuse(Class::Argument, format!("{function}: beta needs c"));
            }
            output.make(function, &a, shape.as_slice(), a.dtype(), None)?;
        } else {
            output.take(function, "c", args[2])?;
            same_type(function, ("a", &a), ("c", &output.operand))?;
            let c = &output.operand;
            if c.shape() != shape.as_slice() {
                return Err(two_shapes(
                    function,
                    ("a", &a),
                    ("c", c),
                    "c does not have the shape of the product",
                ));
            }
        }
        if !args[5].is_null() {
            bias.read(function, "bias", args[5])?;
            if bias.is_number() {
                bias.fit(function, "bias", a.dtype())?;
            }
            same_type(function, ("a", &a), ("bias", &bias))?;
        }
        let work = product_work(&output.operand, k);
        let all = &mut [&mut a, &mut b, &mut bias, &mut output.operand];
        let release = call::prepare(work, all);
        let (a, b, c) = (&a, &b, &output.operand);
        let bias = (!args[5].is_null()).then_some(&bias);
        let epilogue = Epilogue {
            bias: bias.map(|bias| &bias.tensor),
            clamp,
            ..Epilogue::default()
        };
        let epilogue = (bias.is_some() || clamp.is_some()).then_some(&epilogue);
        let arguments = || {
            let mut arguments = vec![("a", a), ("b", b), ("c", c)];
            arguments.extend(bias.map(|bias| ("bias", bias)));
            arguments
        };
        call::run(function, release, c, arguments, |backend| {
            tensor::matmul(
                backend, alpha, &a.tensor, &b.tensor, beta, &c.tensor, epilogue,
            )
        })?;
        output.finish()
    }
}

/// Returns the shape of the product of two arrays of matrices, and the length of the axis that they share.
fn shape_of_product(function: &str, a: &Operand, b: &Operand) -> PyResult<(Shape, i64)> {
    let refuse = |why| Err(two_shapes(function, ("a", a), ("b", b), why));
    let [a_view, b_view] = [View::new(a), View::new(b)];
    if a_view.ndim() < 2 || b_view.ndim() < 2 {
        return refuse("both need two axes");
    }
    let (a_batch, [m, k]) = split(&a_view);
    let (b_batch, [l, n]) = split(&b_view);
    let mut shape = Shape::new(a_batch);
    if k != l || !shape.broadcast(b_batch) {
        return refuse("the shapes do not fit each other");
    }
    shape.push(m);
    shape.push(n);
    Ok((shape, k))
}

/// Reads `clip`: a pair of bounds, each of which may be None.
unsafe fn read_clip(function: &str, object: *mut PyObject) -> PyResult<Option<(f64, f64)>> {
    if object.is_null() {
        return Ok(None);
    }
    let mut bounds = [f64::NEG_INFINITY, f64::INFINITY];
    // SAFETY: the caller's.
    unsafe {
        if ffi::PyTuple_Check(object) == 0 || ffi::PyTuple_Size(object) != 2 {
            return refuse(
                Class::Argument,
                format!("{function}: clip must be a pair (min, max)"),
            );
        }
        for (i, bound) in bounds.iter_mut().enumerate() {
            let item = ffi::PyTuple_GetItem(object, i as isize);
            let item = if item == ffi::Py_None() {
                ptr::null_mut()
            } else {
                item
            };
            *bound = number(function, "clip", item, *bound)?;
        }
    }
    Ok(Some((bounds[0], bounds[1])))
}
