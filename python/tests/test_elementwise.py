"""Elementwise functions beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diptych
from conftest import FLOATS, raises
from strategies import arrays, broadcastable, restride, values

BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
}
UNARY = {"square": np.square, "abs": np.abs, "negative": np.negative}
DTYPES = st.sampled_from([np.dtype(name) for name in FLOATS])


def strides(array):
    """The strides that matter: none of axes without a second element."""
    return [step for step, size in zip(array.strides, array.shape) if size > 1 and array.size > 0]


def same(ours, theirs):
    """Equal bits, except that a NaN equals a NaN, and +0 equals -0 where NumPy does not order them."""
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data(), dtype=DTYPES)
def test_binary(name, data, dtype):
    x, y = data.draw(broadcastable(dtype, 2))
    with np.errstate(all="ignore"):
        expected = BINARY[name](x, y)
    ours = getattr(diptych, name)
    same(ours(x, y), expected)
    assert strides(ours(x, y)) == strides(expected)
    out = restride(np.full(expected.shape, 7, dtype), data.draw)
    assert ours(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data(), dtype=DTYPES)
def test_unary(name, data, dtype):
    x = data.draw(arrays(dtype))
    with np.errstate(all="ignore"):
        expected = UNARY[name](x)
    same(getattr(diptych, name)(x), expected)
    assert strides(getattr(diptych, name)(x)) == strides(expected)
    if x.flags.writeable:
        copy = x.copy()
        assert getattr(diptych, name)(copy, out=copy) is copy
        np.testing.assert_array_equal(copy, expected)


@given(data=st.data(), dtype=DTYPES)
def test_clip(data, dtype):
    x, lo, hi = data.draw(broadcastable(dtype, 3))
    x = np.broadcast_to(x, np.broadcast_shapes(x.shape, lo.shape, hi.shape))
    with np.errstate(all="ignore"):
        same(diptych.clip(x, lo, hi), np.clip(x, lo, hi)[()])
        same(diptych.clip(x, max=hi), np.minimum(x, hi)[()])
        same(diptych.clip(x, lo), np.maximum(x, lo)[()])
    same(diptych.clip(x), x.copy()[()])


@given(data=st.data(), dtype=DTYPES)
def test_clip_backward(data, dtype):
    x, grad = data.draw(broadcastable(dtype, 2))
    lo, hi = -1.0, 1.0
    with np.errstate(invalid="ignore"):
        expected = np.where((x >= lo) & (x <= hi), grad, dtype.type(0))
    same(diptych.clip_backward(x, grad, lo, hi), expected[()])


@given(data=st.data(), dtype=DTYPES)
def test_numbers_take_the_type_of_the_arrays(data, dtype):
    x = data.draw(arrays(dtype))
    number = data.draw(st.one_of(st.integers(-9, 9), values(dtype).map(float), st.booleans()))
    with np.errstate(all="ignore"):
        same(diptych.add(x, number), np.add(x, dtype.type(number)))
        same(diptych.subtract(number, x), np.subtract(dtype.type(number), x))
        same(diptych.scale(x, number), np.multiply(x, dtype.type(number)))
        same(diptych.multiply(x, np.float64(0.1)), np.multiply(x, dtype.type(0.1)))


def test_axpy(dtype):
    x, y = np.arange(4, dtype=dtype), np.ones((3, 4), dtype)
    expected = y + 2 * x
    assert diptych.axpy(2, x, y) is y
    np.testing.assert_array_equal(y, expected)


def test_fill(dtype):
    x = np.zeros((3, 4), dtype)
    assert diptych.fill(x[:, ::2], 1.5).base is x
    np.testing.assert_array_equal(x, [[1.5, 0, 1.5, 0]] * 3)


def test_float16():
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((3, 5)).astype(np.float16) for _ in range(2))
    for name in ("add", "subtract", "multiply", "divide"):
        same(getattr(diptych, name)(x, y), BINARY[name](x, y))
    same(diptych.add(x, 1 + 2**-11 + 2**-30), np.add(x, np.float16(1 + 2**-11 + 2**-30)))


def test_zero_axes_give_scalars(dtype):
    result = diptych.add(np.array(1, dtype), 2)
    assert type(result) is dtype.type and result == 3


def test_large_arrays_with_threads(dtype):
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(3_000_017).astype(dtype) for _ in range(2))
    expected = x * y
    for threads in (1, 2, 3):
        with diptych.threads(threads):
            np.testing.assert_array_equal(diptych.multiply(x, y), expected)


def test_refused_shapes(dtype):
    x, y = np.ones((2, 3), dtype), np.ones(4, dtype)
    with raises(diptych.ShapeError, "add: the shapes do not fit each other: x (2, 3), y (4,)"):
        diptych.add(x, y)
    with raises(diptych.ShapeError, "add: out has the shape (4,), the result (2, 3)"):
        diptych.add(x, x, out=y)
    with raises(diptych.ShapeError, "out has the shape (2, 2, 3), the result (2, 3)"):
        diptych.add(x, x, out=np.ones((2, 2, 3), dtype))
    with raises(diptych.ShapeError, "x (2, 3), y (4,)"):
        diptych.add(x, y, out=x)
    with raises(diptych.ShapeError):
        diptych.axpy(1, x, y)
    assert (x == 1).all() and (y == 1).all()


def test_refused_types():
    x = np.ones(3, np.float32)
    for bad, text in [
        (np.ones(3), "x has the type float32, y has float64"),
        (np.ones(3, ">f4"), "y is an array of type >f4: its byte order is not the machine's"),
        (np.array([None] * 3), "y is an array of type object"),
        (np.ones(3, np.longdouble), "y is an array of type float128"),
        (np.array(["a"]), "y is an array of type <U1"),
        ([1, 2, 3], "y is a list, not an array"),
        ("abc", "y is a str, not an array"),
        (None, "y is a NoneType, not an array"),
        (np.ma.masked_array([1.0, 2, 3]), "y is a masked array"),
    ]:
        with raises(diptych.DtypeError, text):
            diptych.add(x, bad)
        with pytest.raises(TypeError):
            diptych.add(x, bad)
    with raises(diptych.DtypeError, "add: x is a number, not an array"):
        diptych.add(1, 2)
    for number in (np.complex64(1), np.complex128(1)):
        with raises(diptych.DtypeError, "add: y must be a real number, not a complex one"):
            diptych.add(x, number)
    with raises(diptych.DtypeError, "add: y must be a number, not str_"):
        diptych.add(x, np.str_("1"))
    with raises(diptych.DtypeError, "fill: value must be an integer, not float32"):
        diptych.fill(np.arange(3), np.float32(1))
    with raises(diptych.DtypeError, "out has the type float64"):
        diptych.add(x, x, out=np.ones(3))
    with raises(diptych.DtypeError, "out must be an array"):
        diptych.add(x, x, out=1)
    with raises(diptych.DtypeError, "divide: arrays of type int64 are not supported"):
        diptych.divide(np.arange(3), np.arange(3))


def test_refused_memory():
    x = np.arange(8, dtype=np.float32)
    with raises(diptych.ArgumentError, "out is read-only"):
        diptych.add(x, x, out=np.frombuffer(bytes(32), np.float32))
    with raises(diptych.ArgumentError, "overlaps"):
        diptych.add(x[:4], x[4:], out=x[2:6])
    with raises(diptych.ArgumentError, "overlaps"):
        diptych.fill(np.lib.stride_tricks.as_strided(x, (4,), (0,)), 1)
    records = np.zeros(3, [("a", np.int8), ("b", np.float32)])
    with raises(diptych.ArgumentError, "strides of x are not multiples"):
        diptych.square(records["b"])
    misaligned = np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32)
    with raises(diptych.ArgumentError, "aligned"):
        diptych.square(misaligned)
    np.testing.assert_array_equal(x, np.arange(8))


def test_refused_calls():
    x = np.ones(3)
    for call in (
        lambda: diptych.add(x),
        lambda: diptych.add(x, x, x),
        lambda: diptych.add(x, x, y=x),
        lambda: diptych.add(x, x, where=True),
    ):
        with pytest.raises(TypeError, match=r"add\(\)"):
            call()
    np.testing.assert_array_equal(diptych.add(y=x, x=x), 2 * x)
    keyword = "".join(["o", "ut"])
    assert diptych.add(x, x, **{keyword: x}) is x


def test_subclasses_and_rows_of_other_memory(tmp_path):
    x = np.memmap(tmp_path / "x", np.float32, "w+", shape=(3,))
    x[:] = [1, 2, 3]
    np.testing.assert_array_equal(diptych.square(x), [1, 4, 9])
    diptych.square(x, out=x)
    np.testing.assert_array_equal(x, [1, 4, 9])
    readonly = np.memmap(tmp_path / "x", np.float32, "r", shape=(3,))
    with raises(diptych.ArgumentError, "read-only"):
        diptych.square(x, out=readonly)


@pytest.mark.parametrize("size", [1, 7, 127, 128, 129, 255, 256, 257, 5000])
def test_numbers_beside_arrays_of_all_lengths(dtype, size):
    x = np.arange(size, dtype=dtype)
    for shape in [(size,), (1, size), (size, 1)]:
        x = x.reshape(shape)
        same(diptych.subtract(x, 1.5), x - dtype.type(1.5))
        same(diptych.divide(1.5, x + 1), dtype.type(1.5) / (x + 1))
        np.testing.assert_array_equal(diptych.axpy(0.5, 2, x.copy()), x + 1)
        inside = x.copy()
        with raises(diptych.ArgumentError, "overlaps"):
            if size == 1:
                inside = np.ones(2, dtype)
            diptych.subtract(inside, inside.reshape(-1)[-1:].reshape(()), out=inside)


@pytest.mark.parametrize("call", ("add(x, n)", "scale(x, n)", "clip(x, n)", "fill(x, n)", "axpy(n, x, x)", "gemm(m, m, alpha=n)", "ger(n, x, x, m)"))
def test_numbers_too_large_for_a_float(call, dtype):
    names = dict(diptych=diptych, x=np.ones(3, dtype), m=np.ones((3, 3), dtype), n=10**400)
    with raises(diptych.ArgumentError, "too large") as caught:
        eval(f"diptych.{call}", names)
    assert isinstance(caught.value.__cause__, OverflowError) and str(caught.value).startswith(call.split("(")[0])
