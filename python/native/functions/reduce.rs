//! Reductions over axes.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, is_true};
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::dtype::Dtype;
use crate::errors::{Class, refuse};
use crate::number::{float, integer};
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::Axes;
use crate::tensor::{self, Backend};
use diptych::tensor::Tensor;

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// That of the elements; of 16-bit floats also float32, if `out` has it.
    Element,
    /// The same of floats; of integers, int64, or what `out` has of their own type, int32 and int64.
    Total,
    /// An int64.
    Index,
}

impl Gives {
    /// Returns the type of the results, for elements of a type and for `out`, if that is given.
    fn of(self, elements: Dtype, out: Option<Dtype>) -> Dtype {
        match self {
            Self::Index => Dtype::I64,
            Self::Total if elements.is_integer() => out
                .filter(|out| *out == elements || *out == Dtype::I32)
                .unwrap_or(Dtype::I64),
            Self::Element | Self::Total if elements.is_float() && elements.bits == 16 => {
                out.filter(|out| *out == Dtype::F32).unwrap_or(elements)
            }
            Self::Element | Self::Total => elements,
        }
    }
}

/// A reduction: x, axis, keepdims, out.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
unsafe fn reduce(
    function: &str,
    [object, axis, keepdims, out]: [*mut PyObject; 4],
    gives: Gives,
    operation: impl Fn(Backend<'_, '_>, &Tensor, Option<&[i32]>, &Tensor) -> diptych_gpu::Result<()>,
) -> PyResult<*mut PyObject> {
    let mut x = Operand::new();
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        x.read(function, "x", object)?;
        array(function, "x", &x)?;
        let axes = Axes::read(function, axis, x.shape().len())?;
        let keep = !keepdims.is_null() && is_true(keepdims)?;
        let shape = axes.result(x.shape(), keep);
        if out.is_null() {
            let dtype = gives.of(x.dtype(), None);
            output.make(function, &x, shape.as_slice(), dtype, None)?;
        } else {
            output.take(function, "out", out)?;
            let dtype = gives.of(x.dtype(), Some(output.operand.dtype()));
            output.check_exact(function, shape.as_slice(), dtype)?;
        }
        let release = call::prepare(x.bytes(), &mut [&mut x, &mut output.operand]);
        let (x, out) = (&x, &output.operand);
        let arguments = || vec![("x", x), ("out", out)];
        call::run(function, release, out, arguments, |backend| {
            operation(backend, &x.tensor, axes.as_option(), &out.tensor)
        })?;
        output.finish()
    }
}

/// Reads a whole number, which may be a float: the array API has `correction=1.0`.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn whole(function: &str, name: &str, object: *mut PyObject) -> PyResult<i64> {
    // SAFETY: the caller's.
    unsafe {
        if ffi::PyFloat_Check(object) == 0 {
            return Ok(integer(function, name, object, "an integer")? as i64);
        }
        let value = float(function, name, object)?;
        if value.fract() != 0.0 {
            let text = format!("{function}: {name} must be a whole number, not {value}");
            return refuse(Class::Argument, text);
        }
        Ok(value as i64)
    }
}

type WithDdof =
    unsafe fn(Backend<'_, '_>, &Tensor, Option<&[i32]>, i64, &Tensor) -> diptych_gpu::Result<()>;

/// A reduction with the parameters `ddof` and `correction`, which are the same.
///
/// # Safety
/// As [`reduce`].
unsafe fn with_ddof(function: &str, a: &Arguments, operation: WithDdof) -> PyResult<*mut PyObject> {
    // SAFETY: the caller's.
    unsafe {
        let ddof = match (a[2].is_null(), a[3].is_null()) {
            (true, true) => 0,
            (false, true) => whole(function, "ddof", a[2])?,
            (true, false) => whole(function, "correction", a[3])?,
            (false, false) => {
                let text = format!("{function}: ddof and correction are the same; give one");
                return refuse(Class::Argument, text);
            }
        };
        reduce(
            function,
            [a[0], a[1], a[4], a[5]],
            Gives::Element,
            |backend, x, axes, out| operation(backend, x, axes, ddof, out),
        )
    }
}

macro_rules! reduction {
    ($function:expr, $a:expr, $operation:path, $gives:ident) => {
        reduce(
            $function,
            [$a[0], $a[1], $a[2], $a[3]],
            Gives::$gives,
            |backend, x, axes, out| $operation(backend, x, axes, out),
        )
    };
}

