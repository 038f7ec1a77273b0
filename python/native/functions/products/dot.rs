//! Dot products: vecdot, dot.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::matmul::{matmul_of, run_matmul};
use super::{read_two, two_shapes};
use crate::arguments::Arguments;
use crate::call;
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Shape, View, normal_axis};
use crate::tensor;

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn vecdot(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
        let least = x.shape().len().min(y.shape().len());
        if least == 0 {
            return Err(two_shapes(
                function,
                ("x", &x),
                ("y", &y),
                "both need an axis to reduce",
            ));
        }
        let mut views = [View::new(&x), View::new(&y)];
        if !a[2].is_null() {
            // As in the array API: a negative axis counts from the end in both.
            let back = least - normal_axis(function, a[2], least)?;
            for view in &mut views {
                let last = view.ndim() - 1;
                view.move_axis(view.ndim() - back, last);
            }
        }
        dot_of(function, &x, &y, &views, a[3])
    }
}

/// The dot products over the last axes.
///
/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn dot_of(
    function: &str,
    x: &Operand,
    y: &Operand,
    [p, q]: &[View; 2],
    out: *mut PyObject,
) -> PyResult<*mut PyObject> {
    let mut output = Output::new();
    let mut shape = Shape::new(p.shape());
    if p.shape().last() != q.shape().last() || !shape.broadcast(q.shape()) {
        return Err(two_shapes(
            function,
            ("x", x),
            ("y", y),
            "the shapes do not fit each other",
        ));
    }
    let shape = &shape.as_slice()[..shape.as_slice().len() - 1];
    // SAFETY: the caller's.
    unsafe {
        output.prepare(function, x, shape, x.dtype(), out)?;
        let work = x.bytes().max(y.bytes()).saturating_mul(2);
        let release = call::prepare(work, &mut [&mut output.operand]);
        let (left, right, out) = (p.tensor(), q.tensor(), &output.operand);
        let arguments = || vec![("x", x), ("y", y), ("out", out)];
        call::run(function, release, out, arguments, |backend| {
            tensor::dot(backend, &left, &right, &out.tensor)
        })?;
        output.finish()
    }
}

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn dot(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
        let (m, n) = (x.shape().len(), y.shape().len());
        let views = [View::new(&x), View::new(&y)];
        if m == 0 || n == 0 {
            let scalar = "a number has no axis to multiply over; use multiply";
            return Err(two_shapes(function, ("x", &x), ("y", &y), scalar));
        }
        if m == 1 && n == 1 {
            return dot_of(function, &x, &y, &views, a[2]);
        }
        if m > 2 && n > 1 || n > 2 {
            return tensordot(function, &x, &y, views, a[2]);
        }
        matmul_of(function, &x, &y, views, a[2])
    }
}

/// NumPy's `dot` of arrays with batch axes: those of x, the rows, those of y, the columns.
///
/// # Safety
/// The GIL is held, the objects alive.
unsafe fn tensordot(
    function: &str,
    x: &Operand,
    y: &Operand,
    [mut p, q]: [View; 2],
    out: *mut PyObject,
) -> PyResult<*mut PyObject> {
    let (m, n) = (x.shape().len(), y.shape().len());
    if x.shape()[m - 1] != y.shape()[n.max(2) - 2] {
        let why = "the last axis of x and the one before the last of y differ";
        return Err(two_shapes(function, ("x", x), ("y", y), why));
    }
    let too_many = || two_shapes(function, ("x", x), ("y", y), "the result has too many axes");
    let mut shape = Shape::new(&x.shape()[..m - 1]);
    y.shape()[..n - 2].iter().for_each(|size| shape.push(*size));
    shape.push(y.shape()[n - 1]);
    // A vector x has no rows of its own.
    if m == 1 && !p.insert(0) {
        return Err(too_many());
    }
    let rows = p.ndim() - 2;
    // Batches: x's leading axes, then y's. y broadcasts over the former, x has length 1 in the latter.
    for _ in 0..n - 2 {
        if !p.insert(rows) {
            return Err(too_many());
        }
    }
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        output.prepare(function, x, shape.as_slice(), x.dtype(), out)?;
        let mut c = View::new(&output.operand);
        if m == 1 {
            let place = c.ndim() - 1;
            if !c.insert(place) {
                return Err(too_many());
            }
        } else {
            // The rows come behind y's batches.
            let to = c.ndim() - 2;
            c.move_axis(rows, to);
        }
        run_matmul(function, x, y, (&p, &q, &c), &mut output)?;
        output.finish()
    }
}
