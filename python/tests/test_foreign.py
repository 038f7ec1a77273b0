"""Arguments that are not NumPy arrays: buffers, DLPack, array interfaces."""

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


def test_cuda_memory_beside_host_memory():
    class Cuda:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (64, False), "version": 3}

    with raises(diptych.ArgumentError, "add: arrays must all be in CUDA memory, or none of them") as caught:
        diptych.add(np.ones(3, np.float32), Cuda())
    assert "x in CPU memory, y in CUDA memory" in str(caught.value)


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


class Malformed:
    """An object whose attributes are not what they must be."""

    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


@pytest.mark.parametrize("changes, text", (
    (None, "cannot be read: TypeError: "),
    ({"shape": ("a", "b")}, "cannot be read: TypeError: "),
    ({"shape": 5}, "cannot be read: TypeError: "),
    ({"typestr": 4}, "cannot be read: TypeError: "),
    ({"strides": "no"}, "cannot be read: TypeError: "),
    ({"strides": (4,)}, "x has 2 axes and 1 strides"),
    ({"typestr": "<q9"}, "x has elements of type '<q9'"),
    ({"shape": (1,) * 70, "strides": None}, "x has 70 axes"),
))
@pytest.mark.parametrize("attribute", ("__array_interface__", "__cuda_array_interface__"))
def test_malformed_interfaces(attribute, changes, text):
    own = {"shape": (2, 3), "typestr": "<f4", "data": (0x1000, True), "strides": (12, 4), "version": 3}
    interface = {**own, **changes} if changes else None
    with pytest.raises(diptych.Error, match="square: ") as caught:
        diptych.square(Malformed(**{attribute: interface}))
    assert text in str(caught.value)
    if "cannot be read" in text:
        assert f"{attribute} of x {text}" in str(caught.value)


def test_malformed_dlpack():
    with raises(diptych.DtypeError, "square: __dlpack_device__ of x cannot be read: "):
        diptych.square(Malformed(__dlpack__=lambda **options: None, __dlpack_device__=lambda: "cpu"))
    with raises(diptych.DtypeError, "square: __dlpack__ of x cannot be read: "):
        diptych.square(Malformed(__dlpack__=lambda **options: 5, __dlpack_device__=lambda: (1, 0)))
