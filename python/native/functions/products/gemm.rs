//! Products of matrices with everything that one pass can do: gemm.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::epilogue::Epilogue;
use super::matmul::{product_work, split};
use super::two_shapes;
use super::types::{check_result, read_factors};
use crate::arguments::Arguments;
use crate::call;
use crate::errors::{Class, refuse};
use crate::number::float;
use crate::operand::Operand;
use crate::output::Output;
use crate::packed::Packed;
use crate::shape::{Shape, View};
use crate::tensor;

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

/// The parameters of gemm: a, b, c, alpha, beta, bias, clip, `row_scale`, `column_scale`.
///
/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn gemm(function: &str, args: &Arguments) -> PyResult<*mut PyObject> {
    let (mut a, mut b) = (Operand::new(), Operand::new());
    let mut epilogue = Epilogue::new();
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        let alpha = number(function, "alpha", args[3], 1.0)?;
        let beta = number(function, "beta", args[4], 0.0)?;
        let after = [args[5], args[6], args[7], args[8]];
        if let Some(packed) = Packed::of(args[1]) {
            let (matrices, scalars) = ([args[0], args[2]], (alpha, beta));
            return super::packed::gemm(function, matrices, packed, scalars, after);
        }
        read_factors(function, [("a", args[0]), ("b", args[1])], &mut a, &mut b)?;
        if after.iter().any(|argument| !argument.is_null()) {
            epilogue.read(function, &a, after)?;
        }
        let (shape, k) = shape_of_product(function, &a, &b)?;
        if args[2].is_null() {
            if beta != 0.0 {
                return refuse(Class::Argument, format!("{function}: beta needs c"));
            }
            let dtype = epilogue.result(&a);
            epilogue.check(function, (alpha, beta), &a, dtype)?;
            output.make(function, &a, shape.as_slice(), dtype, None)?;
        } else {
            output.take(function, "c", args[2])?;
            let c = &output.operand;
            check_result(function, ("a", &a), ("c", c))?;
            epilogue.check(function, (alpha, beta), &a, c.dtype())?;
            if c.shape() != shape.as_slice() {
                return Err(two_shapes(
                    function,
                    ("a", &a),
                    ("c", c),
                    "c does not have the shape of the product",
                ));
            }
        }
        let work = product_work(&output.operand, k);
        let release = call::prepare(work, &mut [&mut a, &mut b, &mut output.operand]);
        if release {
            epilogue.pin();
        }
        let (a, b, c) = (&a, &b, &output.operand);
        let after = epilogue.of_kernels();
        let arguments = || {
            let mut arguments = vec![("a", a), ("b", b), ("c", c)];
            epilogue.list(&mut arguments);
            arguments
        };
        call::run(function, release, c, arguments, |backend| {
            tensor::matmul(
                backend,
                alpha,
                &a.tensor,
                &b.tensor,
                beta,
                &c.tensor,
                after.as_ref(),
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
