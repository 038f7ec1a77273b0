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
# Where the result is infinite or NaN, these are the limits, and NaN where there is none.


def _grad_sum(x, y, grad, axes):
    return grad.expand(x.shape)


def _grad_mean(x, y, grad, axes):
    return (grad / _count(x, axes)).expand(x.shape)


def _grad_prod(x, y, grad, axes):
    return grad * _product_of_others(x, axes)


def _product_of_others(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Returns for each element the product of the others. (Of a 0 or an infinity y / x is NaN.)"""
    order = [i for i in range(x.ndim) if i not in axes] + sorted(axes)
    turned = x.permute(order)
    # In double, a product of floats neither overflows nor underflows before the others are multiplied in.
    rows = turned.reshape(*turned.shape[: x.ndim - len(axes)], _count(x, axes)).double()
    ones = rows.new_ones((*rows.shape[:-1], 1))
    length = rows.shape[-1]
    before = torch.cat((ones, rows), -1).narrow(-1, 0, length).cumprod(-1)
    after = torch.cat((ones, rows.flip(-1)), -1).narrow(-1, 0, length).cumprod(-1).flip(-1)
    back = sorted(range(x.ndim), key=order.__getitem__)
    return (before * after).to(x.dtype).reshape(turned.shape).permute(back)


def _grad_extreme(x, y, grad, axes):
    # Shared among equal elements, and NaN where the result is, as torch.amax does.
    return _shares((x == y).to(x.dtype), axes) * grad


def _shares(weights: Tensor, axes: Sequence[int]) -> Tensor:
    return weights / ops.sum(weights, axes, True)


def _grad_sumsq(x, y, grad, axes):
    return 2 * x * grad


def _grad_asum(x, y, grad, axes):
    # torch.sign is 0 at NaN.
    return torch.where(x.isnan(), x, torch.sign(x)) * grad


def _grad_nrm2(x, y, grad, axes):
    # Beside infinite elements the others do not count.
    infinite = y.isinf()
    x = torch.where(infinite, torch.sign(x) * x.isinf(), x)
    return _direction(x, torch.where(infinite, ops.nrm2(x, axes, True), y)) * grad


def _direction(x: Tensor, norm: Tensor) -> Tensor:
    return torch.where(norm == 0, 0, x / norm)


def _grad_logsumexp(x, y, grad, axes):
    # An infinite result is that of max. The logarithm is lost in the rounding of a large result: so the sum is not 1.
    return _shares(torch.where(y.isinf(), (x == y).to(x.dtype), torch.exp(x - y)), axes) * grad


def _grad_var(x, y, grad, axes, ddof):
    return 2 * (x - ops.mean(x, axes, True)) / (_count(x, axes) - ddof) * grad


def _grad_std(x, y, grad, axes, ddof):
    # By the norm, which neither overflows nor underflows.
    centred = x - ops.mean(x, axes, True)
    return _direction(centred, ops.nrm2(centred, axes, True)) / (_count(x, axes) - ddof) ** 0.5 * grad


# Operations.

_UNDEFINED_OF_NOTHING = ("mean", "var", "std")


def _define(name: str, formula: Callable | None = None, *more: str) -> None:
    """Defines a reduction with its gradient, without which it counts, and parameters beside the usual ones."""
    function = getattr(diptych, name)

    def named(options: Sequence) -> dict:
        return {"keepdims": False, **dict(zip((*more, "keepdims"), options))}

    def kernel(x, axis=None, *options):
        options = named(options)
        if x.numel() == 0 and name in _UNDEFINED_OF_NOTHING:
            axes = _axes(name, x.ndim, axis)
            if _count(x, axes) == 0:
                # As in PyTorch; diptych's functions refuse it.
                return x.new_full(_result_shape(x.shape, axes, options["keepdims"]), math.nan)
        return function(x, axis=None if axis is None else tuple(axis), **options)

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
        if x.numel() == 0:
            return torch.zeros_like(x)
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
