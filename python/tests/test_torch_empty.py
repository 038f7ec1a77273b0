"""diptych.torch on shapes with zeros and without axes, beside PyTorch."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import diptych  # noqa: E402
import diptych.torch as dt  # noqa: E402
from conftest import raises  # noqa: E402
from torch_cases import COUNTS  # noqa: E402

linear = torch.nn.functional.linear
EMPTY_PRODUCTS = [
    ("linear", linear, [(5, 0), (2, 0)]),
    ("linear", linear, [(5, 0), (2, 0), (2,)]),
    ("linear", linear, [(0,), (2, 0), (2,)]),
    ("linear", linear, [(0, 3), (2, 3), (2,)]),
    ("linear", linear, [(4, 0, 3), (2, 3)]),
    ("linear", linear, [(5, 3), (0, 3), (0,)]),
    ("linear", linear, [(2, 0, 0), (0, 0)]),
    ("matmul", torch.matmul, [(0,), (0,)]),
    ("matmul", torch.matmul, [(3, 0), (0,)]),
    ("matmul", torch.matmul, [(0,), (0, 3)]),
    ("matmul", torch.matmul, [(3, 0), (0, 2)]),
    ("matmul", torch.matmul, [(0, 3), (3, 2)]),
    ("matmul", torch.matmul, [(0, 3), (3,)]),
    ("matmul", torch.matmul, [(2, 3, 0), (0, 4)]),
    ("matmul", torch.matmul, [(0, 3, 2), (2, 4)]),
    ("matmul", torch.matmul, [(0, 3, 2), (2,)]),
    ("outer", torch.outer, [(0,), (3,)]),
    ("outer", torch.outer, [(3,), (0,)]),
    ("mse_loss", torch.nn.functional.mse_loss, [(0, 2), (0, 2)]),
    ("lsq_loss", lambda a, x, y: ((a @ x - y) ** 2).sum(), [(3, 0), (0,), (3,)]),
    ("lsq_loss", lambda a, x, y: ((a @ x - y) ** 2).sum(), [(0, 3), (3,), (0,)]),
    ("clip", torch.clone, [(0, 3)]),
    ("normalize", torch.clone, [(0, 3)]),
]


def compare(ours, theirs, given):
    """Compares results, gradients of both modes and what torch.compile makes of them."""
    with warnings.catch_warnings():
        # Of degrees of freedom, and of modules of PyTorch's own.
        warnings.simplefilter("ignore")
        compiled = torch.compile(ours, fullgraph=True, backend="aot_eager", dynamic=False)
        for function in (ours, compiled):
            found, expected = function(*given), theirs(*given)
            torch.testing.assert_close(found, expected, equal_nan=True)
            grads = [torch.autograd.grad(y.sum(), given, allow_unused=True) for y in (found, expected)]
            torch.testing.assert_close(grads[0], grads[1], equal_nan=True)
        torch._dynamo.reset()
        plain = tuple(x.detach() for x in given)
        _, tangent = torch.func.jvp(ours, plain, plain)
        assert tangent.shape == expected.shape


@pytest.mark.parametrize("name, theirs, shapes", EMPTY_PRODUCTS, ids=str)
def test_empty_products(name, theirs, shapes):
    compare(getattr(dt, name), theirs, [torch.ones(shape, requires_grad=True) for shape in shapes])


THEIRS = {
    "sum": torch.sum, "mean": torch.mean, "min": torch.amin, "max": torch.amax, "logsumexp": torch.logsumexp,
    "sumsq": lambda x, dim: (x * x).sum(dim), "asum": lambda x, dim: x.abs().sum(dim),
    "nrm2": lambda x, dim: torch.linalg.vector_norm(x, dim=dim), "prod": lambda x, dim: x.prod(dim),
    "var": lambda x, dim: torch.var(x, dim, correction=0), "std": lambda x, dim: torch.std(x, dim, correction=0),
}  # fmt: skip


reductions = pytest.mark.parametrize("name", THEIRS)


@reductions
def test_reductions_of_nothing(name):
    for shape, axis in (((0,), 0), ((0, 3), 0), ((0, 3), 1), ((2, 0), -1), ((2, 0, 3), 1), ((2, 0, 3), 2)):
        x = torch.ones(shape, requires_grad=True)

        def ours(x):
            return getattr(dt, name)(x, axis=axis)

        if name in ("min", "max") and shape[axis] == 0:
            with raises(diptych.ShapeError):
                ours(x)
            with pytest.raises(IndexError):
                THEIRS[name](x, axis)
        else:
            compare(ours, lambda x: THEIRS[name](x, axis), [x])


@reductions
def test_numbers(name):
    x = torch.tensor(2.5, requires_grad=True)
    compare(getattr(dt, name), lambda x: THEIRS[name](x, () if name in ("min", "max") else 0), [x])


def test_counts_of_nothing():
    assert dt.count_nonzero(torch.ones(0, 3), axis=0).tolist() == [0, 0, 0]
    for name in COUNTS:
        assert getattr(dt, name)(torch.ones(0, 3), axis=1).tolist() == []
    for name in ("argmin", "argmax"):
        with raises(diptych.ShapeError):
            getattr(dt, name)(torch.ones(0, 3), axis=0)


@pytest.mark.parametrize("axis, shape, text", [
    (0, (), "sum: axis 0 is out of range for an array of 0 axes"),
    (2, (3, 4), "sum: axis 2 is out of range for an array of 2 axes"),
    ((0, -2), (3, 4), "sum: axis 0 is given twice"),
])  # fmt: skip
def test_wrong_axes(axis, shape, text):
    """The shape of a result is refused as the result is."""
    given = axis if isinstance(axis, tuple) else (axis,)
    with raises(diptych.ArgumentError, text):
        diptych.sum(torch.ones(shape), axis=given)
    for x in (torch.ones(shape), torch.ones(shape, device="meta")):
        with raises(diptych.ArgumentError, text):
            dt.sum(x, axis=axis)
