//! Products: outer, dot, vecdot, matmul, gemm, ger.

mod dot;
mod epilogue;
mod gemm;
mod matmul;
mod outer;
mod packed;
mod types;
mod vecdot;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, same_type};
use crate::arguments::functions;
use crate::errors::{Class, raise};
use crate::operand::Operand;
use crate::packed::pack;
use dot::dot;
use gemm::gemm;
use matmul::matmul;
use outer::{ger, outer};
use vecdot::vecdot;

/// Reads two arrays of one type.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
pub unsafe fn read_two(
    function: &str,
    [x, y]: [(&str, *mut PyObject); 2],
    a: &mut Operand,
    b: &mut Operand,
) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe { read_arrays(function, [x, y], a, b)? };
    same_type(function, (x.0, a), (y.0, b))
}

/// Reads two arrays.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
pub unsafe fn read_arrays(
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
    array(function, y.0, b)
}

pub fn two_shapes(function: &str, x: (&str, &Operand), y: (&str, &Operand), why: &str) -> PyErr {
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

functions! {
    /// The outer product of two vectors: out[i, j] = x[i] * y[j].
    ///
    /// Parameters
    /// ----------
    /// x, y : array
    ///     Vectors of one type: of floats, or int8, uint8, int32 or int64. Arrays with more axes are
    ///     taken as vectors, in row-major order, if they lie in memory as such.
    /// out : array, optional
    ///     Where to write the result: an array of its shape and type. For float16 and bfloat16 it may
    ///     be of float32 instead: products are then not rounded to 16 bits.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, or a new array of the kind and the type of x. Products of integers that overflow wrap
    ///     around.
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
    /// x and y are vectors of a's type, one of floats, or int8, uint8, int32 or int64, whose results
    /// wrap around. alpha is a number; for integers it is one of their type.
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
    ///     Arrays of types that go together as in matmul.
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
    /// of y. The types are those of matmul.
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
    ///     Matrices; vectors (a row of x, a column of y); or batches of matrices, whose leading axes
    ///     are broadcast. Any strides: x.T costs no copy. y may be what pack returns. They have one type (float32, float64,
    ///     float16, bfloat16, int8, int32, int64), or x has uint8 and y int8.
    /// out : array, optional
    ///     Where to write the result: an array of its shape and type. For float16, bfloat16, int8 and
    ///     uint8 it may be of float32 instead: sums of 16-bit floats are then not rounded to 16 bits.
    ///
    /// Returns
    /// -------
    /// array or scalar
    ///     out, or a new array of the kind and the type of x; for int8 and uint8, of int32. The bits
    ///     do not depend on strides, threads or the CPU, and those of each product of a batch are
    ///     those of the product alone. Sums of integers that overflow wrap around.
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
    /// >>> diptych.matmul(np.array([[200, 3]], np.uint8), np.array([[-100], [2]], np.int8))
    /// array([[-19994]], dtype=int32)
    matmul("x, y, *, out=None") => |f, a| matmul(f, a);

    /// Pack a matrix that many others are multiplied by, such as the weights of a layer.
    ///
    /// matmul(x, packed) and gemm(a, packed, ...) give the bits of the products with b. They save the time
    /// that each product would spend packing b, which matters most in bfloat16 and int8 with an x of few
    /// rows. In float32 and float64 they are no faster with an x of fewer than about ten rows and a b that
    /// is larger than the caches.
    ///
    /// Parameters
    /// ----------
    /// b : array
    ///     A matrix in memory of the host, of any strides: float32, float64, float16, bfloat16, int8, int32
    ///     or int64. It is copied, so later changes of b do not show.
    ///
    /// Returns
    /// -------
    /// Packed
    ///     An object with shape, dtype and nbytes, which threads may share. Its layout depends on the CPU;
    ///     after force_cpu_level it may be refused, and b must be packed again.
    ///
    /// Raises
    /// ------
    /// ShapeError
    ///     If b is not a matrix.
    /// DtypeError
    ///     If the type is not supported, or b is not an array.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> packed = diptych.pack(np.array([[1.0, 2.0], [3.0, 4.0]]))
    /// >>> diptych.matmul(np.array([[1.0, 10.0]]), packed)
    /// array([[31., 42.]])
    pack("b") => |f, a| pack(f, a);

    /// The product of matrices with everything that one pass can do: alpha * a @ b + beta * c, with rows
    /// and columns scaled, plus bias, clipped.
    ///
    /// Parameters
    /// ----------
    /// a, b : array
    ///     Matrices, or batches of them, of the types of matmul.
    /// c : array, optional
    ///     Where to write the result, and what beta multiplies. It is not read if beta is 0. Its type
    ///     is that of matmul's result, or float32 where matmul's out may have it.
    /// alpha, beta : number
    ///     For a result of integers, 1, and 0 or 1.
    /// bias : array, optional
    ///     Added to the product: a vector with an element for each column, or a column with an
    ///     element for each row. Of the type of a, or of float32 for float16, bfloat16, int8 and uint8.
    /// clip : (min, max), optional
    ///     The range that the result is limited to; None is no bound. (0, None) is a ReLU.
    /// row_scale, column_scale : array, optional
    ///     Vectors of float32, for int8 and uint8: the factor of each row and of each column, by which
    ///     alpha * a @ b is multiplied.
    ///
    /// Returns
    /// -------
    /// array
    ///     c, or a new array of the kind of a and the type of matmul's result; for int8 and uint8 with
    ///     row_scale, column_scale or bias, of float32. A result of integers takes none of these, and
    ///     no clip.
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
    /// >>> x, w = np.array([[100, -50]], np.int8), np.array([[3, 1], [2, -4]], np.int8)
    /// >>> diptych.gemm(x, w, row_scale=np.array([0.5], np.float32))
    /// array([[100., 150.]], dtype=float32)
    gemm("a, b, c=None, *, alpha=1, beta=0, bias=None, clip=None, row_scale=None, column_scale=None") => |f, a| {
        gemm(f, a)
    };
}
