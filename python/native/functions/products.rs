//! Products: outer, dot, vecdot, matmul, gemm, ger.

use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, same_type};
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::errors::{Class, explain, raise, refuse};
use crate::number::float;
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Shape, View, normal_axis};
use crate::tensor::{self, Epilogue, Tensor};

/// Reads two arrays of one type.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
unsafe fn read_two(
    function: &str,
    [x, y]: [(&str, *mut PyObject); 2],
    a: &mut Operand,
    b: &mut Operand,
) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe {
        a.read(function, x.0, x.1)?;
        b.read(function, y.0, y.1)?;
    }
    array(function, x.0, a)?;
    array(function, y.0, b)?;
    same_type(function, (x.0, a), (y.0, b))
}

fn two_shapes(function: &str, x: (&str, &Operand), y: (&str, &Operand), why: &str) -> PyErr {
    raise(
        Class::Shape,
        format!(
            "{function}: {} {} and {} {}: {why}",
            x.0,
            x.1.shape_text(),
            y.0,
            y.1.shape_text()
        ),
    )
}

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
unsafe fn outer(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
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
            outer_of(function, release, &x.tensor, &y.tensor, &output)?;
            return output.finish();
        }
        let (p, q) = (flat(function, "x", &x)?, flat(function, "y", &y)?);
        let shape = [p.shape()[0], q.shape()[0]];
        output.prepare(function, &x, &shape, x.dtype(), a[2])?;
        let release = call::prepare(output.operand.bytes(), &mut [&mut output.operand]);
        outer_of(function, release, &p.tensor(), &q.tensor(), &output)?;
        output.finish()
    }
}

/// # Safety
/// As [`outer`], with vectors.
#[inline(always)]
unsafe fn outer_of(
    function: &str,
    release: bool,
    x: &Tensor,
    y: &Tensor,
    output: &Output,
) -> PyResult<()> {
    let out = &output.operand.tensor;
    // SAFETY: the caller's.
    unsafe {
        let result = call::run(release, |exec| tensor::outer(exec, x, y, out))?;
        result.map_err(|error| explain(function, error, &[("x", x), ("y", y), ("out", out)]))
    }
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn ger(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
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
        let out = &output.operand.tensor;
        let result = call::run(release, |exec| {
            tensor::ger(exec, alpha, &x.tensor, &y.tensor, out)
        })?;
        if let Err(error) = result {
            let arguments = [("x", &x.tensor), ("y", &y.tensor), ("a", out)];
            return Err(explain(function, error, &arguments));
        }
        output.finish()
    }
}

