"""Reductions and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import diptych
import torch
from torch import Tensor

from ._operations import Derivative, define, ops

# Axes.


def _axes(name: str, ndim: int, axis: Sequence[int] | None) -> list[int]:
    """Returns the reduced axes, counted from the start, or raises what the kernel raises."""
    if axis is None:
        return list(range(ndim))
    found = []
    for i in axis:
        if not -ndim <= i < ndim:
            raise diptych.ArgumentError(f"{name}: axis {i} is out of range for an array of {ndim} axes")
        if i % ndim in found:
            raise diptych.ArgumentError(f"{name}: axis {i % ndim} is given twice")
        found.append(i % ndim)
    return found


def _result_shape(shape: Sequence[int], axes: Sequence[int], keepdims: bool) -> list[int]:
    kept = [(1 if i in axes else n) for i, n in enumerate(shape)]
    return kept if keepdims else [n for i, n in enumerate(kept) if i not in axes]


def _count(x: Tensor, axes: Sequence[int]) -> int:
    return math.prod(x.shape[i] for i in axes)


# Gradients: for each element of x its derivative of the result y, times grad. y and grad broadcast to x.


def _grad_sum(x, y, grad, axes):
    return grad.expand(x.shape)


def _grad_mean(x, y, grad, axes):
    return (grad / _count(x, axes)).expand(x.shape)


def _grad_prod(x, y, grad, axes):
    # With one zero among the factors, its own derivative is the product of the others; with more all are 0.
    is_zero = x == 0
    others = torch.where(is_zero, 1, x)
    rest = ops.prod(others, axes, True)
    zeros = ops.count_nonzero(is_zero.to(x.dtype), axes, True)
    single = torch.where(is_zero & (zeros == 1), rest, torch.zeros_like(x))
    return grad * torch.where(zeros == 0, y / others, single)


def _grad_extreme(x, y, grad, axes):
    # Shared among equal elements, as torch.amax does.
    chosen = ((x == y) | (x.isnan() & y.isnan())).to(x.dtype)
    return grad * chosen / ops.sum(chosen, axes, True)


def _grad_sumsq(x, y, grad, axes):
    return 2 * x * grad


def _grad_asum(x, y, grad, axes):
    return torch.sign(x) * grad


def _grad_nrm2(x, y, grad, axes):
    return torch.where(y == 0, 0, x / y) * grad


def _grad_logsumexp(x, y, grad, axes):
    return torch.exp(x - torch.where(y.isinf(), 0, y)) * grad


def _grad_var(x, y, grad, axes, ddof):
    return 2 * (x - ops.mean(x, axes, True)) / (_count(x, axes) - ddof) * grad


def _grad_std(x, y, grad, axes, ddof):
    return torch.where(y == 0, 0, (x - ops.mean(x, axes, True)) / (_count(x, axes) - ddof) / y) * grad


# Operations.


def _define(name: str, formula: Callable | None = None, *more: str) -> None:
    """Defines a reduction with its gradient, without which it counts, and parameters beside the usual ones."""
    function = getattr(diptych, name)

    def named(options: Sequence) -> dict:
        return {"keepdims": False, **dict(zip((*more, "keepdims"), options))}

    def kernel(x, axis=None, *options):
        return function(x, axis=None if axis is None else tuple(axis), **named(options))

    def fake(x, axis=None, *options):
        shape = _result_shape(x.shape, _axes(name, x.ndim, axis), named(options)["keepdims"])
        return x.new_empty(shape, dtype=torch.int64 if formula is None else x.dtype)

    def batch(info, in_dims, x, axis=None, *options):
        x = x.movedim(in_dims[0], 0)
        return op(x, [i + 1 for i in _axes(name, x.ndim - 1, axis)], *options), 0

    parameters = "".join(f"int {parameter}=0, " for parameter in more)
    schema = f"{name}(Tensor x, int[]? axis=None, {parameters}bool keepdims=False) -> Tensor"
    define(schema, kernel, fake, _derivative(name, formula) if formula else _COUNTING, batch)
    op = getattr(ops, name)


def _derivative(name: str, formula: Callable) -> Derivative:
    def with_axes(inputs, reduced):
        """Gives a reduced tensor its reduced axes back, with length 1."""
        x, axis, *_ = inputs
        return reduced.reshape(_result_shape(x.shape, _axes(name, x.ndim, axis), True))

    def times(inputs, output, factor):
        """Returns for each element of x its derivative of the result, times a factor that broadcasts to x."""
        x, axis, *more, _ = inputs
        return formula(x, with_axes(inputs, output), factor, _axes(name, x.ndim, axis), *more)

    def keep(ctx, inputs, output):
        x, *ctx.options = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        x, output = ctx.saved_tensors
        inputs = (x, *ctx.options)
        return (times(inputs, output, with_axes(inputs, grad)),)

    def jvp(inputs, output, tangents):
        _, axis, *_, keepdims = inputs
        return ops.sum(times(inputs, output, tangents[0]), axis, keepdims)

    return Derivative(keep, backward, jvp)


_COUNTING = Derivative(
    save=lambda ctx, inputs, output: ctx.mark_non_differentiable(output),
    backward=lambda ctx, grad: (None,),
    jvp=lambda inputs, output, tangents: None,
)


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
    _define(_name, _formula)
_define("var", _grad_var, "ddof")
_define("std", _grad_std, "ddof")
