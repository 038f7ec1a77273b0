"""Numerical functions on NumPy arrays, PyTorch tensors and other arrays, with the same bits everywhere.

Functions have NumPy's names where NumPy has the function. They take any object that is an array to
its users: NumPy arrays, PyTorch tensors, objects with ``__dlpack__``, the buffer protocol,
``__array_interface__`` or ``__cuda_array_interface__``, in host memory or on a CUDA device. The
result is of the first array's kind. Nothing is copied. The bits of a result depend on the values
and shapes only: not on the device, the CPU, the number of threads, or strides.

>>> import numpy as np, diptych
>>> x = np.array([[1, 2], [3, 4]], np.float32)
>>> diptych.matmul(x, x.T)
array([[ 5., 11.],
       [11., 25.]], dtype=float32)
>>> diptych.sum(x, axis=0)
array([4., 6.], dtype=float32)

Elementwise: add, subtract, multiply, divide, minimum, maximum, square, abs, negative, scale, clip,
clip_backward, and in place axpy, fill.
Reductions: sum, mean, prod, min, max, argmin, argmax, count_nonzero, var, std, sumsq, asum, nrm2,
logsumexp.
Maps over rows: normalize.
Products: matmul, dot, vecdot, outer, gemm, with pack for matrices that are used many times, and in place ger.
Losses with gradients: mse_grad, lsq_grad. Conversion: astype, concatenate.
Threads and CPU: threads, set_threads, get_threads, cpu_level, force_cpu_level.
Bits that do not depend on the number of rows: batch_invariant.
Bits: fingerprint, and the command ``python -m diptych.verify``.
For C programs: get_include, library_path.

Functions do not record gradients; the operations of ``diptych.torch`` do.
"""

import os as _os

from . import _native
from ._native import *  # noqa: F403
from ._native import __version__
from ._native import ArgumentError, DtypeError, Error, ShapeError

__all__ = [name for name in dir(_native) if not name.startswith("_") and name != "Memory"]
__all__ += ["get_include", "library_path", "__version__"]


def get_include() -> str:
    """Return the folder with ``diptych.h``, for C and C++ programs.

    >>> import diptych, os
    >>> os.path.basename(diptych.get_include())
    'include'
    """
    return _os.path.join(_os.path.dirname(_native.__file__), "include")


def library_path() -> str:
    """Return the path of the shared library with the functions of ``diptych.h``, for programs that link or load it.

    It is the module that this package itself uses; the names of BLAS and CBLAS for the routines that
    ``diptych.preload`` lists are in it too. A program that does not run Python can link it by this path, or load it
    with ``dlopen``. For ``libdiptych.so``, a static library, pkg-config and CMake there is ``cargo xtask install``.

    >>> import ctypes, diptych
    >>> ctypes.CDLL(diptych.library_path()).dpt_version() > 0
    True
    """
    return _native.__file__


def __getattr__(name: str):
    # Imported when it is first used: PyTorch takes a second.
    if name == "torch":
        import importlib

        return importlib.import_module("diptych.torch")
    raise AttributeError(f"module 'diptych' has no attribute {name!r}")
