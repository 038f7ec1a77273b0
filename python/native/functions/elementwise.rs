//! Elementwise functions.

use diptych::Exec;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, same_type};
use crate::arguments::functions;
use crate::call;
use crate::errors::{Class, explain, raise, refuse};
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::Shape;
use crate::tensor::{self, Tensor};

type Names<const N: usize> = [&'static str; N];

/// An elementwise call: inputs that may be numbers, or absent (null) where the kernel takes an `Option`.
///
/// # Safety
/// The GIL is held, the objects alive. The kernel is an elementwise one of as many inputs.
#[inline(always)]
unsafe fn elementwise<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    out: *mut PyObject,
    kernel: impl FnOnce(&Exec<'_>, [&Tensor; N], &Tensor) -> diptych::Result<()>,
) -> PyResult<*mut PyObject> {
    let mut inputs: [Operand; N] = std::array::from_fn(|_| Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        let first = read(function, names, objects, &mut inputs)?;
        if out.is_null() {
            let shape = broadcast(function, names, &inputs)?;
            let dtype = inputs[first].dtype();
            output.make(function, &inputs[first], shape.as_slice(), dtype)?;
        } else {
            output.take(function, "out", out)?;
            same_type(
                function,
                ("out", &output.operand),
                (names[first], &inputs[first]),
            )?;
        }
        run(function, names, &mut inputs, "out", &mut output, kernel)?;
        output.finish()
    }
}

/// A call that changes one of its arguments, which it returns.
///
/// # Safety
/// As [`elementwise`].
unsafe fn in_place<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    changed: (&'static str, *mut PyObject),
    kernel: impl FnOnce(&Exec<'_>, [&Tensor; N], &Tensor) -> diptych::Result<()>,
) -> PyResult<*mut PyObject> {
    let mut inputs: [Operand; N] = std::array::from_fn(|_| Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        output.take(function, changed.0, changed.1)?;
        for i in 0..N {
            inputs[i].read(function, names[i], objects[i])?;
            if inputs[i].is_number() {
                inputs[i].fit(function, names[i], output.operand.dtype())?;
            } else {
                same_type(
                    function,
                    (changed.0, &output.operand),
                    (names[i], &inputs[i]),
                )?;
            }
        }
        run(function, names, &mut inputs, changed.0, &mut output, kernel)?;
        output.finish()
    }
}

/// Reads the inputs, gives numbers the type of the arrays, and returns the place of the first array.
#[inline(always)]
unsafe fn read<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    inputs: &mut [Operand; N],
) -> PyResult<usize> {
    let mut first = None;
    let mut has_numbers = false;
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N {
            if objects[i].is_null() {
                continue;
            }
            inputs[i].read(function, names[i], objects[i])?;
            if inputs[i].is_number() {
                has_numbers = true;
                continue;
            }
            match first {
                None => first = Some(i),
                Some(first) => {
                    same_type(
                        function,
                        (names[first], &inputs[first]),
                        (names[i], &inputs[i]),
                    )?;
                }
            }
        }
        let Some(first) = first else {
            array(function, names[0], &inputs[0])?;
            return Ok(0);
        };
        if has_numbers {
            let dtype = inputs[first].dtype();
            for i in 0..N {
                if inputs[i].is_number() && !objects[i].is_null() {
                    inputs[i].fit(function, names[i], dtype)?;
                }
            }
        }
        Ok(first)
    }
}

/// Returns the shape of the result.
fn broadcast<const N: usize>(
    function: &str,
    names: Names<N>,
    inputs: &[Operand; N],
) -> PyResult<Shape> {
    let mut shape = Shape::new(inputs[0].shape());
    for input in &inputs[1..] {
        if input.shape() != shape.as_slice() && !shape.broadcast(input.shape()) {
            return refuse(Class::Shape, mismatch(function, names, inputs));
        }
    }
    Ok(shape)
}

#[cold]
fn mismatch<const N: usize>(function: &str, names: Names<N>, inputs: &[Operand; N]) -> String {
    let shapes: Vec<String> = names
        .iter()
        .zip(inputs)
        .filter(|(_, input)| !input.object.is_null())
        .map(|(name, input)| format!("{name} {}", input.shape_text()))
        .collect();
    format!(
        "{function}: the shapes do not fit each other: {}",
        shapes.join(", ")
    )
}

