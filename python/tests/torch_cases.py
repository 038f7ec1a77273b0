"""The operations of diptych.torch with arguments, and what PyTorch computes for them."""

import torch
from torch import Tensor

ops = torch.ops.diptych


def randn(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(len(shape))
    return torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True)


A, B, V, W = randn(4, 3), randn(3, 5), randn(3), randn(4)
BATCH = randn(2, 1, 4, 3)
CASES = [
    (ops.matmul, (A, B), lambda x, y: x @ y),
    (ops.matmul, (A, V), lambda x, y: x @ y),
    (ops.matmul, (W, A), lambda x, y: x @ y),
    (ops.matmul, (V, V.detach().clone().requires_grad_()), lambda x, y: x @ y),
    (ops.matmul, (BATCH, B), lambda x, y: x @ y),
    (ops.matmul, (randn(3, 4).T, B), lambda x, y: x @ y),
    (ops.outer, (V, W), torch.outer),
    (ops.linear, (A, B.mT, randn(5)), torch.nn.functional.linear),
    (ops.linear, (BATCH, A), torch.nn.functional.linear),
    (ops.linear, (V, A, W), torch.nn.functional.linear),
    (ops.clip, (A, -0.5, 0.5), torch.clip),
    (ops.clip, (A, None, 0.25), lambda x, lo, hi: torch.clip(x, lo, hi)),
    (ops.clip_backward, (A.detach(), A, -0.5, 0.5), lambda x, g, lo, hi: torch.where((x >= lo) & (x <= hi), g, 0)),
    (ops.mse, (A, BATCH.reshape(2, 4, 3)[0]), lambda p, t: (((p - t) ** 2).sum(), 2 * (p - t))),
    (ops.lsq, (A, V, W), lambda a, x, y: (((a @ x - y) ** 2).sum(), a @ x - y)),
]
REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "min": torch.amin,
    "max": torch.amax,
    "sumsq": lambda x, dim, keepdim: torch.sum(x * x, dim, keepdim),
    "asum": lambda x, dim, keepdim: torch.sum(x.abs(), dim, keepdim),
    "nrm2": lambda x, dim, keepdim: torch.linalg.vector_norm(x, dim=dim, keepdim=keepdim),
    "logsumexp": torch.logsumexp,
    "prod": lambda x, dim, keepdim: torch.exp(torch.log(x.abs()).sum(dim, keepdim))
    * torch.sign(x).detach().prod(dim[0], keepdim),
}
COUNTS = ("count_nonzero", "argmin", "argmax")
for name, theirs in REDUCTIONS.items():
    axes = [[1], [-2]] if name == "prod" else [[0], [-1], [0, 1]]
    for axis in axes:
        for keep in (False, True):
            CASES.append((getattr(ops, name), (A, axis, keep), theirs))
for axis in ([0], [0, 1]):
    for ddof in (0, 1):
        case = (A, axis, ddof, False)
        CASES.append((ops.var, case, lambda x, a, d, k: torch.var(x, a, correction=d, keepdim=k)))
        CASES.append((ops.std, case, lambda x, a, d, k: torch.std(x, a, correction=d, keepdim=k)))

for axis in ([1], [0], [-1, 0], None):
    CASES.append((ops.normalize, (A, axis), lambda x, a: x / torch.linalg.vector_norm(x, dim=a, keepdim=True)))


def identity(value) -> str | None:
    """Names an operation in the name of a test."""
    return getattr(value, "__name__", None)


def tensors(args) -> list[Tensor]:
    return [arg for arg in args if isinstance(arg, Tensor)]


def of_tensors(op, args):
    """Returns an operation as a function of its tensors, and these, without a graph."""
    rest = args[len(tensors(args)) :]
    return lambda *given: op(*given, *rest), tuple(arg.detach() for arg in tensors(args))
