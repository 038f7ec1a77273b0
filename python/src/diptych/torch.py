"""Diptych's functions as PyTorch operations that record gradients.

The operations work under ``torch.compile`` and on tensors in host memory of type float32 or float64;
``torch.ops.diptych`` has them too. Backward passes use the same kernels, so they have the same bits
everywhere as well. Arguments are those of the functions of the same name in ``diptych``.

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

import torch
from torch import Tensor

import diptych

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
    "nrm2",
    "outer",
    "prod",
    "std",
    "sum",
    "sumsq",
    "var",
]

_Axis = int | Sequence[int] | None

_library = torch.library.Library("diptych", "DEF")
_ops = torch.ops.diptych


def _operation(schema: str, kernel: Callable, fake: Callable, setup=None, backward=None) -> None:
    """Defines an operation: what it computes, the shape of its result, and its gradient."""
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"diptych::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(f"diptych::{name}", backward, setup_context=setup, lib=_library)


# Products.


def _matmul_shape(x: Tensor, y: Tensor) -> Tensor:
    return x.new_empty(torch.matmul(x, y).shape)


def _save_inputs(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


def _matmul_backward(ctx, grad):
    x, y = ctx.saved_tensors
    need_x, need_y = ctx.needs_input_grad
    if x.ndim == 1 and y.ndim == 1:
        return (grad * y if need_x else None, grad * x if need_y else None)
    # A vector is a row of x or a column of y.
    rows = x.unsqueeze(0) if x.ndim == 1 else x
    columns = y.unsqueeze(1) if y.ndim == 1 else y
    if x.ndim == 1:
        grad = grad.unsqueeze(-2)
    if y.ndim == 1:
        grad = grad.unsqueeze(-1)
    grad_x = grad_y = None
    if need_x:
        grad_x = _ops.matmul(grad, columns.mT).sum_to_size(rows.shape).reshape(x.shape)
    if need_y:
        grad_y = _ops.matmul(rows.mT, grad).sum_to_size(columns.shape).reshape(y.shape)
    return grad_x, grad_y


_operation("matmul(Tensor x, Tensor y) -> Tensor", diptych.matmul, _matmul_shape, _save_inputs, _matmul_backward)


def _outer_backward(ctx, grad):
    x, y = ctx.saved_tensors
    need_x, need_y = ctx.needs_input_grad
    return (_ops.matmul(grad, y) if need_x else None, _ops.matmul(grad.mT, x) if need_y else None)


_operation(
    "outer(Tensor x, Tensor y) -> Tensor",
    diptych.outer,
    lambda x, y: x.new_empty((x.shape[0], y.shape[0])),
    _save_inputs,
    _outer_backward,
)


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rows = x.reshape(-1, x.shape[-1])
    out = diptych.gemm(rows, weight.mT, bias=bias)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _linear_backward(ctx, grad):
    x, weight, _ = ctx.saved_tensors
    # Without a bias there are two inputs.
    need_x, need_weight, *need_bias = ctx.needs_input_grad
    rows, grads = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
    return (
        _ops.matmul(grads, weight).reshape(x.shape) if need_x else None,
        _ops.matmul(grads.mT, rows) if need_weight else None,
        _ops.sum(grads, [0], False) if any(need_bias) else None,
    )


_operation(
    "linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
    _linear,
    lambda x, weight, bias=None: x.new_empty((*x.shape[:-1], weight.shape[0])),
    _save_inputs,
    _linear_backward,
)

# Clipping.


def _clip_setup(ctx, inputs, output) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.bounds = inputs[1:]


def _clip_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return _ops.clip_backward(x, grad, *ctx.bounds), None, None


def _clip_backward_setup(ctx, inputs, output) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.bounds = inputs[2:]


def _clip_backward_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return None, _ops.clip_backward(x, grad, *ctx.bounds), None, None


_operation(
    "clip(Tensor x, float? min=None, float? max=None) -> Tensor",
    diptych.clip,
    lambda x, min=None, max=None: x.new_empty(x.shape),
    _clip_setup,
    _clip_backward,
)
_operation(
    "clip_backward(Tensor x, Tensor grad, float? min=None, float? max=None) -> Tensor",
    diptych.clip_backward,
    lambda x, grad, min=None, max=None: grad.new_empty(torch.broadcast_shapes(x.shape, grad.shape)),
    _clip_backward_setup,
    _clip_backward_backward,
)

# Reductions.


def _result_shape(x: Tensor, axis: Sequence[int] | None, keepdims: bool) -> list[int]:
    reduced = range(x.ndim) if axis is None else [i % x.ndim for i in axis]
    kept = [(1 if i in reduced else n) for i, n in enumerate(x.shape)]
    return kept if keepdims else [n for i, n in enumerate(kept) if i not in reduced]


def _spread(value: Tensor, x: Tensor, axis: Sequence[int] | None, keepdims: bool) -> Tensor:
    """Gives a reduced tensor its reduced axes back, with length 1."""
    return value if keepdims else value.reshape(_result_shape(x, axis, True))


def _count(x: Tensor, axis: Sequence[int] | None) -> int:
    count = 1
    for i in range(x.ndim) if axis is None else axis:
        count *= x.shape[i]
    return count


def _grad_sum(x, y, grad, axis):
    return grad.expand(x.shape)


def _grad_mean(x, y, grad, axis):
    return (grad / _count(x, axis)).expand(x.shape)


def _grad_prod(x, y, grad, axis):
    # With one zero among the factors, its own derivative is the product of the others; with more all are 0.
    is_zero = x == 0
    others = torch.where(is_zero, 1, x)
    rest = _spread(_ops.prod(others, axis, False), x, axis, False)
    zeros = _spread(_ops.count_nonzero(is_zero.to(x.dtype), axis, False), x, axis, False)
    single = torch.where(is_zero & (zeros == 1), rest, torch.zeros_like(x))
    return grad * torch.where(zeros == 0, y / others, single)


def _grad_extreme(x, y, grad, axis):
    # Shared among equal elements, as torch.amax does.
    chosen = (x == y) | (x.isnan() & y.isnan())
    ones = chosen.to(x.dtype)
    return grad * ones / _spread(_ops.sum(ones, axis, False), x, axis, False)


def _grad_sumsq(x, y, grad, axis):
    return 2 * x * grad


def _grad_asum(x, y, grad, axis):
    return torch.sign(x) * grad


def _grad_nrm2(x, y, grad, axis):
    return torch.where(y == 0, 0, x / y) * grad


def _grad_logsumexp(x, y, grad, axis):
    return torch.exp(x - torch.where(y.isinf(), 0, y)) * grad


def _reduction(name: str, formula: Callable | None) -> None:
    kernel = getattr(diptych, name)
    counts = formula is None

    def run(x, axis=None, keepdims=False):
        return kernel(x, axis=None if axis is None else tuple(axis), keepdims=keepdims)

    def fake(x, axis=None, keepdims=False):
        shape = _result_shape(x, axis, keepdims)
        return x.new_empty(shape, dtype=torch.int64 if counts else x.dtype)

    def setup(ctx, inputs, output):
        x, ctx.axis, ctx.keepdims = inputs
        if counts:
            ctx.mark_non_differentiable(output)
        else:
            ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        if counts:
            return None, None, None
        x, y = ctx.saved_tensors
        y, grad = (_spread(value, x, ctx.axis, ctx.keepdims) for value in (y, grad))
        return formula(x, y, grad, ctx.axis), None, None

    _operation(f"{name}(Tensor x, int[]? axis=None, bool keepdims=False) -> Tensor", run, fake, setup, backward)


for _name, _formula in {
    "sum": _grad_sum,
    "mean": _grad_mean,
    "prod": _grad_prod,
    "min": _grad_extreme,
    "max": _grad_extreme,
    "sumsq": _grad_sumsq,
    "asum": _grad_asum,
    "nrm2": _grad_nrm2,
    "logsumexp": _grad_logsumexp,
    "count_nonzero": None,
    "argmin": None,
    "argmax": None,
}.items():
    _reduction(_name, _formula)


def _spread_reduction(name: str, formula: Callable) -> None:
    """Defines var or std."""
    kernel = getattr(diptych, name)

    def run(x, axis=None, ddof=0, keepdims=False):
        return kernel(x, axis=None if axis is None else tuple(axis), ddof=ddof, keepdims=keepdims)

    def setup(ctx, inputs, output):
        x, ctx.axis, ctx.ddof, ctx.keepdims = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        y, grad = (_spread(value, x, ctx.axis, ctx.keepdims) for value in (y, grad))
        centred = x - _ops.mean(x, ctx.axis, True)
        return formula(centred / (_count(x, ctx.axis) - ctx.ddof), y, grad), None, None, None

    _operation(
        f"{name}(Tensor x, int[]? axis=None, int ddof=0, bool keepdims=False) -> Tensor",
        run,
        lambda x, axis=None, ddof=0, keepdims=False: x.new_empty(_result_shape(x, axis, keepdims)),
        setup,
        backward,
    )


_spread_reduction("var", lambda centred, y, grad: 2 * centred * grad)
_spread_reduction("std", lambda centred, y, grad: torch.where(y == 0, 0, centred / y) * grad)

# Losses.


def _mse_setup(ctx, inputs, output) -> None:
    ctx.save_for_backward(output[1])


def _mse_backward(ctx, grad_loss, grad_grad):
    (grad,) = ctx.saved_tensors
    total = grad_loss * grad + 2 * grad_grad
    return total, -total


_operation(
    "mse(Tensor pred, Tensor target) -> (Tensor loss, Tensor grad)",
    diptych.mse_grad,
    lambda pred, target: (pred.new_empty(()), pred.new_empty(pred.shape)),
    _mse_setup,
    _mse_backward,
)


def _lsq(a: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    residual = diptych.matmul(a, x)
    diptych.subtract(residual, y, out=residual)
    return diptych.sumsq(residual), residual


def _lsq_setup(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs[:2], output[1])


def _lsq_backward(ctx, grad_loss, grad_residual):
    a, x, residual = ctx.saved_tensors
    need_a, need_x, need_y = ctx.needs_input_grad
    total = 2 * grad_loss * residual + grad_residual
    return (
        _ops.outer(total, x) if need_a else None,
        _ops.matmul(a.mT, total) if need_x else None,
        -total if need_y else None,
    )


_operation(
    "lsq(Tensor a, Tensor x, Tensor y) -> (Tensor loss, Tensor residual)",
    _lsq,
    lambda a, x, y: (a.new_empty(()), a.new_empty(y.shape)),
    _lsq_setup,
    _lsq_backward,
)

# The functions.


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


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias, as torch.nn.functional.linear, in one pass.

    >>> import torch, diptych.torch as dt
    >>> dt.linear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([0.5]))
    tensor([[11.5000]])
    """
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
mean = _reducing("mean", "The mean of the elements of x.")
prod = _reducing("prod", "The product of the elements of x.")
min = _reducing("min", "The smallest element of x; the gradient is shared among equal ones.")
max = _reducing("max", "The largest element of x; the gradient is shared among equal ones.")
sumsq = _reducing("sumsq", "The sum of the squares of the elements of x.")
asum = _reducing("asum", "The sum of the absolute values of the elements of x.")
nrm2 = _reducing("nrm2", "The Euclidean norm of x; its gradient at 0 is 0.")
logsumexp = _reducing("logsumexp", "log(sum(exp(x))), without avoidable overflow.")
count_nonzero = _reducing("count_nonzero", "The number of elements of x that are not 0.")
argmin = _reducing("argmin", "The index of the first smallest element of x.")
argmax = _reducing("argmax", "The index of the first largest element of x.")


def var(x: Tensor, *, axis: _Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance of x. (ddof=1 is torch.var's default.)"""
    return _ops.var(x, _axes(axis), ddof, keepdims)


def std(x: Tensor, *, axis: _Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation of x; its gradient at 0 is 0. (ddof=1 is torch.std's default.)"""
    return _ops.std(x, _axes(axis), ddof, keepdims)


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
