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
        let [views_a, views_b] = [View::new(&a), View::new(&b)];
        if views_a.ndim() < 2 || views_b.ndim() < 2 {
            return Err(two_shapes(
                function,
                ("a", &a),
                ("b", &b),
                "both need two axes",
            ));
        }
        let (batch_a, [m, k]) = split(&views_a);
        let (batch_b, [l, n]) = split(&views_b);
        let mut shape = Shape::new(batch_a);
        if k != l || !shape.broadcast(batch_b) {
            return Err(two_shapes(
                function,
                ("a", &a),
                ("b", &b),
                "the shapes do not fit each other",
            ));
        }
        shape.push(m);
        shape.push(n);
        if args[2].is_null() {
            if beta != 0.0 {
                return refuse(Class::Argument, format!("{function}: beta needs c"));
            }
            output.make(function, &a, shape.as_slice(), a.dtype())?;
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
        let epilogue = Epilogue {
            bias: if args[5].is_null() {
                None
            } else {
                Some(&bias.tensor)
            },
            clamp,
        };
        let epilogue = (epilogue.bias.is_some() || epilogue.clamp.is_some()).then_some(&epilogue);
        let (a, b, bias, c) = (&a, &b, &bias, &output.operand);
        let arguments = || {
            let mut arguments = vec![("a", a), ("b", b), ("c", c)];
            if !args[5].is_null() {
                arguments.push(("bias", bias));
            }
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
