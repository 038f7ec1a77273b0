"""Diptych's functions as PyTorch operations that record gradients.

The operations take tensors of type float32 or float64 in host or CUDA memory, in reverse and forward mode, within
``torch.func`` and under ``torch.compile``; under ``torch.autocast`` they compute in float32. ``torch.ops.diptych`` has
them too. Derivatives use the same kernels, so they have the same bits everywhere as well. Arguments are those of the
functions of the same name in ``diptych``.

>>> import torch, diptych.torch as dt
>>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> loss = dt.sumsq(dt.clip(x, 0, 3))
>>> loss.backward()
>>> x.grad
tensor([[2., 4.],
        [6., 0.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import diptych
from torch import Tensor

from . import _clip, _losses, _products, _reductions, _row_maps  # noqa: F401
from ._operations import ops as _ops

__all__ = [
    "argmax",
    "argmin",
    "asum",
    "clip",
    "count_nonzero",
    "linear",
    "logsumexp",
    "lsq_loss",
    "matmul",
    "max",
    "mean",
    "min",
    "mse_loss",
    "normalize",
    "nrm2",
    "outer",
    "prod",
    "std",
    "sum",
    "sumsq",
    "var",
]

_Axis = int | Sequence[int] | None

def _axes(axis: _Axis) -> list[int] | None:
    if axis is None:
        return None
    return [axis] if isinstance(axis, int) else list(axis)


def matmul(x: Tensor, y: Tensor) -> Tensor:
    """The product of matrices, vectors or batches of matrices, as torch.matmul.

    >>> import torch, diptych.torch as dt
    >>> dt.matmul(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    return _ops.matmul(x, y)


def linear(x: Tensor, weight: Tensor | diptych.Packed, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias, as torch.nn.functional.linear, in one pass.

    For inference weight may be diptych.pack(weight.T), in host memory: the same bits, but no gradient, so neither x nor
    bias may record one.

    >>> import torch, diptych.torch as dt
    >>> dt.linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([0.5]))
    tensor([[11.5000]])
    """
    if isinstance(weight, diptych.Packed):
        return _products.linear_packed(x, weight, bias)
    return _ops.linear(x, weight, bias)


def outer(x: Tensor, y: Tensor) -> Tensor:
    """The outer product of two vectors.

    >>> import torch, diptych.torch as dt
    >>> dt.outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    return _ops.outer(x, y)


def clip(x: Tensor, min: float | None = None, max: float | None = None) -> Tensor:
    """Limit each element to the range from min to max; the gradient passes where min <= x <= max.

    >>> import torch, diptych.torch as dt
    >>> dt.clip(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return _ops.clip(x, min, max)


def _reducing(name: str, doc: str) -> Callable[..., Tensor]:
    def reduce(x: Tensor, *, axis: _Axis = None, keepdims: bool = False) -> Tensor:
        return operation(x, _axes(axis), keepdims)

    operation = getattr(_ops, name)
    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"{doc}\n\nx, axis and keepdims are those of diptych.{name}.\n"
    return reduce


sum = _reducing("sum", "The sum of the elements of x.")
mean = _reducing("mean", "The mean of the elements of x; that of none is NaN.")
prod = _reducing("prod", "The product of the elements of x.")
min = _reducing("min", "The smallest element of x; the gradient is shared among equal ones, and NaN beside a NaN.")
max = _reducing("max", "The largest element of x; the gradient is shared among equal ones, and NaN beside a NaN.")
sumsq = _reducing("sumsq", "The sum of the squares of the elements of x.")
asum = _reducing("asum", "The sum of the absolute values of the elements of x; its gradient at 0 is 0.")
nrm2 = _reducing("nrm2", "The Euclidean norm of x; its gradient at 0 is 0.")
logsumexp = _reducing("logsumexp", "log(sum(exp(x))), without avoidable overflow.")
count_nonzero = _reducing("count_nonzero", "The number of elements of x that are not 0.")
argmin = _reducing("argmin", "The index of the first smallest element of x.")
argmax = _reducing("argmax", "The index of the first largest element of x.")


def var(x: Tensor, *, axis: _Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance of x; that of no elements is NaN. (ddof=1 is torch.var's default.)"""
    return _ops.var(x, _axes(axis), ddof, keepdims)


def std(x: Tensor, *, axis: _Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation of x; its gradient at 0 is 0, that of no elements NaN. (ddof=1 is torch.std's default.)"""
    return _ops.std(x, _axes(axis), ddof, keepdims)


def normalize(x: Tensor, *, axis: _Axis = None) -> Tensor:
    """Divide each row of x, along some axes or all, by its Euclidean norm; a row of zeros and its gradient are NaN.

    >>> import torch, diptych.torch as dt
    >>> dt.normalize(torch.tensor([[3.0, 4.0], [0.0, -2.0]]), axis=1)
    tensor([[ 0.6000,  0.8000],
            [ 0.0000, -1.0000]])
    """
    return _ops.normalize(x, _axes(axis))


def mse_loss(pred: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squared error of pred: its mean, or its sum with reduction='sum'. One pass has loss and gradient.

    >>> import torch, diptych.torch as dt
    >>> dt.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(2.5000)
    """
    if reduction not in ("mean", "sum"):
        raise diptych.ArgumentError(f"mse_loss: reduction must be 'mean' or 'sum', not {reduction!r}")
    loss = _ops.mse(pred, target)[0]
    return loss / pred.numel() if reduction == "mean" else loss


def lsq_loss(a: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The squared error of a linear model: sum((a @ x - y)**2).

    >>> import torch, diptych.torch as dt
    >>> dt.lsq_loss(torch.eye(2), torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(5.)
    """
    return _ops.lsq(a, x, y)[0]
