//! Products of matrices: matmul.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::two_shapes;
use super::types::{Family, prepare, read_factors};
use super::vecdot::dot_of;
use crate::arguments::Arguments;
use crate::call;
use crate::errors::{Class, refuse};
use crate::operand::Operand;
use crate::output::Output;
use crate::packed::Packed;
use crate::shape::{Shape, View};
use crate::tensor;

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn matmul(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    // SAFETY: the caller's.
    unsafe {
        if let Some(packed) = Packed::of(a[1]) {
            return super::packed::matmul(function, a[0], packed, a[2]);
        }
        read_factors(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
        if x.tensor.ndim == 0 || y.tensor.ndim == 0 {
            let why = "a number has no axis to multiply over; use multiply";
            return Err(two_shapes(function, ("x", &x), ("y", &y), why));
        }
        let views = [View::new(&x), View::new(&y)];
        if x.tensor.ndim == 1 && y.tensor.ndim == 1 && Family::of(x.dtype()) == Family::Same {
            return dot_of(function, &x, &y, &views, a[2]);
        }
        matmul_of(function, &x, &y, views, a[2])
    }
}

/// A product of matrices or batches of them; a vector is a row of x, or a column of y.
///
/// # Safety
/// The GIL is held, the objects alive. Both have axes; one has two, unless they are not of [`Family::Same`].
pub unsafe fn matmul_of(
    function: &str,
    x: &Operand,
    y: &Operand,
    [mut p, mut q]: [View; 2],
    out: *mut PyObject,
) -> PyResult<*mut PyObject> {
    let (row, column) = (p.ndim() == 1, q.ndim() == 1);
    let fits = (!row || p.insert(0)) && (!column || q.insert(1));
    let (batch_x, [m, k]) = split(&p);
    let (batch_y, [l, n]) = split(&q);
    let mut shape = Shape::new(batch_x);
    if !fits || k != l || !shape.broadcast(batch_y) {
        let why = if k != l {
            "the inner sizes differ"
        } else {
            "the batch axes do not fit each other"
        };
        return Err(two_shapes(function, ("x", x), ("y", y), why));
    }
    if !row {
        shape.push(m);
    }
    if !column {
        shape.push(n);
    }
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        prepare(&mut output, function, x, shape.as_slice(), out)?;
        let mut c = View::new(&output.operand);
        let last = c.ndim();
        if (row && !c.insert(last.saturating_sub(usize::from(!column))))
            || (column && !c.insert(c.ndim()))
        {
            return refuse(
                Class::Shape,
                format!("{function}: the result has too many axes"),
            );
        }
        run_matmul(function, x, y, (&p, &q, &c), &mut output)?;
        output.finish()
    }
}

/// Returns the batch axes and the last two.
pub fn split(view: &View) -> (&[i64], [i64; 2]) {
    let shape = view.shape();
    let last = shape.len() - 2;
    (&shape[..last], [shape[last], shape[last + 1]])
}

/// Returns the work of a product in bytes of reading: about 8 multiplications take as long as a byte.
pub fn product_work(out: &Operand, k: i64) -> i64 {
    out.bytes().saturating_mul(k) / 8
}

/// # Safety
/// The GIL is held, the objects alive.
pub unsafe fn run_matmul(
    function: &str,
    x: &Operand,
    y: &Operand,
    (p, q, c): (&View, &View, &View),
    output: &mut Output,
) -> PyResult<()> {
    let k = split(p).1[1];
    let release = call::prepare(product_work(&output.operand, k), &mut []);
    // SAFETY: the caller's; the views do not point into the objects.
    unsafe {
        let (left, right, out) = (p.tensor(), q.tensor(), c.tensor());
        let of_c = &output.operand;
        let arguments = || vec![("x", x), ("y", y), ("out", of_c)];
        call::run(function, release, of_c, arguments, |backend| {
            tensor::matmul(backend, 1.0, &left, &right, 0.0, &out, None)
        })
    }
}
