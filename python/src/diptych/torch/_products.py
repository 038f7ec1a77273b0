"""Products and their derivatives."""

from __future__ import annotations

import math

import diptych
import torch
from torch import Tensor

from ._operations import Derivative, define, ops, records


def total(*terms: Tensor | None) -> Tensor | None:
    """Returns the sum of the terms that are not None, that is 0."""
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def _save_inputs(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


# matmul.


def _type(x: Tensor, bias: Tensor | None = None) -> torch.dtype:
    """Returns the type of products with x."""
    if x.dtype in (torch.int8, torch.uint8):
        return torch.int32 if bias is None else torch.float32
    return x.dtype


def _matmul_shape(x: Tensor, y: Tensor) -> Tensor:
    # PyTorch multiplies no uint8 by int8.
    product = x.int() @ y.int() if x.dtype == torch.uint8 else x @ y
    return x.new_empty(product.shape, dtype=_type(x))


def _matmul_backward(ctx, grad):
    x, y = ctx.saved_tensors
    need_x, need_y, *_ = ctx.needs_input_grad
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
        grad_x = ops.matmul(grad, columns.mT).sum_to_size(rows.shape).reshape(x.shape)
    if need_y:
        grad_y = ops.matmul(rows.mT, grad).sum_to_size(columns.shape).reshape(y.shape)
    return grad_x, grad_y


def _bilinear_jvp(name: str):
    def jvp(inputs, output, tangents):
        (x, y), (x_tangent, y_tangent) = inputs, tangents
        op = getattr(ops, name)
        return total(
            None if x_tangent is None else op(x_tangent, y),
            None if y_tangent is None else op(x, y_tangent),
        )

    return jvp


def _matmul_batch(info, in_dims, x, y):
    vectors = x.ndim - (in_dims[0] is not None) == 1, y.ndim - (in_dims[1] is not None) == 1
    x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
    y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
    x = x.unsqueeze(-2) if vectors[0] else x
    y = y.unsqueeze(-1) if vectors[1] else y
    # The axis of the batch comes before those of the other factor.
    axes = max(x.ndim - (in_dims[0] is not None), y.ndim - (in_dims[1] is not None))
    x = x if in_dims[0] is None else x.reshape(x.shape[0], *[1] * (axes + 1 - x.ndim), *x.shape[1:])
    y = y if in_dims[1] is None else y.reshape(y.shape[0], *[1] * (axes + 1 - y.ndim), *y.shape[1:])
    out = ops.matmul(x, y)
    out = out.squeeze(-2) if vectors[0] else out
    return (out.squeeze(-1) if vectors[1] else out), 0


define(
    "matmul(Tensor x, Tensor y) -> Tensor",
    diptych.matmul,
    _matmul_shape,
    Derivative(_save_inputs, _matmul_backward, _bilinear_jvp("matmul")),
    _matmul_batch,
)

# outer.


def _outer_backward(ctx, grad):
    x, y = ctx.saved_tensors
    need_x, need_y, *_ = ctx.needs_input_grad
    return (ops.matmul(grad, y) if need_x else None, ops.matmul(grad.mT, x) if need_y else None)


define(
    "outer(Tensor x, Tensor y) -> Tensor",
    diptych.outer,
    lambda x, y: x.new_empty((x.shape[0], y.shape[0])),
    Derivative(_save_inputs, _outer_backward, _bilinear_jvp("outer")),
)

# linear.


def _rows(x: Tensor) -> Tensor:
    """Returns x as a matrix with the rows of all its matrices; one row for a vector."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    out = diptych.gemm(_rows(x), weight.mT, bias=bias)
    return out.reshape(*x.shape[:-1], weight.shape[0])


def _linear_backward(ctx, grad):
    x, weight, _ = ctx.saved_tensors
    need_x, need_weight, need_bias, *_ = ctx.needs_input_grad
    rows, grads = _rows(x), _rows(grad)
    return (
        ops.matmul(grads, weight).reshape(x.shape) if need_x else None,
        ops.matmul(grads.mT, rows) if need_weight else None,
        ops.sum(grads, [0], False) if need_bias else None,
    )


def _linear_jvp(inputs, output, tangents):
    x, weight, _ = inputs
    x_tangent, weight_tangent, bias_tangent = tangents
    return total(
        None if x_tangent is None else ops.linear(x_tangent, weight, None),
        None if weight_tangent is None else ops.linear(x, weight_tangent, None),
        None if bias_tangent is None else bias_tangent.expand(output.shape).clone(),
    )


define(
    "linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor",
    _linear,
    lambda x, weight, bias=None: x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=_type(x, bias)),
    Derivative(_save_inputs, _linear_backward, _linear_jvp),
)


def linear_packed(x: Tensor, weight: diptych.Packed, bias: Tensor | None = None) -> Tensor:
    """As linear, with weight.T packed. Gradients would need the weight as it was, so none are recorded."""
    for name, tensor in (("x", x), ("bias", bias)):
        if tensor is not None and records(tensor):
            raise diptych.ArgumentError(
                f"linear: weight is packed, and {name} records gradients, which need a weight that is a tensor: "
                "use that, or torch.no_grad()"
            )
    out = diptych.gemm(_rows(x), weight, bias=bias)
    return out.reshape(*x.shape[:-1], weight.shape[1])
