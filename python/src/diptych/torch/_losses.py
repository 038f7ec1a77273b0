"""Losses and their derivatives. An operation returns what its backward pass needs beside the loss."""

from __future__ import annotations

import diptych
from torch import Tensor

from ._operations import Derivative, define, ops
from ._products import total


def _dot(x: Tensor, y: Tensor) -> Tensor:
    return ops.matmul(x.reshape(-1), y.reshape(-1))


# mse.


def _mse_save(ctx, inputs, output) -> None:
    ctx.save_for_backward(output[1])


def _mse_backward(ctx, grad_loss, grad_grad):
    (grad,) = ctx.saved_tensors
    found = total(
        None if grad_loss is None else grad_loss * grad,
        None if grad_grad is None else 2 * grad_grad,
    )
    return found, -found


def _mse_jvp(inputs, output, tangents):
    pred_tangent, target_tangent = tangents
    tangent = total(pred_tangent, None if target_tangent is None else -target_tangent)
    return _dot(output[1], tangent), 2 * tangent


define(
    "mse(Tensor pred, Tensor target) -> (Tensor loss, Tensor grad)",
    diptych.mse_grad,
    lambda pred, target: (pred.new_empty(()), pred.new_empty(pred.shape)),
    Derivative(_mse_save, _mse_backward, _mse_jvp),
)

# lsq.


def _lsq(a: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    residual = diptych.matmul(a, x)
    diptych.subtract(residual, y, out=residual)
    return diptych.sumsq(residual), residual


def _lsq_save(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs[:2], output[1])


def _lsq_backward(ctx, grad_loss, grad_residual):
    a, x, residual = ctx.saved_tensors
    need_a, need_x, need_y, *_ = ctx.needs_input_grad
    found = total(None if grad_loss is None else 2 * grad_loss * residual, grad_residual)
    return (
        ops.outer(found, x) if need_a else None,
        ops.matmul(a.mT, found) if need_x else None,
        -found if need_y else None,
    )


def _lsq_jvp(inputs, output, tangents):
    (a, x, _), (a_tangent, x_tangent, y_tangent) = inputs, tangents
    tangent = total(
        None if a_tangent is None else ops.matmul(a_tangent, x),
        None if x_tangent is None else ops.matmul(a, x_tangent),
        None if y_tangent is None else -y_tangent,
    )
    return 2 * _dot(output[1], tangent), tangent


define(
    "lsq(Tensor a, Tensor x, Tensor y) -> (Tensor loss, Tensor residual)",
    _lsq,
    lambda a, x, y: (a.new_empty(()), a.new_empty(y.shape)),
    Derivative(_lsq_save, _lsq_backward, _lsq_jvp),
)
