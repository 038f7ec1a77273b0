"""The order in memory of new tensors."""

from __future__ import annotations

import torch
from torch import Tensor


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


def like(*tensors: Tensor) -> Tensor:
    """A tensor as functions with a result for each element make it: in the order in memory of the inputs."""
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
