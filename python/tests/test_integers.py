"""Elementwise functions and reductions of integers, against NumPy."""

import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import diptych
from conftest import raises
from strategies import broadcastable, restride

TYPES = ("int8", "uint8", "int32", "int64")

UNARY = {"square": np.square, "abs": np.abs, "negative": np.negative}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
}
TOTALS = {
    "sum": np.sum,
    "prod": np.prod,
    "sumsq": lambda x, axis, keepdims: np.sum(x * x, axis, keepdims=keepdims),
    "asum": lambda x, axis, keepdims: np.sum(np.abs(x), axis, keepdims=keepdims),
}
EXTREMES = {"min": np.min, "max": np.max}
PLACES = {"argmin": np.argmin, "argmax": np.argmax}


def elements(dtype):
    """Any of a type; often few, or those at its ends."""
    limits = np.iinfo(dtype)
    few = st.integers(max(limits.min, -2), 2)
    return st.one_of(few, st.integers(limits.min, limits.max), st.sampled_from([int(limits.min), int(limits.max)]))


def same(ours, expected):
    expected = np.asarray(expected)[()]
    assert type(ours) is type(expected) and ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)


@pytest.fixture(params=TYPES)
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(autouse=True)
def overflow():
    """NumPy warns of numbers that overflow."""
    with np.errstate(over="ignore"):
        yield


@given(data=st.data(), dtype=st.sampled_from(TYPES), name=st.sampled_from([*UNARY]))
def test_unary(data, dtype, name):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    x = restride(data.draw(hnp.arrays(dtype, shape, elements=elements(dtype))), data.draw)
    with np.errstate(over="ignore"):
        expected = UNARY[name](x)
    same(getattr(diptych, name)(x), expected)
    assert getattr(diptych, name)(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@given(data=st.data(), dtype=st.sampled_from(TYPES), name=st.sampled_from([*BINARY]))
def test_binary(data, dtype, name):
    x, y = data.draw(broadcastable(np.dtype(dtype), 2, elements(dtype)))
    with np.errstate(over="ignore"):
        expected = BINARY[name](x, y)
        same(getattr(diptych, name)(x, y), expected)
        number = data.draw(elements(dtype))
        same(getattr(diptych, name)(x, number), BINARY[name](x, np.dtype(dtype).type(number)))
        same(getattr(diptych, name)(np.dtype(dtype).type(number), x), BINARY[name](np.dtype(dtype).type(number), x))
    out = restride(np.full(np.shape(expected), 7, dtype), data.draw)
    assert getattr(diptych, name)(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)


@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_scalars(data, dtype):
    x, y, lo, hi = data.draw(broadcastable(np.dtype(dtype), 4, elements(dtype)))
    full = np.broadcast_shapes(x.shape, y.shape, lo.shape, hi.shape)
    same(diptych.clip(x, lo, hi), np.minimum(np.maximum(x, lo), hi))
    same(diptych.clip(x, None, hi), np.minimum(x, hi))
    same(diptych.clip(x, lo), np.maximum(x, lo))
    inside = (lo <= x) & (x <= hi)
    zero = np.zeros((), dtype)
    same(diptych.clip_backward(x, y, lo, hi), np.where(inside, y, zero))
    number = data.draw(elements(dtype))
    with np.errstate(over="ignore"):
        same(diptych.scale(x, number), x * np.dtype(dtype).type(number))
        out = np.broadcast_to(y, full).copy()
        expected = np.asarray(np.dtype(dtype).type(number) * x + out, dtype)
        assert diptych.axpy(number, x, out) is out
        np.testing.assert_array_equal(out, expected)
    assert diptych.fill(out, number) is out
    assert (out == np.dtype(dtype).type(number)).all()


@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_reductions(data, dtype):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=7))
    x = restride(data.draw(hnp.arrays(dtype, shape, elements=elements(dtype))), data.draw)
    axes = data.draw(st.one_of(st.none(), st.sets(st.integers(0, max(x.ndim - 1, 0)), max_size=x.ndim).map(tuple)))
    keepdims = data.draw(st.booleans())
    wide = x.astype(np.int64)
    with np.errstate(over="ignore"):
        for name, of_numpy in TOTALS.items():
            expected = np.asarray(of_numpy(wide, axis=axes, keepdims=keepdims))
            ours = getattr(diptych, name)(x, axis=axes, keepdims=keepdims)
            same(ours, expected)
            for result in {dtype, "int32", "int64"}:
                out = restride(np.full(expected.shape, 7, result), data.draw)
                assert getattr(diptych, name)(x, axis=axes, keepdims=keepdims, out=out) is out
                np.testing.assert_array_equal(out, expected.astype(result))
    for name, of_numpy in EXTREMES.items():
        same(getattr(diptych, name)(x, axis=axes, keepdims=keepdims), of_numpy(x, axis=axes, keepdims=keepdims))
    counts = np.count_nonzero(wide, axis=axes, keepdims=keepdims)
    same(diptych.count_nonzero(x, axis=axes, keepdims=keepdims), np.asarray(counts, np.int64))
    for name, of_numpy in PLACES.items():
        same(getattr(diptych, name)(x), np.int64(of_numpy(x)))
        for axis in range(x.ndim):
            same(getattr(diptych, name)(x, axis=axis), np.asarray(of_numpy(x, axis=axis), np.int64))


