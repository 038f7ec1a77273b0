"""Operations of torch.library: what they compute, the shape of their results, their derivatives, and their batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

_library = torch.library.Library("diptych", "DEF")
ops = torch.ops.diptych


@dataclass(frozen=True)
class Derivative:
    """The derivatives of an operation.

    ``save(ctx, inputs, output)`` keeps what ``backward(ctx, *grads)`` needs, which returns a gradient for each tensor
    among the first inputs. ``jvp(inputs, output, tangents)`` returns a tangent for each output. A gradient, and a
    tangent that is given, may be None for 0, but not all that are given.
    """

    save: Callable
    backward: Callable
    jvp: Callable


def define(
    schema: str, kernel: Callable, fake: Callable, derivative: Derivative, batch: Callable | None = None
) -> None:
    """Defines an operation; ``batch`` is its rule for vmap, without which each element of the batch is a call."""
    name = schema.split("(")[0]
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, kernel, "CPU")
    _library.impl(name, _on_its_device(kernel), "CUDA")
    torch.library.register_fake(f"diptych::{name}", fake, lib=_library)
    op = getattr(ops, name).default
    _library.impl(name, _recording(op, derivative), "Autograd", with_keyset=True)
    torch.library.register_vmap(f"diptych::{name}", batch or _one_by_one(op), lib=_library)
    for device in ("cpu", "cuda"):
        # Most kernels for CUDA are for float32 and float64 alone.
        torch.library.register_autocast(f"diptych::{name}", device, torch.float32, lib=_library)


def _on_its_device(kernel: Callable) -> Callable:
    """Returns the kernel for CUDA tensors. It makes their device the current one, as PyTorch does only for its own."""

    def on_device(*inputs):
        with torch.cuda.device(next(x.device for x in inputs if isinstance(x, Tensor))):
            return kernel(*inputs)

    return on_device


def _recording(op, derivative: Derivative) -> Callable:
    """Returns the kernel of an operation that records derivatives.

    PyTorch's register_autograd drops tangents and does not work within torch.func. So this does what PyTorch's own
    operations do: at each level of transforms, a node for this level alone around a call for the levels below.
    """
    defaults = [argument.default_value for argument in op._schema.arguments]
    node = _node(op, derivative)

    def kernel(keyset, *inputs):
        # The dispatcher leaves out what equals its default value.
        inputs = (*inputs, *defaults[len(inputs) :])
        transforms = torch._C._are_functorch_transforms_active()
        primals = _primals(inputs) if transforms or forward_ad._current_level >= 0 else None
        if primals is None and not (torch.is_grad_enabled() and torch._C._any_requires_grad(*inputs)):
            return _below(op, keyset, inputs)
        if not transforms:
            return node.apply(*inputs, keyset, primals)
        with enable_single_level_autograd_function():
            return node.apply(*inputs, keyset, primals)

    return kernel


def _primals(inputs) -> list | None:
    """Returns the inputs without their tangents, or None if they have none."""
    duals = [forward_ad.unpack_dual(x, level=0) if isinstance(x, Tensor) else (x, None) for x in inputs]
    if all(tangent is None for _, tangent in duals):
        return None
    return [primal for primal, _ in duals]


def records(x: Tensor) -> bool:
    """Returns whether derivatives are recorded for x, in reverse or forward mode."""
    if torch.is_grad_enabled() and x.requires_grad:
        return True
    return forward_ad._current_level >= 0 and _primals([x]) is not None


def _below(op, keyset, inputs):
    with torch._C._AutoDispatchBelowAutograd():
        return op.redispatch(keyset & torch._C._after_autograd_keyset, *inputs)


def _node(op, derivative: Derivative) -> type:
    """Returns the node of the graph of gradients, which computes tangents too."""

    def forward(ctx, *args):
        *inputs, keyset, primals = args
        if torch._C._are_functorch_transforms_active():
            # Within a node both kinds of derivatives are off; the levels below record theirs.
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                output = _below(op, keyset, primals or inputs)
        else:
            output = _below(op, keyset, primals or inputs)
        ctx.set_materialize_grads(False)
        # What is saved has its tangents: the gradient has one, too.
        derivative.save(ctx, inputs, output)
        if primals:
            ctx.point = primals, output
        return output

    def backward(ctx, *grads):
        found = () if all(grad is None for grad in grads) else derivative.backward(ctx, *grads)
        return (*found, *[None] * (len(ctx.needs_input_grad) - len(found)))

    def jvp(ctx, *tangents):
        (primals, output), ctx.point = ctx.point, None
        # PyTorch turns forward mode off here, for the levels below as well: their tangents would be lost.
        with forward_ad._set_fwd_grad_enabled(True):
            return derivative.jvp(primals, output, tangents[: len(primals)])

    functions = {"forward": forward, "backward": backward, "jvp": jvp}
    static = {name: staticmethod(function) for name, function in functions.items()}
    return type(f"Diptych_{op._opname}_", (_SingleLevelFunction,), static)


def _one_by_one(op) -> Callable:
    """Returns the rule for vmap that calls an operation for each element of the batch."""

    def rule(info, in_dims, *args):
        # The place of a list in in_dims is a list.
        batched = [isinstance(arg, Tensor) and dim is not None for arg, dim in zip(args, in_dims)]

        def select(arg, dim, i):
            # The only element of an empty batch, of zeros, has the shapes of the result.
            return arg.select(dim, i) if info.batch_size else arg.sum(dim)

        def element(i):
            return [select(arg, dim, i) if has else arg for arg, dim, has in zip(args, in_dims, batched)]

        def together(results):
            return torch.stack(results).narrow(0, 0, info.batch_size)

        results = [op(*element(i)) for i in range(max(info.batch_size, 1))]
        if isinstance(results[0], Tensor):
            return together(results), 0
        return tuple(map(together, zip(*results))), (0,) * len(results[0])

    return rule
