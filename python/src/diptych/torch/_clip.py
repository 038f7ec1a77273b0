"""clip and its derivative."""

from __future__ import annotations

import diptych
import torch
from torch import Tensor

from ._operations import Derivative, define, ops


def _step(x: Tensor, from_end: int) -> int | None:
    """By how many elements x advances along an axis, counted from the last; None if it does not."""
    axis = x.dim() - from_end
    if axis < 0 or x.shape[axis] == 1:
        return None
    return abs(x.stride(axis)) or None


def _is_inside(tensors: tuple[Tensor, ...], a: int, b: int) -> bool | None:
    """Whether axis a lies closer in the memory of the tensors than axis b, which is inside it; None: no tensor has both."""
    answer = None
    for x in tensors:
        of_a, of_b = _step(x, a), _step(x, b)
        if of_a is None or of_b is None:
            continue
        if of_b <= of_a:
            return False
        answer = True
    return answer


def _like(*tensors: Tensor) -> Tensor:
    """A tensor as the elementwise functions make their results: in the order in memory of the inputs."""
    shape = torch.broadcast_shapes(*(x.shape for x in tensors))
    axes = list(range(1, len(shape) + 1))  # From the end, the innermost first.
    for i in range(1, len(axes)):
        place = i
        for j in reversed(range(i)):
            inside = _is_inside(tensors, axes[i], axes[j])
            if inside:
                place = j
            elif inside is not None:
                break
        axes.insert(place, axes.pop(i))
    strides, stride = [0] * len(shape), 1
    for axis in axes:
        strides[-axis] = stride
        stride *= max(shape[-axis], 1)
    return tensors[0].new_empty_strided(shape, strides)


def _save(ctx, inputs, output) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.bounds = inputs[1:]


def _backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return (ops.clip_backward(x, grad, *ctx.bounds),)


def _jvp(inputs, output, tangents):
    x, *bounds = inputs
    return ops.clip_backward(x, tangents[0], *bounds)


def _batch(info, in_dims, x, *bounds):
    return ops.clip(x, *bounds), in_dims[0]


define(
    "clip(Tensor x, float? min=None, float? max=None) -> Tensor",
    diptych.clip,
    lambda x, min=None, max=None: _like(x),
    Derivative(_save, _backward, _jvp),
    _batch,
)

# clip_backward is linear in grad, and constant in x wherever it has a derivative.


def _second_save(ctx, inputs, output) -> None:
    x, grad, *ctx.bounds = inputs
    ctx.save_for_backward(x)
    ctx.shape = grad.shape


def _second_backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return None, ops.clip_backward(x, grad, *ctx.bounds).sum_to_size(ctx.shape)


def _second_jvp(inputs, output, tangents):
    x, _, *bounds = inputs
    return torch.zeros_like(output) if tangents[1] is None else ops.clip_backward(x, tangents[1], *bounds)


define(
    "clip_backward(Tensor x, Tensor grad, float? min=None, float? max=None) -> Tensor",
    diptych.clip_backward,
    lambda x, grad, min=None, max=None: _like(x, grad),
    Derivative(_second_save, _second_backward, _second_jvp),
)
