//! NumPy's dot: a dot product, or a product of matrices or of all pairs of them.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::matmul::{matmul_of, run_matmul};
use super::two_shapes;
use super::types::{prepare, read_factors};
use super::vecdot::dot_of;
use crate::arguments::Arguments;
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Shape, View};

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn dot(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    // SAFETY: the caller's.
    unsafe {
        read_factors(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
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
        prepare(&mut output, function, x, shape.as_slice(), out)?;
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
