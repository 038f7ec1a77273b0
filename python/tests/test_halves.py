"""float16 and bfloat16: each result is that of float32 for the same numbers, rounded once."""

import numpy as np
import pytest

import diptych
from conftest import raises

REDUCTIONS = ("sum mean prod min max sumsq asum nrm2 logsumexp var std").split()
INTEGERS = ("argmin", "argmax", "count_nonzero")


@pytest.fixture(params=["float16", "bfloat16"])
def dtype(request):
    """NumPy's type; bfloat16 is of another package."""
    if request.param == "bfloat16":
        return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return np.dtype(request.param)


def numbers(shape, dtype, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(dtype)


def wide(*arrays):
    return [array.astype(np.float32) for array in arrays]


def same(ours, of_float32, dtype):
    assert ours.dtype == dtype and np.shape(ours) == np.shape(of_float32)
    expected = np.asarray(of_float32).astype(dtype)
    assert np.asarray(ours).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    function = getattr(diptych, name)
    for shape in [(7, 9), (3, 4, 5000), (200, 60)]:
        x = numbers(shape, dtype)
        (w,) = wide(x)
        for axis in (None, 0, -1, (0, -1)):
            expected = function(w, axis=axis)
            same(function(x, axis=axis), expected, dtype)
            same(function(x[::-1, ..., ::2], axis=axis), function(w[::-1, ..., ::2], axis=axis), dtype)
            # A result that is not rounded.
            out = np.empty(np.shape(expected), np.float32)
            assert function(x, axis=axis, out=out) is out
            np.testing.assert_array_equal(out, expected)
    with diptych.threads(2):
        x = numbers((600_000,), dtype)
        same(function(x), function(*wide(x)), dtype)
    with raises(diptych.DtypeError, f"{name}: out has the type float64"):
        function(x, out=np.empty((), np.float64))


@pytest.mark.parametrize("name", INTEGERS)
def test_indices_and_counts(name, dtype):
    function = getattr(diptych, name)
    x = numbers((40, 300), dtype).round()
    x[3, 5] = np.nan
    for axis in (None, 0, 1):
        np.testing.assert_array_equal(function(x, axis=axis), function(*wide(x), axis=axis))
        assert function(x, axis=axis).dtype == np.int64


def test_products_of_vectors(dtype):
    x, y = numbers((5, 300), dtype), numbers((300,), dtype, 2)
    p, q = wide(x, y)
    same(diptych.vecdot(x, y), diptych.vecdot(p, q), dtype)
    same(diptych.dot(x[0], y), diptych.dot(p[0], q), dtype)
    same(diptych.vecdot(x[:, ::-2], y[::2]), diptych.vecdot(p[:, ::-2], q[::2]), dtype)
    out = np.empty(5, np.float32)
    assert diptych.vecdot(x, y, out=out) is out
    np.testing.assert_array_equal(out, diptych.vecdot(p, q))
    same(diptych.outer(x[0], y), diptych.outer(p[0], q), dtype)
    out = np.empty((300, 300), np.float32)
    assert diptych.outer(x[0], y, out=out) is out
    np.testing.assert_array_equal(out, diptych.outer(p[0], q))
    with raises(diptych.DtypeError, f"outer: out has the type float64; a product of x {dtype} has {dtype} or float32"):
        diptych.outer(x[0], y, out=np.empty((300, 300)))
    a, b = numbers((300, 300), dtype, 3), numbers((300, 300), dtype, 3).astype(np.float32)
    assert diptych.ger(0.3, x[0], y, a) is a
    same(a, diptych.ger(0.3, p[0], q, b), dtype)


def test_gradients(dtype):
    x, y = numbers((70, 90), dtype), numbers((70, 90), dtype, 2)
    (loss, grad), (sum_, expected) = diptych.mse_grad(x, y), diptych.mse_grad(*wide(x, y))
    same(loss, sum_, dtype)
    same(grad, expected, dtype)
    vectors = numbers((90,), dtype, 3), numbers((70,), dtype, 4)
    same(diptych.lsq_grad(x, *vectors), diptych.lsq_grad(*wide(x, *vectors)), dtype)
    same(diptych.lsq_grad(x.T, *vectors[::-1]), diptych.lsq_grad(*wide(x.T, *vectors[::-1])), dtype)


def test_normalize(dtype):
    x = numbers((30, 700), dtype)
    (w,) = wide(x)
    for axis in (None, 0, 1):
        same(diptych.normalize(x, axis=axis), diptych.normalize(w, axis=axis), dtype)


def test_the_same_bits_everywhere(dtype):
    x = numbers((90, 3000), dtype)
    for name in REDUCTIONS:
        function = getattr(diptych, name)
        expected = [function(x, axis=axis) for axis in (None, 0, 1)]
        for level in ("portable", None):
            diptych.force_cpu_level(level)
            with diptych.threads(2):
                for axis, want in zip((None, 0, 1), expected):
                    assert function(x, axis=axis).tobytes() == want.tobytes()