/// # Safety
/// As [`elementwise`].
#[inline(always)]
unsafe fn run<const N: usize>(
    function: &str,
    names: Names<N>,
    inputs: &mut [Operand; N],
    out_name: &'static str,
    output: &mut Output,
    kernel: impl FnOnce(&Exec<'_>, [&Tensor; N], &Tensor) -> diptych::Result<()>,
) -> PyResult<()> {
    let work = output.operand.bytes().saturating_mul(N as i64 + 1);
    let release = call::prepare(work, &mut [&mut output.operand]);
    if release {
        inputs.iter_mut().for_each(Operand::pin);
    }
    let inputs = &*inputs;
    let out = &output.operand.tensor;
    // SAFETY: the caller's.
    let result = unsafe {
        call::run(release, |exec| {
            kernel(exec, std::array::from_fn(|i| &inputs[i].tensor), out)
        })?
    };
    result.map_err(|error| fail(function, error, names, inputs, out_name, &output.operand))
}

#[cold]
fn fail<const N: usize>(
    function: &str,
    error: diptych::Error,
    names: Names<N>,
    inputs: &[Operand; N],
    out_name: &'static str,
    output: &Operand,
) -> PyErr {
    if let diptych::Error::ShapeMismatch { .. } = error {
        return match broadcast(function, names, inputs) {
            Err(error) => error,
            Ok(shape) => raise(
                Class::Shape,
                format!(
                    "{function}: {out_name} has the shape {}, the result {}",
                    output.shape_text(),
                    crate::errors::shape_of(shape.as_slice())
                ),
            ),
        };
    }
    let mut all: Vec<(&str, &Tensor)> = vec![(out_name, &output.tensor)];
    let given = names
        .iter()
        .zip(inputs)
        .filter(|(_, input)| !input.object.is_null());
    all.extend(given.map(|(name, input)| (*name, &input.tensor)));
    // SAFETY: operands that were read.
    unsafe { explain(function, error, &all) }
}

macro_rules! unary {
    ($function:expr, $a:expr, $kernel:path) => {
        elementwise($function, ["x"], [$a[0]], $a[1], |exec, [x], out| {
            $kernel(exec, x, out)
        })
    };
}
macro_rules! binary {
    ($function:expr, $a:expr, $kernel:path) => {
        elementwise(
            $function,
            ["x", "y"],
            [$a[0], $a[1]],
            $a[2],
            |exec, [x, y], out| $kernel(exec, x, y, out),
        )
    };
}

/// A bound of `clip`: `None` where it is absent.
fn bound(object: *mut PyObject, tensor: &Tensor) -> Option<&Tensor> {
    if object.is_null() { None } else { Some(tensor) }
}

functions! {
    /// Add two arrays, or an array and a number: x + y, each sum rounded once.
    ///
    /// Parameters
    /// ----------
    /// x, y : array or number
    ///     Arrays of one type (float32, float64, float16, bfloat16). Their shapes are broadcast
    ///     as in NumPy. A number takes the type of the arrays.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type. It may be x or y.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, or a new array of the kind of the first array (NumPy, PyTorch, ...).
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If the shapes do not fit each other or out.
    /// DtypeError
    ///     If the types differ or are not supported, or an argument is not an array.
    /// ArgumentError
    ///     If out is read-only or overlaps an input without being it.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> x = np.array([1, 2, 3], np.float32)
    /// >>> diptych.add(x, 0.5)
    /// array([1.5, 2.5, 3.5], dtype=float32)
    add("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::add);

    /// Subtract: x - y, each difference rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.subtract(np.array([3.0, 5.0]), np.array([1.0, 1.5]))
    /// array([2. , 3.5])
    subtract("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::sub);

    /// Multiply: x * y, each product rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.multiply(np.array([[1.0], [2.0]]), np.array([10.0, 20.0]))
    /// array([[10., 20.],
    ///        [20., 40.]])
    multiply("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::mul);

    /// Divide: x / y, each quotient rounded once. Division by zero gives an infinity, 0 / 0 a NaN.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.divide(np.array([1.0, 3.0]), 2)
    /// array([0.5, 1.5])
    divide("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::div);

    /// The smaller of x and y, element by element. A NaN in either gives a NaN; -0 is less than +0.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.minimum(np.array([1.0, 5.0, np.nan]), 3.0)
    /// array([ 1.,  3., nan])
    minimum("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::minimum);

    /// The larger of x and y, element by element. A NaN in either gives a NaN; +0 is greater than -0.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.maximum(np.array([-1.0, 2.0]), 0.0)
    /// array([0., 2.])
    maximum("x, y, *, out=None") => |f, a: &[_; 8]| binary!(f, a, tensor::maximum);

    /// The square of each element: x * x, rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.square(np.array([1.0, -3.0]))
    /// array([1., 9.])
    square("x, *, out=None") => |f, a: &[_; 8]| unary!(f, a, tensor::square);

    /// The absolute value of each element; that of -0 is +0.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.abs(np.array([1.0, -3.0]))
    /// array([1., 3.])
    abs("x, *, out=None") => |f, a: &[_; 8]| unary!(f, a, tensor::abs);

    /// Each element with the other sign: -x.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.negative(np.array([1.0, -3.0]))
    /// array([-1.,  3.])
    negative("x, *, out=None") => |f, a: &[_; 8]| unary!(f, a, tensor::neg);

    /// Each element times alpha, rounded once: multiply with the factor last.
    ///
    /// alpha is a number or an array that broadcasts to x; 0 is an ordinary factor, so 0 * NaN is NaN.
    /// Other arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.scale(np.array([1.0, -3.0]), 0.5)
    /// array([ 0.5, -1.5])
    scale("x, alpha, *, out=None") => |f, a: &[_; 8]| {
        elementwise(f, ["x", "alpha"], [a[0], a[1]], a[2], |exec, [x, alpha], out| {
            tensor::scale(exec, alpha, x, out)
        })
    };

    /// Limit each element to the range from min to max.
    ///
    /// Parameters
    /// ----------
    /// x : array
    /// min, max : number or array, optional
    ///     The bounds, broadcast to x. None is no bound. If min > max the result is max. A NaN
    ///     in x stays; a NaN bound gives NaN.
    /// out : array, optional
    ///     Where to write the result; it may be x.
    ///
    /// Result and errors are those of add.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> diptych.clip(np.array([-2.0, 0.5, 7.0]), 0, 1)
    /// array([0. , 0.5, 1. ])
    /// >>> diptych.clip(np.array([-2.0, 0.5, 7.0]), max=1)
    /// array([-2. ,  0.5,  1. ])
    clip("x, min=None, max=None, *, out=None") => |f, a: &[_; 8]| {
        elementwise(f, ["x", "min", "max"], [a[0], a[1], a[2]], a[3], |exec, [x, lo, hi], out| {
            tensor::clamp(exec, x, bound(a[1], lo), bound(a[2], hi), out)
        })
    };

    /// The gradient of clip: grad where min <= x <= max, else 0.
    ///
    /// x is the input of clip, grad the gradient with respect to its output; the other arguments,
    /// result and errors are those of clip. A NaN in x gives 0.
    ///
    /// >>> import numpy as np, diptych
    /// >>> x = np.array([-2.0, 0.5, 7.0])
    /// >>> diptych.clip_backward(x, np.array([1.0, 2.0, 3.0]), 0, 1)
    /// array([0., 2., 0.])
    clip_backward("x, grad, min=None, max=None, *, out=None") => |f, a: &[_; 8]| {
        elementwise(
            f,
            ["x", "grad", "min", "max"],
            [a[0], a[1], a[2], a[3]],
            a[4],
            |exec, [x, grad, lo, hi], out| {
                tensor::clamp_backward(exec, x, grad, bound(a[2], lo), bound(a[3], hi), out)
            },
        )
    };

    /// Add alpha * x to y, in place: one fused multiply-add for each element. Returns y.
    ///
    /// alpha is a number, x an array of y's type that broadcasts to y.
    ///
    /// >>> import numpy as np, diptych
    /// >>> y = np.array([1.0, 2.0])
    /// >>> diptych.axpy(-0.5, np.array([2.0, 4.0]), y)
    /// array([0., 0.])
    axpy("alpha, x, y") => |f, a: &[_; 8]| {
        in_place(f, ["alpha", "x"], [a[0], a[1]], ("y", a[2]), |exec, [alpha, x], y| {
            tensor::axpy(exec, alpha, x, y)
        })
    };

    /// Set every element of x to value. Returns x.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.fill(np.empty(2), 1.5)
    /// array([1.5, 1.5])
    fill("x, value") => |f, a: &[_; 8]| {
        in_place(f, ["value"], [a[1]], ("x", a[0]), |exec, [value], x| tensor::fill(exec, value, x))
    };
}
