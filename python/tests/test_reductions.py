"""Reductions beside NumPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diptych
from conftest import FLOATS, raises
from strategies import arrays, finite

DTYPES = st.sampled_from([np.dtype(name) for name in FLOATS])


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x.astype(np.float64)), axis=axis, keepdims=keepdims))


CLOSE = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "var": np.var,
    "std": np.std,
    "sumsq": lambda x, **how: np.sum(np.square(x), **how),
    "asum": lambda x, **how: np.sum(np.abs(x), **how),
    "nrm2": lambda x, **how: np.sqrt(np.sum(np.square(x), **how)),
    "logsumexp": logsumexp,
}
EXACT = {
    "min": np.min,
    "max": np.max,
    "argmin": np.argmin,
    "argmax": np.argmax,
    "count_nonzero": np.count_nonzero,
}
OF_NOTHING = {"sum": 0, "prod": 1, "sumsq": 0, "asum": 0, "nrm2": 0, "logsumexp": -math.inf, "count_nonzero": 0}


def some_axes(data, x, single=False):
    one = st.integers(-x.ndim, x.ndim - 1)
    if x.ndim == 0:
        return None
    if single:
        return data.draw(st.one_of(st.none(), one))
    several = st.lists(st.integers(0, x.ndim - 1), unique=True, min_size=1).map(tuple)
    return data.draw(st.one_of(st.none(), one, several))


def check(ours, expected, dtype, exact):
    expected = np.asarray(expected, dtype)
    assert ours.dtype == dtype and np.shape(ours) == expected.shape
    assert isinstance(ours, np.ndarray) == (expected.ndim > 0)
    if exact:
        np.testing.assert_array_equal(ours, expected)
    else:
        tolerance = 1e-4 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("name", [*CLOSE, *EXACT])
@given(data=st.data(), dtype=DTYPES)
def test_axes(name, data, dtype):
    exact = name in EXACT
    elements = None if exact else finite(dtype).map(lambda v: v / dtype.type(50))
    x = data.draw(arrays(dtype, elements=elements))
    axis = some_axes(data, x, single=name.startswith("arg"))
    keepdims = data.draw(st.booleans())
    ours = getattr(diptych, name)
    reduced = range(x.ndim) if axis is None else np.atleast_1d(axis)
    if name not in OF_NOTHING and any(x.shape[i] == 0 for i in reduced):
        if x.size == 0 and np.prod([n for i, n in enumerate(x.shape) if i not in [r % x.ndim for r in reduced]]):
            with raises(diptych.ShapeError):
                ours(x, axis=axis)
        return
    with np.errstate(all="ignore"):
        expected = {**CLOSE, **EXACT}[name](x, axis=axis, keepdims=keepdims)
    result = np.dtype(np.int64) if name in ("argmin", "argmax", "count_nonzero") else dtype
    check(ours(x, axis=axis, keepdims=keepdims), expected, result, exact)
    out = np.full(np.shape(expected), 7, result)
    assert ours(x, axis=axis, keepdims=keepdims, out=out) is out
    check(out[()], expected, result, exact)


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_ddof(dtype, ddof):
    x = np.arange(12, dtype=dtype).reshape(3, 4) ** 2
    check(diptych.var(x, axis=1, ddof=ddof), np.var(x, axis=1, ddof=ddof), dtype, False)
    check(diptych.std(x, ddof=ddof), np.std(x, ddof=ddof), dtype, False)
    for name in ("ddof", "correction"):
        for value in (ddof, float(ddof)):
            assert diptych.var(x, **{name: value}) == diptych.var(x, ddof=ddof)


def test_ddof_refused(dtype):
    x = np.ones(3, dtype)
    with raises(diptych.ArgumentError, "var: correction must be a whole number, not 0.5"):
        diptych.var(x, correction=0.5)
    for axis, ddof in [(0, 3), (0, -1), (1, 1)]:
        with raises(diptych.ArgumentError, "std: ddof must be at least 0 and less than the number of elements"):
            diptych.std(x[:, None], axis=axis, correction=ddof)
    with raises(diptych.DtypeError, "std: ddof must be an integer, not str"):
        diptych.std(x, ddof="1")
    with raises(diptych.ArgumentError, "var: ddof and correction are the same; give one"):
        diptych.var(x, ddof=1, correction=1)


@pytest.mark.parametrize("name", [*CLOSE, *EXACT])
def test_of_nothing(name, dtype):
    x = np.ones((0, 3), dtype)
    ours = getattr(diptych, name)
    if name in OF_NOTHING:
        assert (ours(x, axis=0) == OF_NOTHING[name]).all() and ours(x) == OF_NOTHING[name]
    else:
        with raises(diptych.ShapeError, name):
            ours(x)
        with raises(diptych.ShapeError, name):
            ours(x, axis=0)
    assert ours(x, axis=1).shape == (0,)
    assert ours(np.ones((3, 0, 2), dtype), axis=0, keepdims=True).shape == (1, 0, 2)


def test_special_values(dtype):
    x = np.array([1, np.nan, -np.inf, 0, -0.0], dtype)
    for name in ("sum", "mean", "min", "max", "prod", "nrm2"):
        assert np.isnan(getattr(diptych, name)(x))
    assert diptych.argmin(x) == 1 and diptych.argmax(x) == 1 and diptych.count_nonzero(x) == 3
    assert math.copysign(1, diptych.min(x[3:])) == -1 and math.copysign(1, diptych.max(x[3:])) == 1
    big = np.array([np.finfo(dtype).max] * 2, dtype) / 2
    assert np.isfinite(diptych.nrm2(big))


def test_the_same_bits_everywhere(dtype):
    x = np.random.default_rng(3).standard_normal((1234, 321)).astype(dtype)
    strided = np.zeros((321, 2468), dtype)[:, ::2].T
    strided[...] = x
    for name in ("sum", "mean", "var", "nrm2", "logsumexp", "asum"):
        ours = getattr(diptych, name)
        for axis in (None, 0, 1):
            expected = ours(x, axis=axis).tobytes()
            assert ours(strided, axis=axis).tobytes() == expected
            with diptych.threads(2):
                assert ours(x, axis=axis).tobytes() == expected
            diptych.force_cpu_level("portable")
            assert ours(x, axis=axis).tobytes() == expected
            diptych.force_cpu_level(None)


def test_float16_sums():
    x = np.ones(5000, np.float16)
    assert diptych.sum(x) == 5000 and diptych.sum(x).dtype == np.float16


def test_refused(dtype):
    x = np.ones((2, 3), dtype)
    for axis in (2, -3, (0, 2)):
        with raises(diptych.ArgumentError, "is out of range for an array of 2 axes"):
            diptych.sum(x, axis=axis)
    for axis in ((0, 0), (1, -1)):
        with raises(diptych.ArgumentError, "is given twice"):
            diptych.sum(x, axis=axis)
    for axis in (1.0, "0", [0, 1], (0, None)):
        name = type(axis[1] if isinstance(axis, tuple) else axis).__name__
        with raises(diptych.DtypeError, f"sum: axis must be an integer or a tuple of integers, not {name}"):
            diptych.sum(x, axis=axis)
    with raises(diptych.ShapeError, "sum: out has the shape (2, 1), the result (2,)"):
        diptych.sum(x, axis=1, out=np.ones((2, 1), dtype))
    with raises(diptych.DtypeError, "argmax: out has the type int32, the result int64"):
        diptych.argmax(x, axis=1, out=np.ones(2, np.int32))
    with raises(diptych.DtypeError, "sum: x is a number"):
        diptych.sum(1.0)
    with pytest.raises(TypeError, match="positional"):
        diptych.sum(x, 0)


def test_tensors():
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 4)
    for name, theirs in [("sum", torch.sum), ("mean", torch.mean), ("logsumexp", torch.logsumexp)]:
        result = getattr(diptych, name)(x, axis=1)
        assert type(result) is torch.Tensor
        torch.testing.assert_close(result, theirs(x, 1))
    assert diptych.sum(x).shape == () and diptych.argmax(x).dtype is torch.int64
    torch.testing.assert_close(diptych.var(x, axis=0, ddof=1), x.var(0))


def test_buffers():
    import array

    x = array.array("d", [1, 2, 3])
    assert diptych.sum(x) == 6 and type(diptych.sum(x)) is float
    assert diptych.argmax(x) == 2 and type(diptych.argmax(x)) is int


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", ["minexp", "maxexp"])
def test_std_at_the_ends_of_the_range(dtype, exponent):
    """Scaling normal numbers by a power of two scales std, though the squares leave the range."""
    scale = np.ldexp(dtype(1), getattr(np.finfo(dtype), exponent) - 2 * (exponent == "maxexp"))
    rows = np.random.default_rng(5).uniform(1, 2, (300, 40)).astype(dtype)
    for x in (rows, rows.T, rows[::2, ::3], rows[:1], rows.reshape(20, 15, 40)):
        for axis in (0, -1, None):
            expected = diptych.std(x, axis=axis)
            np.testing.assert_allclose(expected, np.std(x.astype(np.float64), axis=axis), rtol=1e-5)
            np.testing.assert_allclose(diptych.std(x * scale, axis=axis) / scale, expected, rtol=1e-5)
