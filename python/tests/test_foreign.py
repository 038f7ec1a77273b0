"""Arguments that are not NumPy arrays: buffers, DLPack, array interfaces."""

import array
import inspect
import itertools
import re
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
    with raises(diptych.DtypeError, "int16"):
        diptych.square(array.array("h", [1, 2]))
    assert diptych.square(b"\1\2\20").tolist() == [1, 4, 0]
    result = diptych.add(memoryview(array.array("f", [])), 1)
    assert result.tolist() == []


FORMATS = dict(
    int8="b", int16="h", int32="i", int64="q", uint8="B", uint16="H", uint32="I", uint64="Q",
    float16="e", float32="f", float64="d", bfloat16=None,
)
EDGES = {"int8": -(1 << 7), "int16": -(1 << 15), "int32": -(1 << 31), "int64": -(1 << 63), "uint64": 0xFFFF_FFFF_FFFF_F800}


def numbers(dtype):
    """Three numbers that a type has, one of them at the end of its range."""
    return [1, 2, EDGES.get(dtype, 0xFF if dtype == "uint8" else 3)]


class Lent:
    """An object with nothing but `__dlpack__`, of a module from which no `from_dlpack` can be imported."""

    __module__ = "nowhere"

    def __init__(self, base):
        self.__dlpack__, self.__dlpack_device__ = base.__dlpack__, base.__dlpack_device__


def shaped(values, shape):
    return memoryview(array.array("d", values)).cast("B").cast("d", shape)


@pytest.mark.parametrize("dtype", FORMATS)
def test_results_without_a_framework(dtype):
    """In every type, 0-d too; and back again, as an argument."""
    values = numbers(dtype)
    for source in (Lent(np.array(values, float)), array.array("d", values)):
        result = diptych.astype(source, dtype)
        assert result.tolist() == values and len(result) == 3 and result.shape == (3,)
        if FORMATS[dtype]:
            view = memoryview(result)
            assert view.format == FORMATS[dtype] and view.nbytes == 3 * view.itemsize
            assert np.asarray(result).tolist() == values
        assert diptych.astype(result, "float64").tolist() == values
    for value in values:
        single = diptych.astype(shaped([value], ()), dtype)
        assert single == value and type(single) is (float if "float" in dtype else int)
    matrix = diptych.astype(shaped([*values, *values], (2, 3)), dtype)
    assert matrix.tolist() == [values, values] and matrix.shape == (2, 3)
    joined = diptych.concatenate([result, result])
    assert joined.tolist() == values * 2
    assert diptych.concatenate([matrix, matrix], axis=1).tolist() == [values * 2, values * 2]
    assert diptych.astype(joined, dtype).tolist() == joined.tolist()
    empty = diptych.astype(array.array("d", []), dtype)
    assert empty.tolist() == [] and len(empty) == 0 and empty.shape == (0,)


def test_bools_without_a_framework():
    values = [True, False, True]
    result = diptych.astype(array.array("d", [1, 0, 0.5]), "bool")
    assert result.tolist() == values and memoryview(result).format == "?"
    assert diptych.astype(shaped([2], ()), "bool") is True and diptych.astype(shaped([0], ()), "bool") is False
    assert diptych.astype(result, "float64").tolist() == [1, 0, 1]


@pytest.mark.parametrize("source, dtype", list(itertools.product(FORMATS, FORMATS)))
def test_conversions_without_a_framework(source, dtype):
    values = [1, 2, 100]
    result = diptych.astype(diptych.astype(array.array("d", values), source), dtype)
    assert result.tolist() == values
    assert diptych.concatenate([result], dtype=source).tolist() == values


REDUCTIONS = "sum mean prod min max sumsq asum nrm2 logsumexp count_nonzero argmin argmax var std".split()
ROW_MAPS = ["normalize"]
CALLS = [
    *(f"{name}(x, y)" for name in "add subtract multiply divide minimum maximum".split()),
    *(f"{name}(x)" for name in ["square", "abs", "negative", *REDUCTIONS, *ROW_MAPS]),
    *(f"{name}(x, axis={axis}, keepdims={axis != 1})" for name in REDUCTIONS for axis in (0, 1)),
    *(f"{name}(x, axis=1)" for name in ROW_MAPS),
    *("scale(x, 3)", "clip(x, 2, u)", "clip_backward(x, y, 1, 3)", "axpy(2, x, y)", "fill(x, 7)"),
    *("outer(u, u)", "ger(2, u, u, x)", "vecdot(x, y)", "dot(u, u)", "dot(x, u)", "matmul(x, y)", "gemm(x, y)", "matmul(x, diptych.pack(y))"),
    *("mse_grad(x, y)", "lsq_grad(x, u, u)", "astype(x, 'int16')", "concatenate([x, y], axis=1)", "concatenate([x, u], axis=None)"),
]


def plain(result):
    return [plain(part) for part in result] if isinstance(result, tuple) else getattr(result, "tolist", lambda: result)()


@pytest.mark.parametrize("call", CALLS)
def test_every_function_takes_results_without_a_framework(call, dtype):
    """And makes the same of them as of NumPy's arrays."""
    values = dict(x=[[1, 2], [3, 4]], y=[[5, -1], [2, 2]], u=[3, 2])
    expected = plain(eval(f"diptych.{call}", {"diptych": diptych, **{n: np.array(v, dtype) for n, v in values.items()}}))
    buffers = {n: shaped(np.ravel(v), np.shape(v)) for n, v in values.items()}
    buffers = {n: diptych.astype(v, dtype) for n, v in buffers.items()}
    lent = {n: diptych.astype(Lent(np.array(v, float)), dtype) for n, v in values.items()}
    assert type(buffers["x"]) is memoryview and type(lent["x"]) is diptych._native.Memory
    for arguments in (buffers, lent):
        assert plain(eval(f"diptych.{call}", {"diptych": diptych, **arguments})) == expected


