"""PyTorch tensors as arguments of the plain functions."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import diptych  # noqa: E402
from conftest import raises  # noqa: E402



@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_tensors(dtype):
    x, y = torch.randn(3, 5).to(dtype), torch.randn(5).to(dtype)
    for name in ("add", "subtract", "multiply", "divide", "minimum", "maximum"):
        result = getattr(diptych, name)(x, y)
        assert type(result) is torch.Tensor and result.dtype is dtype
        torch.testing.assert_close(result, getattr(torch, name)(x, y), rtol=0, atol=0)
    out = torch.zeros(5, 3, dtype=dtype).T
    assert diptych.add(x, 1, out=out) is out
    torch.testing.assert_close(out, x + 1, rtol=0, atol=0)
    assert diptych.square(torch.tensor(3, dtype=dtype)).shape == ()
    assert diptych.square(torch.ones(0, 3, dtype=dtype)).shape == (0, 3)


def test_the_first_array_decides_the_kind():
    x, y = np.ones(3, np.float32), torch.ones(3)
    assert type(diptych.add(x, y)) is np.ndarray
    assert type(diptych.add(y, x)) is torch.Tensor
    assert type(diptych.add(2, y)) is torch.Tensor
    out = np.zeros(3, np.float32)
    assert diptych.add(y, y, out=out) is out and (out == 2).all()


def test_tensors_that_require_grad():
    x = torch.ones(3, requires_grad=True)
    with raises(diptych.ArgumentError, "clip: x requires grad, which this function would not record: use diptych.torch.clip"):
        diptych.clip(x, 0, 1)
    with raises(diptych.ArgumentError, "out requires grad"):
        diptych.add(x.detach(), 1, out=x)
    assert diptych.add(x.detach(), 1).tolist() == [2, 2, 2]
    with torch.no_grad():
        diptych.axpy(-0.5, torch.ones(3), x)
    assert x.tolist() == [0.5, 0.5, 0.5] and x.requires_grad
    assert diptych.add(torch.nn.Parameter(torch.ones(3), requires_grad=False), 1).tolist() == [2, 2, 2]


def test_refused_tensors():
    with raises(diptych.ArgumentError, "lazily negated"):
        diptych.square(torch._neg_view(torch.ones(3)))
    with raises(diptych.DtypeError, "complex64"):
        diptych.square(torch.ones(3, dtype=torch.complex64))
    for tensor in (torch.ones(3).to_sparse(), torch.ones(3, device="meta")):
        with raises(diptych.ArgumentError, "square: x cannot be read: Cannot ") as caught:
            diptych.square(tensor)
        assert "\n" not in str(caught.value) and isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU")
def test_tensors_on_a_gpu(dtype):
    x = torch.randn(40, 50, dtype=getattr(torch, dtype.name))
    on_gpu = x.cuda()
    for function in (diptych.square, diptych.sum, lambda x: diptych.matmul(x, x.T), lambda x: diptych.add(x, x[0])):
        result = function(on_gpu)
        assert result.is_cuda and torch.equal(result.cpu(), function(x))


def test_no_tensor_is_lost():
    x = torch.ones(4)
    before = sys.getrefcount(x)
    for _ in range(100):
        diptych.add(x, x)
        diptych.add(x, 1, out=x)
        with pytest.raises(diptych.ShapeError):
            diptych.add(x, torch.ones(3))
    assert sys.getrefcount(x) == before