functions! {
    /// The sum of the elements of x, over all axes or over some.
    ///
    /// Parameters
    /// ----------
    /// x : array
    ///     Of type float32, float64, float16, bfloat16, int8, uint8, int32 or int64.
    /// axis : int or tuple of int, optional
    ///     The axes to reduce; negative ones count from the end. None: all.
    /// keepdims : bool
    ///     Whether reduced axes stay, with length 1.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type. The sum of integers
    ///     goes to an int32 too, or to their own type; that of float16 and bfloat16 to a float32
    ///     too, not rounded.
    ///
    /// Returns
    /// -------
    /// array or scalar
    ///     out, or a new array of the kind of x. The bits do not depend on strides, threads or
    ///     the CPU. The sum of no elements is 0; a NaN in x gives NaN. The sum of integers is an
    ///     int64 unless out says otherwise; it wraps around if it overflows.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If out does not have the shape of the result.
    /// DtypeError
    ///     If x is not an array, or its type is not supported.
    /// ArgumentError
    ///     If an axis is out of range or given twice, or out is read-only or overlaps x.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    /// >>> diptych.sum(x)
    /// np.float32(21.0)
    /// >>> diptych.sum(x, axis=0)
    /// array([5., 7., 9.], dtype=float32)
    sum("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::sum, Total);

    /// The mean of the elements of x: their sum, divided once by their number.
    ///
    /// Arguments, result and errors are those of sum, but integers are not supported. The mean of
    /// no elements is a ShapeError.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.mean(np.array([[1.0, 2.0], [3.0, 6.0]]), axis=1)
    /// array([1.5, 4.5])
    mean("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::mean, Element);

    /// The product of the elements of x; that of no elements is 1.
    ///
    /// Arguments, result and errors are those of sum.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.prod(np.array([2.0, 3.0, 4.0]))
    /// np.float64(24.0)
    prod("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::prod, Total);

    /// The smallest element of x. A NaN wins; -0 is less than +0.
    ///
    /// Arguments, result and errors are those of sum, but the result has the type of x. The minimum
    /// of no elements is a ShapeError.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.min(np.array([[3.0, 1.0], [2.0, 5.0]]), axis=0)
    /// array([2., 1.])
    min("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::min, Element);

    /// The largest element of x. A NaN wins; -0 is less than +0.
    ///
    /// Arguments, result and errors are those of min.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.max(np.array([[3.0, 1.0], [2.0, 5.0]]), axis=1, keepdims=True)
    /// array([[3.],
    ///        [5.]])
    max("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::max, Element);

    /// The sum of the squares of the elements of x.
    ///
    /// Arguments, result and errors are those of sum.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.sumsq(np.array([3.0, 4.0]))
    /// np.float64(25.0)
    sumsq("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::sumsq, Total);

    /// The sum of the absolute values of the elements of x (the 1-norm).
    ///
    /// Arguments, result and errors are those of sum.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.asum(np.array([3.0, -4.0]))
    /// np.float64(7.0)
    asum("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::asum, Total);

    /// The Euclidean norm of x, without avoidable overflow or underflow.
    ///
    /// Arguments, result and errors are those of sum; the types are those of floats.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.nrm2(np.array([3.0, 4.0]) * 2.0**900) == 5 * 2.0**900
    /// np.True_
    nrm2("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::nrm2, Element);

    /// log(sum(exp(x))), without avoidable overflow.
    ///
    /// Arguments, result and errors are those of sum; the types are those of floats. The
    /// result for no elements is -inf.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.logsumexp(np.array([1000.0, 1000.0])) - 1000
    /// np.float64(0.69314718055...)
    logsumexp("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::logsumexp, Element);

    /// The number of elements of x that are not 0, as int64. A NaN counts.
    ///
    /// Arguments and errors are those of sum.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.count_nonzero(np.array([0.0, 2.0, -0.0, np.nan]))
    /// np.int64(2)
    count_nonzero("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| {
        reduction!(f, a, tensor::count_nonzero, Index)
    };

    /// The index of the first smallest element of x, or of its first NaN, as int64.
    ///
    /// With several axes, or None for all, it is the index among the reduced elements in
    /// row-major order. Arguments and errors are those of min.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.argmin(np.array([[3.0, 1.0], [2.0, 5.0]]), axis=1)
    /// array([1, 0])
    argmin("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::argmin, Index);

    /// The index of the first largest element of x, or of its first NaN, as int64.
    ///
    /// With several axes, or None for all, it is the index among the reduced elements in
    /// row-major order. Arguments and errors are those of min.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.argmax(np.array([3.0, 7.0, 7.0]))
    /// np.int64(1)
    argmax("x, *, axis=None, keepdims=False, out=None") => |f, a: &[_; 9]| reduction!(f, a, tensor::argmax, Index);

    /// The variance of x, in two passes, with the rounding error of the mean taken out.
    ///
    /// ddof = 0 is the variance of a whole population, ddof = 1 the estimate from a sample.
    /// correction is the array API's name for ddof. Either is less than the number of elements
    /// that a result is of. Other arguments, result and errors are those of mean.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.var(np.array([1.0, 2.0, 3.0, 4.0]), ddof=1)
    /// np.float64(1.6666666666666667)
    var("x, *, axis=None, ddof=0, correction=None, keepdims=False, out=None") => |f, a: &[_; 9]| with_ddof(f, a, tensor::var);

    /// The standard deviation of x: the square root of its variance.
    ///
    /// Arguments, result and errors are those of var.
    ///
    /// >>> import numpy as np, diptych
    /// >>> diptych.std(np.array([[1.0, 3.0], [2.0, 6.0]]), axis=1)
    /// array([1., 2.])
    std("x, *, axis=None, ddof=0, correction=None, keepdims=False, out=None") => |f, a: &[_; 9]| with_ddof(f, a, tensor::std);
}