def test_every_function_is_called():
    functions = {n for n in diptych.__all__ if inspect.isbuiltin(getattr(diptych, n))}
    others = {"cpu_level", "fingerprint", "force_cpu_level", "get_threads", "set_threads"}
    called = set(re.findall(r"\w+(?=\()", " ".join(CALLS)))
    assert called == functions - others


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_results_of_16_bits_without_a_framework(dtype):
    x = diptych.astype(shaped([1, 2, 3, 4], (2, 2)), dtype)
    y = diptych.add(x, x)
    assert y.tolist() == [[2, 4], [6, 8]] and y.shape == (2, 2) and y.dtype == dtype
    for name, value in (("subtract", 3), ("multiply", 18), ("divide", 2), ("minimum", 3), ("maximum", 6)):
        assert getattr(diptych, name)(y, x).tolist()[1][0] == value
    assert diptych.clip(diptych.square(y), 5, 40).tolist() == [[5, 16], [36, 40]]
    assert float(diptych.sum(y)) == 20 and float(diptych.mean(y)) == 5
    assert diptych.sum(y, axis=0).tolist() == [8, 12] and diptych.sum(y, axis=1, keepdims=True).tolist() == [[6], [14]]
    assert diptych.negative(x, out=y) is y and y.tolist() == [[-1, -2], [-3, -4]]


def test_joined_bytes():
    result = diptych.concatenate([b"ab", b"cd", bytearray(b"e")])
    assert bytes(result) == b"abcde" and result.format == "B"
    assert diptych.concatenate([b"ab", b"cd"], dtype="float32").tolist() == [97, 98, 99, 100]


def test_objects_of_no_module():
    """Where no package makes an array of a result, it is one of Diptych's."""
    x = Lent(np.array([[1, 2], [3, 4]], np.float32))
    result = diptych.add(x, 1)
    assert result.tolist() == [[2, 3], [4, 5]] and len(result) == 2
    assert result.shape == (2, 2) and result.dtype == "float32"
    assert repr(result) == "diptych.Memory([[2.0, 3.0], [4.0, 5.0]], dtype=float32)"
    assert np.asarray(result).tolist() == np.from_dlpack(result).tolist() == [[2, 3], [4, 5]]
    total = diptych.sum(x)
    assert float(total) == 10 and int(total) == 10 and total.tolist() == 10 and total.shape == () and total
    assert not diptych.sum(Lent(np.zeros(3, np.float32)))
    assert float(diptych.sum(x, axis=(0, 1), keepdims=True)) == 10
    for convert in (float, int, bool):
        with raises(diptych.DtypeError, "an array of the shape (2, 2) is not one number"):
            convert(result)
    with raises(diptych.DtypeError, "an array without axes has no length"):
        len(total)
    index = diptych.argmax(x, axis=1)
    assert index.tolist() == [1, 1] and index.dtype == "int64"
    assert int(diptych.astype(Lent(np.array(-3.0)), "int16")) == -3


def test_dlpack_where_the_buffer_protocol_refuses():
    """As JAX's arrays of bfloat16."""
    memory = diptych.astype(array.array("d", [1, 2, 3]), "bfloat16")
    with pytest.raises(BufferError):
        memoryview(memory)
    assert diptych.add(memory, 1).tolist() == [2, 3, 4]
    assert diptych.add(memory, 1, out=memory) is memory and memory.tolist() == [2, 3, 4]


def test_errors_of_buffers():
    view = memoryview(array.array("f", [1]))
    view.release()
    with raises(diptych.ArgumentError, "square: x cannot be read: operation forbidden on released memoryview") as caught:
        diptych.square(view)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("error", (BufferError, RuntimeError, ValueError, AttributeError, NotImplementedError))
@pytest.mark.parametrize("attribute", ("__dlpack__", "__dlpack_device__", "__array_interface__", "__cuda_array_interface__"))
@pytest.mark.parametrize("called", (True, False))
def test_errors_of_objects(error, attribute, called):
    """What an object raises while it is read becomes an error of the package, with it as the cause or in the text."""

    def fail(*args, **options):
        raise error("first line\nsecond line")

    class Failing:
        if attribute == "__dlpack_device__":
            __dlpack__ = np.ones(3).__dlpack__

    if error is AttributeError and not called:
        return  # The object does not have the attribute then.
    setattr(Failing, attribute, fail if called else property(fail))
    with pytest.raises(diptych.Error, match=r"^add: .*\by\b") as caught:
        diptych.add(np.ones(3), Failing())
    assert "cannot be read" in str(caught.value)
    if "dlpack" in attribute:
        assert isinstance(caught.value.__cause__, error) and "second line" not in str(caught.value)


@pytest.mark.parametrize("error", (MemoryError, KeyboardInterrupt))
def test_errors_that_stay(error):
    def fail(**options):
        raise error

    with pytest.raises(error):
        diptych.square(Malformed(__dlpack__=fail))


def test_errors_of_from_dlpack():
    class Namespace:
        def from_dlpack(self):
            raise RuntimeError("no such type")

    class Refused(Dlpack):
        def __array_namespace__(self):
            return Namespace

    with raises(diptych.Error, "does not take the result: no such type") as caught:
        diptych.square(Refused(np.ones(3)))
    assert isinstance(caught.value.__cause__, RuntimeError)


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
