//! Elementwise functions.

use pyo3::ffi::PyObject;

use super::broadcasting::{elementwise, in_place};
use crate::arguments::functions;
use crate::tensor;
use diptych::tensor::Tensor;

macro_rules! unary {
    ($function:expr, $a:expr, $operation:path) => {
        elementwise($function, ["x"], [$a[0]], $a[1], |backend, [x], out| {
            $operation(backend, x, out)
        })
    };
}
macro_rules! binary {
    ($function:expr, $a:expr, $operation:path) => {
        elementwise(
            $function,
            ["x", "y"],
            [$a[0], $a[1]],
            $a[2],
            |backend, [x, y], out| $operation(backend, x, y, out),
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
    ///     Arrays of one type (float32, float64, float16, bfloat16, int8, uint8, int32, int64).
    ///     Their shapes are broadcast as in NumPy. A number takes the type of the arrays.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type. It may be x or y.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, or a new array of the kind of the first array (NumPy, PyTorch, ...). Integers wrap
    ///     around if they overflow.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If the shapes do not fit each other or out.
    /// DtypeError
    ///     If the types differ or are not supported, or an argument is not an array.
    /// ArgumentError
    ///     If out is read-only or overlaps an input without being it, or a number is not one of the
    ///     integers of the type.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> x = np.array([1, 2, 3], np.float32)
    /// >>> diptych.add(x, 0.5)
    /// array([1.5, 2.5, 3.5], dtype=float32)
    add("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::add);

    /// Subtract: x - y, each difference rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.subtract(np.array([3.0, 5.0]), np.array([1.0, 1.5]))
    /// array([2. , 3.5])
    subtract("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::sub);

    /// Multiply: x * y, each product rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.multiply(np.array([[1.0], [2.0]]), np.array([10.0, 20.0]))
    /// array([[10., 20.],
    ///        [20., 40.]])
    multiply("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::mul);

    /// Divide: x / y, each quotient rounded once. Division by zero gives an infinity, 0 / 0 a NaN.
    ///
    /// Arguments, result and errors are those of add, but integers are not supported.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.divide(np.array([1.0, 3.0]), 2)
    /// array([0.5, 1.5])
    divide("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::div);

    /// The smaller of x and y, element by element. A NaN in either gives a NaN; -0 is less than +0.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.minimum(np.array([1.0, 5.0, np.nan]), 3.0)
    /// array([ 1.,  3., nan])
    minimum("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::minimum);

    /// The larger of x and y, element by element. A NaN in either gives a NaN; +0 is greater than -0.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.maximum(np.array([-1.0, 2.0]), 0.0)
    /// array([0., 2.])
    maximum("x, y, *, out=None") => |f, a: &[_; 9]| binary!(f, a, tensor::maximum);

    /// The square of each element: x * x, rounded once.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.square(np.array([1.0, -3.0]))
    /// array([1., 9.])
    square("x, *, out=None") => |f, a: &[_; 9]| unary!(f, a, tensor::square);

    /// The absolute value of each element; that of -0 is +0, and the least integer of a type stays
    /// as it is.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.abs(np.array([1.0, -3.0]))
    /// array([1., 3.])
    abs("x, *, out=None") => |f, a: &[_; 9]| unary!(f, a, tensor::abs);

    /// Each element with the other sign: -x.
    ///
    /// Arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.negative(np.array([1.0, -3.0]))
    /// array([-1.,  3.])
    negative("x, *, out=None") => |f, a: &[_; 9]| unary!(f, a, tensor::neg);

    /// Each element times alpha, rounded once: multiply with the factor last.
    ///
    /// alpha is a number or an array that broadcasts to x; 0 is an ordinary factor, so 0 * NaN is NaN.
    /// Other arguments, result and errors are those of add.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.scale(np.array([1.0, -3.0]), 0.5)
    /// array([ 0.5, -1.5])
    scale("x, alpha, *, out=None") => |f, a: &[_; 9]| {
        elementwise(f, ["x", "alpha"], [a[0], a[1]], a[2], |backend, [x, alpha], out| {
            tensor::scale(backend, alpha, x, out)
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
    clip("x, min=None, max=None, *, out=None") => |f, a: &[_; 9]| {
        elementwise(f, ["x", "min", "max"], [a[0], a[1], a[2]], a[3], |backend, [x, lo, hi], out| {
            tensor::clamp(backend, x, bound(a[1], lo), bound(a[2], hi), out)
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
    clip_backward("x, grad, min=None, max=None, *, out=None") => |f, a: &[_; 9]| {
        elementwise(
            f,
            ["x", "grad", "min", "max"],
            [a[0], a[1], a[2], a[3]],
            a[4],
            |backend, [x, grad, lo, hi], out| {
                tensor::clamp_backward(backend, x, grad, bound(a[2], lo), bound(a[3], hi), out)
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
    axpy("alpha, x, y") => |f, a: &[_; 9]| {
        in_place(f, ["alpha", "x"], [a[0], a[1]], ("y", a[2]), |backend, [alpha, x], y| {
            tensor::axpy(backend, alpha, x, y)
        })
    };

    /// Set every element of x to value. Returns x.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.fill(np.empty(2), 1.5)
    /// array([1.5, 1.5])
    fill("x, value") => |f, a: &[_; 9]| {
        in_place(f, ["value"], [a[1]], ("x", a[0]), |backend, [value], x| tensor::fill(backend, value, x))
    };
}
