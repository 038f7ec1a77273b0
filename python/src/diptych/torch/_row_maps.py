"""Maps over rows and their derivatives."""

from __future__ import annotations

from collections.abc import Callable

import diptych
from torch import Tensor

from ._operations import Derivative, define, ops
from ._order import like
from ._reductions import _axes

# Derivatives: the Jacobian of a row, which is symmetric, times a vector g. y is the result, so x and y have g's shape.


def _times_normalize(x: Tensor, y: Tensor, g: Tensor, axes: list[int]) -> Tensor:
    return (g - y * ops.sum(y * g, axes, True)) / ops.nrm2(x, axes, True)


# Operations.


def _define(name: str, times: Callable) -> None:
    """Defines a map with its derivative."""
    function = getattr(diptych, name)

    def kernel(x, axis=None):
        return function(x, axis=None if axis is None else tuple(axis))

    def fake(x, axis=None):
        _axes(name, x.ndim, axis)
        return like(x)

    def batch(info, in_dims, x, axis=None):
        x = x.movedim(in_dims[0], 0)
        return op(x, [i + 1 for i in _axes(name, x.ndim - 1, axis)]), 0

    def keep(ctx, inputs, output):
        x, ctx.axis = inputs
        ctx.save_for_backward(x, output)

    def backward(ctx, grad):
        x, output = ctx.saved_tensors
        return (times(x, output, grad, _axes(name, x.ndim, ctx.axis)),)

    def jvp(inputs, output, tangents):
        x, axis = inputs
        return times(x, output, tangents[0], _axes(name, x.ndim, axis))

    schema = f"{name}(Tensor x, int[]? axis=None) -> Tensor"
    define(schema, kernel, fake, Derivative(keep, backward, jvp), batch)
    op = getattr(ops, name)


_define("normalize", _times_normalize)