/// Reads a number; `default` if it is not given.
unsafe fn number(function: &str, name: &str, object: *mut PyObject, default: f64) -> PyResult<f64> {
    if object.is_null() {
        return Ok(default);
    }
    // SAFETY: the caller's.
    unsafe { float(object) }.map_err(|error| {
        Python::attach(|py| {
            if !error.is_instance_of::<PyTypeError>(py) {
                return error;
            }
            raise(Class::Dtype, format!("{function}: {name} must be a number"))
        })
    })
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn vecdot(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
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
unsafe fn dot_of(
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
        let (left, right, out) = (p.tensor(), q.tensor(), &output.operand.tensor);
        let result = call::run(release, |exec| tensor::dot(exec, &left, &right, out))?;
        if let Err(error) = result {
            return Err(explain(
                function,
                error,
                &[("x", &left), ("y", &right), ("out", out)],
            ));
        }
        output.finish()
    }
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn dot(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
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

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn matmul(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let (mut x, mut y) = (Operand::new(), Operand::new());
    // SAFETY: the caller's.
    unsafe {
        read_two(function, [("x", a[0]), ("y", a[1])], &mut x, &mut y)?;
        if x.tensor.ndim == 0 || y.tensor.ndim == 0 {
            let why = "a number has no axis to multiply over; use multiply";
            return Err(two_shapes(function, ("x", &x), ("y", &y), why));
        }
        let views = [View::new(&x), View::new(&y)];
        if x.tensor.ndim == 1 && y.tensor.ndim == 1 {
            return dot_of(function, &x, &y, &views, a[2]);
        }
        matmul_of(function, &x, &y, views, a[2])
    }
}

/// A product of matrices or batches of them; a vector is a row of x, or a column of y.
///
/// # Safety
/// The GIL is held, the objects alive. Both have axes, and one has two.
unsafe fn matmul_of(
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
        output.prepare(function, x, shape.as_slice(), x.dtype(), out)?;
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
fn split(view: &View) -> (&[i64], [i64; 2]) {
    let shape = view.shape();
    let last = shape.len() - 2;
    (&shape[..last], [shape[last], shape[last + 1]])
}

/// Returns the work of a product in bytes of reading: about 8 multiplications take as long as a byte.
fn product_work(out: &Operand, k: i64) -> i64 {
    out.bytes().saturating_mul(k) / 8
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn run_matmul(
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
        let result = call::run(release, |exec| {
            tensor::matmul(exec, 1.0, &left, &right, 0.0, &out, None)
        })?;
        result.map_err(|error| {
            let arguments = [
                ("x", &x.tensor),
                ("y", &y.tensor),
                ("out", &output.operand.tensor),
            ];
            explain(function, error, &arguments)
        })
    }
}

/// The parameters of gemm: a, b, c, alpha, beta, bias, clip.
///
/// # Safety
/// The GIL is held, the objects alive.
unsafe fn gemm(function: &str, args: &Arguments) -> PyResult<*mut PyObject> {
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
        let c = &output.operand.tensor;
        let result = call::run(release, |exec| {
            tensor::matmul(exec, alpha, &a.tensor, &b.tensor, beta, c, epilogue)
        })?;
        if let Err(error) = result {
            let mut arguments = vec![("a", &a.tensor), ("b", &b.tensor), ("c", c)];
            if !args[5].is_null() {
                arguments.push(("bias", &bias.tensor));
            }
            return Err(explain(function, error, &arguments));
        }
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

functions! {
    /// The outer product of two vectors: out[i, j] = x[i] * y[j].
    ///
    /// Parameters
    /// ----------
    /// x, y : array
    ///     Vectors of one type, float32 or float64. Arrays with more axes are taken as vectors, in
    ///     row-major order, if they lie in memory as such.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, or a new array of the kind of x.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If an argument is no vector, or out does not have the shape of the result.
    /// DtypeError
    ///     If the types differ or are not supported, or an argument is not an array.
    /// ArgumentError
    ///     If out is read-only or overlaps an input.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> diptych.outer(np.array([1.0, 2.0]), np.array([10.0, 20.0, 30.0]))
    /// array([[10., 20., 30.],
    ///        [20., 40., 60.]])
    outer("x, y, *, out=None") => |f, a| outer(f, a);

    /// Add alpha times the outer product of x and y to the matrix a, in place. Returns a.
    ///
    /// x and y are vectors of a's type, float32 or float64; alpha is a number.
    ///
    /// >>> import numpy as np, diptych
    /// >>> a = np.ones((2, 2))
    /// >>> diptych.ger(-1.0, np.array([1.0, 2.0]), np.array([1.0, 0.5]), a)
    /// array([[ 0. ,  0.5],
    ///        [-1. ,  0. ]])
    ger("alpha, x, y, a") => |f, a| ger(f, a);

    /// The dot products of vectors along an axis of x and y; the other axes are broadcast.
    ///
    /// Parameters
    /// ----------
    /// x, y : array
    ///     Arrays of one type, float32 or float64.
    /// axis : int
    ///     The axis of the vectors, counted from the end. By default the last.
    /// out : array, optional
    ///     Where to write the result.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.vecdot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    /// array([21., 43.])
    vecdot("x, y, *, axis=-1, out=None") => |f, a| vecdot(f, a);

    /// The dot product, as numpy.dot: of two vectors a number, of matrices their product.
    ///
    /// For more axes it is the sum of products over the last axis of x and the one before the last
    /// of y. x and y have one type, float32 or float64.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.dot(np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]))
    /// np.float64(32.0)
    dot("x, y, *, out=None") => |f, a| dot(f, a);

    /// The product of matrices, as numpy.matmul.
    ///
    /// Parameters
    /// ----------
    /// x, y : array
    ///     Matrices of one type, float32 or float64; vectors (a row of x, a column of y); or batches
    ///     of matrices, whose leading axes are broadcast. Any strides: x.T costs no copy.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type.
    ///
    /// Returns
    /// -------
    /// array or scalar
    ///     out, or a new array of the kind of x. The bits do not depend on strides, threads or
    ///     the CPU, and those of each product of a batch are those of the product alone.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If the sizes do not fit, or out does not have the shape of the result.
    /// DtypeError
    ///     If the types differ or are not supported, or an argument is not an array.
    /// ArgumentError
    ///     If out is read-only or overlaps an input.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> a = np.array([[1.0, 2.0], [3.0, 4.0]])
    /// >>> diptych.matmul(a, a.T)
    /// array([[ 5., 11.],
    ///        [11., 25.]])
    matmul("x, y, *, out=None") => |f, a| matmul(f, a);

    /// The product of matrices with everything that one pass can do: alpha * a @ b + beta * c, plus bias,
    /// clipped.
    ///
    /// Parameters
    /// ----------
    /// a, b : array
    ///     Matrices of one type, float32 or float64, or batches of them.
    /// c : array, optional
    ///     Where to write the result, and what beta multiplies. It is not read if beta is 0.
    /// alpha, beta : number
    /// bias : array, optional
    ///     Added to the product: a vector with an element for each column, or a column with an
    ///     element for each row.
    /// clip : (min, max), optional
    ///     The range that the result is limited to; None is no bound. (0, None) is a ReLU.
    ///
    /// Returns
    /// -------
    /// array
    ///     c, or a new array of the kind of a.
    ///
    /// Raises
    /// ------
    /// ShapeError, DtypeError, ArgumentError
    ///     As matmul.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> x, w = np.array([[1.0, -2.0]]), np.array([[1.0, 1.0], [0.0, 1.0]])
    /// >>> diptych.gemm(x, w, bias=np.array([0.5, 0.5]), clip=(0, None))
    /// array([[1.5, 0. ]])
    gemm("a, b, c=None, *, alpha=1, beta=0, bias=None, clip=None") => |f, a| gemm(f, a);
}
