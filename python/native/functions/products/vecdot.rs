//! Dot products along an axis: vecdot.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::two_shapes;
use super::types::{prepare, read_factors};
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
        read_factors(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
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
        prepare(&mut output, function, x, shape, out)?;
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