@given(data=st.data(), dtype=st.sampled_from(TYPES))
def test_outer_products(data, dtype):
    vector = hnp.arrays(dtype, st.integers(0, 40), elements=elements(dtype))
    x, y = (restride(data.draw(vector), data.draw) for _ in range(2))
    with np.errstate(over="ignore"):
        product = np.multiply.outer(x, y)
        same(diptych.outer(x, y), product)
        out = restride(np.full(product.shape, 7, dtype), data.draw)
        assert diptych.outer(x, y, out=out) is out
        np.testing.assert_array_equal(out, product)
        alpha = data.draw(elements(dtype))
        if int(float(alpha)) != alpha:
            # To 53 bits, which float64 has.
            alpha = alpha >> 11 << 11
        expected = np.asarray(out + np.dtype(dtype).type(alpha) * product, dtype)
        assert diptych.ger(alpha, x, y, out) is out
        np.testing.assert_array_equal(out, expected)


def test_factors_of_ger(dtype):
    x, a, limits = np.ones(3, dtype), np.zeros((3, 3), dtype), np.iinfo(dtype)
    for alpha in (int(limits.min) - 1, int(limits.max) + 1):
        with pytest.raises(ValueError):
            diptych.ger(alpha, x, x, a)
    with raises(diptych.DtypeError, f"ger: alpha is a float, and the arrays are of type {dtype}"):
        diptych.ger(0.5, x, x, a)
    with raises(diptych.DtypeError, "ger: alpha must be an integer, not str"):
        diptych.ger("1", x, x, a)
    assert not a.any()
    same(diptych.ger(np.int64(limits.min), x, x, a), np.full((3, 3), limits.min, dtype))
    if dtype == np.int64:
        for alpha in (2**53 + 1, 2**63 - 1):
            with raises(diptych.ArgumentError, f"ger: alpha is {alpha}, which float64 does not hold exactly"):
                diptych.ger(alpha, x, x, a)


@pytest.mark.parametrize("shape", [(100_003,), (300, 1000), (1000, 300), (70_000, 3), (3, 70_000), (40, 50, 60)])
def test_large(dtype, shape):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(sum(shape))
    x = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    for level in (None, "portable"):
        diptych.force_cpu_level(level)
        for y in (x, np.asfortranarray(x), x[::-1, ...]):
            for axis in (None, *range(y.ndim)):
                same(diptych.sum(y, axis=axis), np.sum(y, axis, dtype=np.int64))
                same(diptych.max(y, axis=axis), np.max(y, axis))
                same(diptych.argmin(y, axis=axis), np.asarray(np.argmin(y, axis), np.int64))
            same(diptych.add(y, x), y + x)
            with diptych.threads(2):
                same(diptych.multiply(y, x), y * x)
                same(diptych.sum(y, axis=0), np.sum(y, 0, dtype=np.int64))


