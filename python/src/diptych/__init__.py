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
Products: matmul, dot, vecdot, outer, gemm, and in place ger.
Losses with gradients: mse_grad, lsq_grad. Conversion: astype, concatenate.
Threads and CPU: threads, set_threads, get_threads, cpu_level, force_cpu_level.
Bits: fingerprint, and the command ``python -m diptych.verify``.
For C programs: get_include, library_path.

Functions do not record gradients; the operations of ``diptych.torch`` do.
"""

import os as _os
import warnings as _warnings

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
    return _folder("include")


def library_path() -> str:
    """Return the path of the C library, for programs that link or load it.

    The folder has the CMake configuration too. Raises FileNotFoundError if the package was installed
    without the C library (``cargo xtask python --stage`` before ``pip install`` puts it in).
    """
    folder = _folder("lib")
    if _os.path.isdir(folder):
        for name in sorted(_os.listdir(folder)):
            # libdiptych.so is a text for the linker.
            if name.startswith("libdiptych.so."):
                return _os.path.join(folder, name)
    raise FileNotFoundError("this installation of diptych was built without the C library")


def _folder(name: str) -> str:
    return _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), name)


def __getattr__(name: str):
    # Imported when it is first used: PyTorch takes a second.
    if name == "torch":
        import importlib

        return importlib.import_module("diptych.torch")
    raise AttributeError(f"module 'diptych' has no attribute {name!r}")


def _threads_from_environment() -> None:
    text = _os.environ.get("DIPTYCH_THREADS", "")
    if not text:
        return
    try:
        _native.set_threads(int(text))
    except ValueError:
        _warnings.warn(
            f"DIPTYCH_THREADS is {text!r}, which is not a number of threads; calls use one",
            RuntimeWarning,
            stacklevel=3,
        )


_threads_from_environment()
