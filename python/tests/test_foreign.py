"""Arguments that are not NumPy arrays: buffers, DLPack, array interfaces, PyTorch tensors."""

import array
import subprocess
import sys

import numpy as np
import pytest

import diptych
from conftest import raises


class Interface:
    """An object with nothing but `__array_interface__`."""

    def __init__(self, base):
        self.__array_interface__ = base.__array_interface__


class Dlpack:
    """An object with nothing but `__dlpack__`; `versioned`: of DLPack 1."""

    def __init__(self, base, versioned=True):
        self.base, self.versioned = base, versioned

    def __dlpack__(self, **options):
        if self.versioned:
            return self.base.__dlpack__(**options)
        if options:
            raise TypeError("unexpected keyword argument")
        return self.base.__dlpack__()

    def __dlpack_device__(self):
        return self.base.__dlpack_device__()

    def __array_namespace__(self):
        return np


def test_buffers():
    x = array.array("f", [1, 2, 3])
    result = diptych.add(x, 1)
    assert isinstance(result, memoryview) and result.tolist() == [2, 3, 4]
    assert diptych.add(x, 1, out=x) is x and x.tolist() == [2, 3, 4]
    matrix = memoryview(array.array("d", range(6))).cast("B").cast("d", (2, 3))
    product = diptych.multiply(matrix, 2)
    assert product.shape == (2, 3) and product.tolist() == [[0, 2, 4], [6, 8, 10]]
    with raises(diptych.ArgumentError, "read-only"):
        diptych.add(x, 1, out=memoryview(bytes(12)).cast("f"))
    with raises(diptych.DtypeError, "uint8"):
        diptych.square(b"abc")
    result = diptych.add(memoryview(array.array("f", [])), 1)
    assert result.tolist() == []


def test_buffers_need_no_numpy():
    code = (
        "import array, sys, diptych; x = array.array('d', [1, 2]);"
        "assert diptych.add(x, x).tolist() == [2, 4];"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_numpy_imported_after_the_first_call():
    code = (
        "import array, diptych; x = array.array('d', [1, 2]); diptych.add(x, x);"
        "import numpy as np; assert type(diptych.add(np.ones(2), 1)) is np.ndarray;"
        "assert type(diptych.add(np.ones(2, 'f'), np.float32(1))) is np.ndarray"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_array_interface(dtype):
    base = np.arange(12, dtype=dtype).reshape(3, 4)[:, ::2]
    result = diptych.add(Interface(base), 1)
    np.testing.assert_array_equal(result, base + 1)
    out = np.zeros_like(base)
    wrapped = Interface(out)
    assert diptych.add(base, 1, out=wrapped) is wrapped
    np.testing.assert_array_equal(out, base + 1)
    base.flags.writeable = False
    with raises(diptych.ArgumentError, "read-only"):
        diptych.fill(Interface(base), 0)


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(dtype, versioned):
    base = np.arange(12, dtype=dtype).reshape(3, 4).T
    result = diptych.add(Dlpack(base, versioned), 1)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, base + 1)
    assert diptych.square(Dlpack(np.array(3, dtype), versioned)) == 9
    out = np.zeros_like(base)
    if versioned:
        diptych.add(base, 1, out=Dlpack(out))
        np.testing.assert_array_equal(out, base + 1)
        out.flags.writeable = False
    with raises(diptych.ArgumentError, "read-only"):
        diptych.add(base, 1, out=Dlpack(out, versioned))


def test_cuda_memory():
    class Cuda:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (0, False), "version": 3}

    with raises(diptych.ArgumentError, "add: y is in CUDA memory"):
        diptych.add(np.ones(3, np.float32), Cuda())


def test_no_reference_is_lost(dtype):
    x = np.ones(5, dtype)
    others = [x, Interface(x), Dlpack(x), Dlpack(x, False), memoryview(x), x.view(np.recarray)]
    bad = ["abc", np.ones(4, dtype), np.ones(5, bool)]

    def calls():
        for other in others:
            diptych.add(other, 1)
            diptych.add(x, 1, out=x)
            diptych.mse_grad(other, other)
            for wrong in bad:
                with pytest.raises(diptych.Error):
                    diptych.add(other, wrong)

    calls()
    counted = [*others, *bad, np.dtype(dtype), diptych.add, None]
    before = [sys.getrefcount(each) for each in counted]
    for _ in range(100):
        calls()
    after = [sys.getrefcount(each) for each in counted]
    assert all(b - a < 50 for a, b in zip(before, after)), (before, after)


def test_memory_of_the_package_is_freed():
    resource = pytest.importorskip("resource")
    x = array.array("d", bytes(8 << 20))
    diptych.square(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(50):
        diptych.square(x)
        diptych.square(Dlpack(np.frombuffer(x)))
        diptych.square(np.frombuffer(x))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + (100 << 10)


torch = pytest.importorskip("torch")


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
        with pytest.raises(RuntimeError):
            diptych.square(tensor)
    if torch.cuda.is_available():
        with raises(diptych.ArgumentError, "x is in CUDA memory"):
            diptych.square(torch.ones(3, device="cuda"))


def test_no_tensor_is_lost():
    x = torch.ones(4)
    before = sys.getrefcount(x)
    for _ in range(100):
        diptych.add(x, x)
        diptych.add(x, 1, out=x)
        with pytest.raises(diptych.ShapeError):
            diptych.add(x, torch.ones(3))
    assert sys.getrefcount(x) == before
