"""Maps over rows beside NumPy's expressions, and beside the functions that they are made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import diptych
from conftest import FLOATS, raises
from strategies import arrays, finite, restride

DTYPES = st.sampled_from([np.dtype(name) for name in FLOATS])


def norm(x, axis):
    """As np.linalg.norm, for any axes."""
    return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=True))


# What NumPy computes, and the functions that give the same bits.
CLOSE = {"normalize": lambda x, axis: x / norm(x, axis)}
EXACT = {"normalize": lambda x, axis: diptych.divide(x, np.asarray(diptych.nrm2(x, axis=axis, keepdims=True)))}

names = pytest.mark.parametrize("name", CLOSE)


def strides(array):
    """The strides that matter: none of axes without a second element."""
    return [step for step, size in zip(array.strides, array.shape) if size > 1 and array.size > 0]


def same_bits(ours, expected):
    """Equal bits, except that a NaN equals a NaN."""
    assert ours.dtype == expected.dtype and ours.shape == expected.shape
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(np.signbit(ours) & ~np.isnan(ours), np.signbit(expected) & ~np.isnan(expected))


def some_axes(data, x):
    if x.ndim == 0:
        return data.draw(st.sampled_from([None, ()]))
    one = st.integers(-x.ndim, x.ndim - 1)
    several = st.lists(st.integers(0, x.ndim - 1), unique=True).map(tuple)
    return data.draw(st.one_of(st.none(), one, several))


@names
@given(data=st.data(), dtype=DTYPES)
def test_beside_numpy(name, data, dtype):
    x = data.draw(arrays(dtype, elements=finite(dtype)))
    axis = some_axes(data, x)
    with np.errstate(all="ignore"):
        expected = CLOSE[name](x, axis)
    ours = getattr(diptych, name)(x, axis=axis)
    assert type(ours) is type(expected) and ours.dtype == dtype and ours.shape == x.shape
    np.testing.assert_allclose(ours, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert strides(ours) == strides(np.negative(x))


@names
@given(data=st.data(), dtype=DTYPES)
def test_bits(name, data, dtype):
    """Of any values, in new arrays, in out= and in place."""
    x = data.draw(arrays(dtype))
    axis = some_axes(data, x)
    function, expected = getattr(diptych, name), np.asarray(EXACT[name](x, axis))
    same_bits(np.asarray(function(x, axis=axis)), expected)
    out = restride(np.full(x.shape, 7, dtype), data.draw)
    assert function(x, axis=axis, out=out) is out
    same_bits(out, expected)
    own = restride(np.array(x), data.draw)
    assert function(own, axis=axis, out=own) is own
    same_bits(own, expected)


@names
def test_large_arrays(name, dtype):
    """Long enough for several threads and to release the GIL, at every level."""
    function = getattr(diptych, name)
    x = np.random.default_rng(4).standard_normal((1234, 321)).astype(dtype)
    gaps = np.zeros((321, 2468), dtype)[:, ::2].T
    gaps[...] = x
    cube = x[:1230].reshape(10, 123, 321)
    for axis in (None, 0, 1):
        expected = EXACT[name](x, axis)
        for given in (x, np.asfortranarray(x), gaps):
            same_bits(function(given, axis=axis), expected)
            with diptych.threads(2):
                same_bits(function(given, axis=axis), expected)
        diptych.force_cpu_level("portable")
        same_bits(function(x, axis=axis), expected)
        diptych.force_cpu_level(None)
    for axis in ((0, 2), (2, 0), (-3, -2), 1):
        same_bits(function(cube, axis=axis), EXACT[name](cube, axis))
    assert function(x, axis=0, out=x) is x


@names
def test_no_axes_and_no_elements(name, dtype):
    function = getattr(diptych, name)
    assert function(np.ones((0, 3), dtype)).shape == (0, 3)
    for axis in (0, 1):
        assert function(np.ones((0, 3), dtype), axis=axis).shape == (0, 3)
    assert type(function(np.array(2, dtype))) is dtype.type


def test_special_values(dtype):
    x = np.array([[0, -0.0, 0], [1, np.nan, 2], [np.inf, 1, -3], [-3, 0, 4]], dtype)
    fifths = np.array([-3, 0, 4], dtype) / dtype.type(5)
    expected = np.array([[np.nan] * 3, [np.nan] * 3, [np.nan, 0, -0.0], fifths], dtype)
    same_bits(diptych.normalize(x, axis=1), expected)
    # Whose squares overflow, or vanish.
    ends = np.finfo(dtype)
    for scale in (np.ldexp(dtype.type(1), ends.maxexp - 4), ends.tiny):
        same_bits(diptych.normalize(np.array([3, 4], dtype) * scale), np.array([3, 4], dtype) / dtype.type(5))


@names
def test_refused(name, dtype):
    function, x = getattr(diptych, name), np.ones((2, 3), dtype)
    for axis in (2, -3, (0, 2)):
        with raises(diptych.ArgumentError, "is out of range for an array of 2 axes"):
            function(x, axis=axis)
    with raises(diptych.ArgumentError, f"{name}: axis 1 is given twice"):
        function(x, axis=(1, -1))
    with raises(diptych.DtypeError, f"{name}: axis must be an integer or a tuple of integers, not float"):
        function(x, axis=1.0)
    with raises(diptych.ShapeError, f"{name}: out has the shape (2, 1), the result (2, 3)"):
        function(x, axis=1, out=np.ones((2, 1), dtype))
    other = np.dtype("float64" if dtype == np.float32 else "float32")
    with raises(diptych.DtypeError, f"{name}: out has the type {other}, the result {dtype}"):
        function(x, out=np.ones((2, 3), other))
    long = np.ones(9, dtype)
    with raises(diptych.ArgumentError, f"{name}: out overlaps another argument"):
        function(long[:8], out=long[1:])
    with raises(diptych.ArgumentError, "out is read-only"):
        function(x, out=np.broadcast_to(x[0], (2, 3)))
    with raises(diptych.DtypeError, f"{name}: arrays of type int64 are not supported"):
        function(np.ones(3, np.int64))
    with raises(diptych.DtypeError, f"{name}: x is a number"):
        function(1.0)
    with raises(diptych.DtypeError, f"{name}: x is a list, not an array"):
        function([1.0])
    with pytest.raises(TypeError, match="positional"):
        function(x, 0)
    assert (x == 1).all() and (long == 1).all()


@names
def test_tensors(name):
    torch = pytest.importorskip("torch")
    function, x = getattr(diptych, name), torch.randn(4, 3, 2).permute(1, 0, 2)
    result = function(x, axis=(0, 2))
    assert type(result) is torch.Tensor and result.stride() == (x * x).stride()
    np.testing.assert_array_equal(result, function(x.numpy(), axis=(0, 2)))
    assert function(x, axis=(0, 2), out=x) is x
    np.testing.assert_array_equal(x, result)
