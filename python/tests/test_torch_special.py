"""Gradients of diptych.torch at special values, beside PyTorch's and the mathematical ones."""

import math

import pytest

torch = pytest.importorskip("torch")

import diptych.torch as dt  # noqa: E402
from torch_cases import ops  # noqa: E402

inf, nan = math.inf, math.nan
ROWS = [
    [0.0, 1.0], [-0.0, 0.0], [-0.0, -3.0], [0.0, 0.0, 5.0], [2.0, 2.0], [5.0],
    [inf, 1.0], [-inf, 1.0], [inf, inf, 1.0], [inf, -inf], [-inf, -inf], [inf, 0.0], [0.0, -inf, 0.0], [inf, 1e30],
    [nan, 1.0], [nan, nan], [nan, inf], [0.0, nan, 2.0], [0.0, 0.0, nan], [1e-30, nan], [0.0, inf, nan],
    [1e30, 1e30], [1e30, -1e30, 1.0], [1e-30, 3e-30], [1e-30, 1.0, 1e30], [1e30, 0.0, 1e-30],
    [1e30, 1e30, 1e-30, 1e-30],
]  # fmt: skip


def each(x, derivative):
    return [derivative(i, value) for i, value in enumerate(x)]


def shares(x, y):
    count = sum(value == y for value in x)
    return [(value == y) / count if count else nan for value in x]


def of_prod(x):
    # The products of a few numbers up to 1e30 and down to 1e-30 fit in float64.
    return each(x, lambda i, _: math.prod(x[:i] + x[i + 1 :]))


def of_extreme(choose):
    return lambda x: shares(x, nan if any(map(math.isnan, x)) else choose(x))


def of_nrm2(x):
    if any(map(math.isinf, x)) and not any(map(math.isnan, x)):
        x = [math.copysign(1.0, value) if math.isinf(value) else 0.0 for value in x]
    norm = nan if any(map(math.isnan, x)) else math.hypot(*x)
    return [value / norm if norm else 0.0 for value in x]


def of_logsumexp(x):
    top = nan if any(map(math.isnan, x)) else max(x)
    if math.isinf(top):
        return shares(x, top)
    weights = [math.exp(value - top) for value in x]
    return [weight / sum(weights) for weight in weights]


def centred(x):
    finite = all(map(math.isfinite, x))
    mean = math.fsum(x) / len(x) if finite else sum(x) / len(x)
    return [value - mean for value in x]


def of_std(x):
    deviations = centred(x)
    norm = math.hypot(*deviations) if all(map(math.isfinite, x)) else nan
    return [value / norm / math.sqrt(len(x)) if norm else 0.0 for value in deviations]


# What an operation's derivative is, and PyTorch's operation.
REDUCTIONS = {
    "sum": (lambda x: [1.0] * len(x), torch.sum),
    "mean": (lambda x: [1 / len(x)] * len(x), torch.mean),
    "prod": (of_prod, torch.prod),
    "max": (of_extreme(max), torch.amax),
    "min": (of_extreme(min), torch.amin),
    "sumsq": (lambda x: [2 * value for value in x], lambda x: (x * x).sum()),
    "asum": (
        lambda x: [nan if math.isnan(value) else float((value > 0) - (value < 0)) for value in x],
        lambda x: x.abs().sum(),
    ),
    "nrm2": (of_nrm2, torch.linalg.vector_norm),
    "logsumexp": (of_logsumexp, lambda x: torch.logsumexp(x, 0)),
    "var": (lambda x: [2 * value / len(x) for value in centred(x)], lambda x: torch.var(x, correction=0)),
    "std": (of_std, lambda x: torch.std(x, correction=0)),
}