def test_types_of_results():
    x = np.array([200, 100], np.uint8)
    # NumPy's is uint64.
    same(diptych.sum(x), np.int64(300))
    out = np.zeros((), np.uint8)
    assert diptych.sum(x, out=out) == 44
    assert diptych.min(x).dtype == np.uint8 and diptych.argmax(x).dtype == np.int64
    for name in TOTALS:
        for wrong in ("int8", "uint32", "float64"):
            with raises(diptych.DtypeError, f"{name}: out has the type {wrong}, the result int64"):
                getattr(diptych, name)(x, out=np.zeros((), wrong))
    with raises(diptych.DtypeError, "max: out has the type int64, the result uint8"):
        diptych.max(x, out=np.zeros((), np.int64))


def test_numbers_out_of_bounds(dtype):
    x, limits = np.ones(3, dtype), np.iinfo(dtype)
    for number in (int(limits.min) - 1, int(limits.max) + 1):
        for call in (
            lambda: diptych.add(x, number),
            lambda: diptych.clip(x, 0, number),
            lambda: diptych.fill(x, number),
            lambda: diptych.axpy(number, x, np.ones(3, dtype)),
        ):
            with pytest.raises(ValueError):
                call()
    same(diptych.add(x, int(limits.max)), np.full(3, limits.min, dtype))
    with raises(diptych.ArgumentError, "add: y is 300, which is out of bounds for int8"):
        diptych.add(np.ones(3, np.int8), 300)
    with raises(diptych.DtypeError, "add: y is a float, and the arrays are of type int8"):
        diptych.add(np.ones(3, np.int8), 0.5)
    np.testing.assert_array_equal(x, 1)


def test_refused(dtype):
    x = np.ones((2, 3), dtype)
    with raises(diptych.DtypeError, f"divide: arrays of type {dtype} are not supported"):
        diptych.divide(x, x)
    for name in ("mean", "var", "std", "nrm2", "logsumexp"):
        with raises(diptych.DtypeError, f"{name}: arrays of type {dtype} are not supported"):
            getattr(diptych, name)(x)
    with raises(diptych.DtypeError, f"add: x has the type {dtype}, y has float64"):
        diptych.add(x, np.ones(3))
    for other in ("int16", "uint16", "uint32", "uint64"):
        y = np.ones(3, other)
        for call in (lambda: diptych.add(y, y), lambda: diptych.sum(y), lambda: diptych.max(y)):
            with raises(diptych.DtypeError, f"arrays of type {other} are not supported; diptych.astype"):
                call()
    for name in ("min", "max", "argmin", "argmax"):
        with raises(diptych.ShapeError, "of no elements"):
            getattr(diptych, name)(x[:0])
    for name, value in (("sum", 0), ("prod", 1), ("sumsq", 0), ("asum", 0), ("count_nonzero", 0)):
        same(getattr(diptych, name)(x[:0]), np.int64(value))


def test_other_arrays():
    x = array.array("i", [3, -4, 5])
    assert diptych.sum(x) == 4 and diptych.argmin(x) == 1 and diptych.max(x) == 5
    assert diptych.add(x, 1).tolist() == [4, -3, 6]


def test_torch():
    torch = pytest.importorskip("torch")
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        x = torch.arange(-6, 6).reshape(3, 4).to(dtype)
        assert torch.equal(diptych.add(x, x.flip(0)), x + x.flip(0))
        assert torch.equal(diptych.clip(x, 1, 3), x.clamp(1, 3))
        assert torch.equal(diptych.negative(x.T), -x.T)
        total = diptych.sum(x, axis=0)
        assert total.dtype is torch.int64 and torch.equal(total, x.sum(0))
        assert torch.equal(diptych.min(x, axis=1), x.amin(1))
        assert torch.equal(diptych.argmax(x, axis=1), x.argmax(1))
        assert diptych.count_nonzero(x) == 11
