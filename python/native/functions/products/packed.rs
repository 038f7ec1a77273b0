//! Products with a packed matrix.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::array;
use super::epilogue::Epilogue;
use super::matmul::product_work;
use super::two_shapes;
use super::types::{check_result, prepare};
use crate::call;
use crate::dtype::Dtype;
use crate::errors::{Class, raise, refuse, shape_of};
use crate::operand::Operand;
use crate::output::Output;
use crate::packed::Packed;
use crate::shape::Shape;
use crate::tensor;

/// The first factor, and the shape of the product.
struct Checked {
    x: Operand,
    shape: Shape,
    k: i64,
}

/// Reads the first factor, whose rows fit the packed matrix.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn read(
    function: &str,
    (name, object): (&str, *mut PyObject),
    packed_name: &str,
    packed: &Packed,
    least: usize,
) -> PyResult<Checked> {
    let mut x = Operand::new();
    // SAFETY: the caller's.
    unsafe { x.read(function, name, object)? };
    array(function, name, &x)?;
    let (first, second) = (x.dtype(), packed.dtype());
    if first != second && !(first == Dtype::U8 && second == Dtype::I8) {
        let text = format!(
            "{function}: {name} has the type {first}, the packed {packed_name} has {second}"
        );
        return refuse(Class::Dtype, text);
    }
    let misfit = |why| {
        let (own, other) = (x.shape_text(), shape_of(&packed.shape()));
        let text = format!("{function}: {name} {own} and the packed {packed_name} {other}: {why}");
        Err(raise(Class::Shape, text))
    };
    let [l, n] = packed.shape();
    let Some((&k, rows)) = x.shape().split_last().filter(|_| x.shape().len() >= least) else {
        return misfit("too few axes");
    };
    if k != l {
        return misfit("the inner sizes differ");
    }
    let mut shape = Shape::new(rows);
    shape.push(n);
    Ok(Checked { x, shape, k })
}

/// [`matmul`](super::matmul::matmul) with a packed y.
///
/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn matmul(
    function: &str,
    x: *mut PyObject,
    packed: &Packed,
    out: *mut PyObject,
) -> PyResult<*mut PyObject> {
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        let Checked { x, shape, k } = read(function, ("x", x), "y", packed, 1)?;
        prepare(&mut output, function, &x, shape.as_slice(), out)?;
        run(
            function,
            (("x", x), k),
            packed,
            ((1.0, 0.0), Epilogue::new()),
            ("out", &mut output),
        )?;
        output.finish()
    }
}

/// [`gemm`](super::gemm::gemm) with a packed b; `after` has the arguments bias, clip, `row_scale` and `column_scale`.
///
/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn gemm(
    function: &str,
    [a, c]: [*mut PyObject; 2],
    packed: &Packed,
    (alpha, beta): (f64, f64),
    after: [*mut PyObject; 4],
) -> PyResult<*mut PyObject> {
    let mut output = Output::new();
    let mut epilogue = Epilogue::new();
    // SAFETY: the caller's.
    unsafe {
        let Checked { x: a, shape, k } = read(function, ("a", a), "b", packed, 2)?;
        if after.iter().any(|argument| !argument.is_null()) {
            epilogue.read(function, &a, after)?;
        }
        if c.is_null() {
            if beta != 0.0 {
                return refuse(Class::Argument, format!("{function}: beta needs c"));
            }
            let dtype = epilogue.result(&a);
            epilogue.check(function, (alpha, beta), &a, dtype)?;
            output.make(function, &a, shape.as_slice(), dtype, None)?;
        } else {
            output.take(function, "c", c)?;
            let c = &output.operand;
            check_result(function, ("a", &a), ("c", c))?;
            epilogue.check(function, (alpha, beta), &a, c.dtype())?;
            if c.shape() != shape.as_slice() {
                let why = "c does not have the shape of the product";
                return Err(two_shapes(function, ("a", &a), ("c", c), why));
            }
        }
        run(
            function,
            (("a", a), k),
            packed,
            ((alpha, beta), epilogue),
            ("c", &mut output),
        )?;
        output.finish()
    }
}

/// Computes the product.
///
/// # Safety
/// The GIL is held, the objects alive.
unsafe fn run(
    function: &str,
    ((name, mut a), k): ((&'static str, Operand), i64),
    packed: &Packed,
    ((alpha, beta), mut epilogue): ((f64, f64), Epilogue),
    (result, output): (&'static str, &mut Output),
) -> PyResult<()> {
    let work = product_work(&output.operand, k);
    let release = call::prepare(work, &mut [&mut a, &mut output.operand]);
    if release {
        epilogue.pin();
    }
    let (a, c) = (&a, &output.operand);
    let after = epilogue.of_kernels();
    let arguments = || {
        let mut arguments = vec![(name, a), (result, c)];
        epilogue.list(&mut arguments);
        arguments
    };
    // SAFETY: the caller's.
    unsafe {
        call::run(function, release, c, arguments, |backend| {
            let memory = packed.memory();
            tensor::matmul_packed(
                backend,
                alpha,
                &a.tensor,
                memory,
                beta,
                &c.tensor,
                after.as_ref(),
            )
        })
    }
}