def gradient(function, x):
    x = x.clone().requires_grad_()
    return torch.autograd.grad(function(x).sum(), x)[0]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_reductions(name, row):
    derivative, theirs = REDUCTIONS[name]
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(row, dtype=dtype)
        expected = torch.tensor(derivative(x.tolist()), dtype=torch.float64).to(dtype)
        ours = gradient(getattr(dt, name), x)
        # Where elements cancel, the rounding of their mean is not small beside the rest.
        cancels = float(expected.nan_to_num(0, 0, 0).abs().max()) * 1e-6 if name in ("var", "std") else 0
        torch.testing.assert_close(ours, expected, rtol=1e-6, atol=cancels, equal_nan=True)
        units = torch.eye(len(row), dtype=dtype)
        tangents = torch.stack([torch.func.jvp(getattr(dt, name), (x,), (unit,))[1] for unit in units])
        # A tangent is a sum over the elements: 0 times an infinite derivative is NaN.
        if expected.isfinite().all():
            torch.testing.assert_close(tangents, expected, rtol=1e-6, atol=cancels)
        # In a row beside others it is the same.
        beside = torch.stack((torch.ones_like(x), x))
        torch.testing.assert_close(gradient(lambda b: getattr(dt, name)(b, axis=1), beside)[1], ours, equal_nan=True)
    their_gradient = gradient(theirs, x)
    same = torch.isclose(ours, their_gradient, atol=cancels, equal_nan=True)
    assert (same | their_gradient.isnan()).all() or differs(name, x)


def differs(name, x):
    """Where PyTorch's gradient is not NaN but another than the mathematical one."""
    if name == "asum":
        return x.isnan().any()
    if name == "prod":
        return (x == 0).sum() == 2 and not x.isfinite().all()
    return name == "logsumexp" and x.abs().max() == 1e30


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_normalize(row):
    """The Jacobian beside that of the quotient in float64, whose range has the squares of these rows."""
    x = torch.tensor(row)
    found = torch.func.jacrev(dt.normalize)(x)
    if not x.isfinite().all() or not x.any():
        assert found.isnan().all()
        return
    expected = torch.func.jacrev(lambda x: x / torch.linalg.vector_norm(x))(x.double())
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-6 * expected.abs().max().item())
    torch.testing.assert_close(torch.func.jacfwd(dt.normalize)(x), found)


PAIRS = [(a, b) for a in (0.0, -0.0, inf, -inf, nan, 1e30, 1e-30) for b in (0.0, inf, nan, 1e-30, 2.0)]
PRODUCTS = {
    "matmul": (lambda x, y: dt.matmul(x, y), lambda x, y: x @ y),
    "matrices": (lambda x, y: dt.matmul(x[:, None], y[None]), lambda x, y: x[:, None] @ y[None]),
    "outer": (dt.outer, torch.outer),
    "linear": (lambda x, y: dt.linear(x[:, None], y[:, None], y), lambda x, y: torch.outer(x, y) + y),
    "mse": (lambda x, y: dt.mse_loss(x, y, reduction="sum"), lambda x, y: ((x - y) ** 2).sum()),
    "lsq": (lambda x, y: dt.lsq_loss(x[:, None], y[:1], y), lambda x, y: ((x[:, None] @ y[:1] - y) ** 2).sum()),
    "clip": (lambda x, y: dt.clip(x * y, -1.5, 1.5), lambda x, y: torch.clip(x * y, -1.5, 1.5)),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_products(name, dtype):
    ours, theirs = PRODUCTS[name]
    for x, y in PAIRS:
        x, y = (torch.tensor([value, 3.0], dtype=dtype, requires_grad=True) for value in (x, y))
        found = torch.autograd.grad(ours(x, y).sum(), (x, y))
        torch.testing.assert_close(found, torch.autograd.grad(theirs(x, y).sum(), (x, y)), equal_nan=True)


def test_the_unused_result_of_a_pair():
    """An infinite loss does not make the gradient of its residual NaN."""
    a, x = torch.eye(2, requires_grad=True), torch.tensor([inf, 1.0])
    (found,) = torch.autograd.grad(ops.lsq(a, torch.ones(2), x)[1].sum(), a)
    assert found.tolist() == [[1, 1], [1, 1]]
    (found,) = torch.autograd.grad(ops.mse(x.requires_grad_(), torch.ones(2))[1].sum(), x)
    assert found.tolist() == [2, 2]
