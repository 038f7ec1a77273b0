"""clip and its derivative."""

from __future__ import annotations

import diptych
import torch

from ._operations import Derivative, define, ops
from ._order import like


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
    lambda x, min=None, max=None: like(x),
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
    lambda x, grad, min=None, max=None: like(x, grad),
    Derivative(_second_save, _second_backward, _second_jvp),
)
