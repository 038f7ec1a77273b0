"""Products and losses beside NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import diptych
from conftest import FLOATS, raises
from strategies import arrays, finite, restride

DTYPES = st.sampled_from([np.dtype(name) for name in FLOATS])


def close(ours, expected, dtype):
    assert type(ours) is type(expected) and ours.dtype == dtype
    assert np.shape(ours) == np.shape(expected)
    tolerance = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=10 * tolerance)


def small(dtype):
    return finite(dtype).map(lambda v: v / dtype.type(50))


@given(data=st.data(), dtype=DTYPES)
def test_matmul(data, dtype):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=5))
    x, y = (data.draw(arrays(dtype, shape, small(dtype))) for shape in shapes.input_shapes)
    expected = np.matmul(x, y)
    close(diptych.matmul(x, y), expected, dtype)
    out = restride(np.full(expected.shape, 7, dtype), data.draw)
    assert diptych.matmul(x, y, out=out) is out
    close(out[()], expected, dtype)


@given(data=st.data(), dtype=DTYPES)
def test_dot(data, dtype):
    k = data.draw(st.integers(0, 4))
    left = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)) + (k,)
    right = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
    right = (*right[:-1], k, *right[-1:])
    x, y = data.draw(arrays(dtype, left, small(dtype))), data.draw(arrays(dtype, right, small(dtype)))
    expected = np.dot(x, y)
    close(diptych.dot(x, y), expected, dtype)
    out = np.full(expected.shape, 7, dtype)
    assert diptych.dot(x, y, out=out) is out
    close(out[()], expected, dtype)


@given(data=st.data(), dtype=DTYPES)
def test_vecdot(data, dtype):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(signature="(k),(k)->()", max_dims=3, max_side=4))
    x, y = (data.draw(arrays(dtype, shape, small(dtype))) for shape in shapes.input_shapes)
    expected = np.sum(x * y, axis=-1)
    close(diptych.vecdot(x, y), expected, dtype)
    least = min(x.ndim, y.ndim)
    axis = data.draw(st.integers(-least, -1))
    p, q = np.moveaxis(x, -1, axis), np.moveaxis(y, -1, axis)
    close(diptych.vecdot(p, q, axis=axis), expected, dtype)


@given(data=st.data(), dtype=DTYPES)
def test_outer(data, dtype):
    x, y = (data.draw(arrays(dtype, data.draw(st.integers(0, 9)), small(dtype))) for _ in range(2))
    close(diptych.outer(x, y), np.outer(x, y), dtype)
    out = restride(np.full((len(x), len(y)), 7, dtype), data.draw)
    assert diptych.outer(x, y, out=out) is out
    close(out, np.outer(x, y), dtype)


def test_outer_flattens_what_lies_in_memory_as_a_vector(dtype):
    x = np.arange(6, dtype=dtype).reshape(2, 3)
    close(diptych.outer(x, x), np.outer(x, x), dtype)
    close(diptych.outer(np.array(2, dtype), x), np.outer(2, x).astype(dtype), dtype)
    with raises(diptych.ShapeError, "outer: y has the shape (3, 2)"):
        diptych.outer(x, x.T)


def test_ger(dtype):
    a = np.ones((2, 3), dtype)
    x, y = np.array([1, 2], dtype), np.array([1, 2, 3], dtype)
    assert diptych.ger(-0.5, x, y, a) is a
    close(a, 1 - np.outer(x, y) / 2, dtype)
    with raises(diptych.ShapeError, "ger: a does not have the right shape; the shapes are x (3,), y (2,), a (2, 3)"):
        diptych.ger(1, y, x, a)


def test_gemm(dtype):
    rng = np.random.default_rng(4)
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 7), (7, 3), (5, 3)))
    bias = rng.standard_normal(3).astype(dtype)
    close(diptych.gemm(a, b), a @ b, dtype)
    close(diptych.gemm(a, b, alpha=0.5), 0.5 * (a @ b), dtype)
    expected = 2 * (a @ b) - c
    before = c.copy()
    assert diptych.gemm(a, b, c, alpha=2, beta=-1) is c
    close(c, expected, dtype)
    close(diptych.gemm(a, b, bias=bias), a @ b + bias, dtype)
    close(diptych.gemm(a, b, bias=bias, clip=(0, None)), np.maximum(a @ b + bias, 0), dtype)
    close(diptych.gemm(a, b, clip=(-1, 1)), np.clip(a @ b, -1, 1), dtype)
    column = rng.standard_normal((5, 1)).astype(dtype)
    close(diptych.gemm(a, b, bias=column), a @ b + column, dtype)
    nan = np.full((5, 3), np.nan, dtype)
    close(diptych.gemm(a, b, nan), a @ b, dtype)
    for wrong in (1, (1,), [0, 1], (0, 1, 2)):
        with raises(diptych.ArgumentError, "gemm: clip must be a pair"):
            diptych.gemm(a, b, clip=wrong)
    with raises(diptych.ArgumentError, "gemm: beta needs c"):
        diptych.gemm(a, b, beta=1)
    with raises(diptych.DtypeError, "gemm: alpha must be a number"):
        diptych.gemm(a, b, alpha="2")
    with raises(diptych.ShapeError, "gemm"):
        diptych.gemm(a, b, before[:4])
    batch = np.ones((2, 2, *a.shape), a.dtype)
    with raises(diptych.ShapeError, "gemm: a (2, 2, "):
        diptych.gemm(batch, b, before)
    with raises(diptych.ShapeError, "gemm: a ("):
        diptych.gemm(a, b, np.ones((2, *before.shape), before.dtype))
    with raises(diptych.ShapeError, "gemm: a (5, 7) and b (3, 7): "):
        diptych.gemm(a, b.T)


def test_the_same_bits_everywhere(dtype):
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((130, 300)).astype(dtype) for _ in range(2))
    expected = diptych.matmul(a, b.T).tobytes()
    assert diptych.matmul(np.asfortranarray(a), b.T.copy()).tobytes() == expected
    with diptych.threads(2):
        assert diptych.matmul(a, b.T).tobytes() == expected
    diptych.force_cpu_level("portable")
    assert diptych.matmul(a, b.T).tobytes() == expected
    diptych.force_cpu_level(None)
    batch = np.stack([a, 2 * a])
    assert diptych.matmul(batch, b.T)[0].tobytes() == expected


def test_mse_grad(dtype):
    rng = np.random.default_rng(6)
    p, t = (rng.standard_normal((4, 5)).astype(dtype) for _ in range(2))
    loss, grad = diptych.mse_grad(p, t)
    close(loss, np.sum((p - t) ** 2), dtype)
    close(grad, 2 * (p - t), dtype)
    loss, out = diptych.mse_grad(p, t, out=p)
    assert out is p
    close(p, grad, dtype)
    with raises(diptych.ShapeError, "mse_grad: pred has the shape (4, 5), target (5,)"):
        diptych.mse_grad(p, t[0])


def test_lsq_grad(dtype):
    rng = np.random.default_rng(7)
    a = rng.standard_normal((50, 7)).astype(dtype)
    x, y = rng.standard_normal(7).astype(dtype), rng.standard_normal(50).astype(dtype)
    expected = 2 * a.T @ (a @ x - y)
    close(diptych.lsq_grad(a, x, y), expected, dtype)
    close(diptych.lsq_grad(np.asfortranarray(a), x[::1], y), expected, dtype)
    with raises(diptych.ShapeError, "lsq_grad: a (50, 7), x (50,), y (7,): a must have the shape (m, n)"):
        diptych.lsq_grad(a, y, x)


def test_refused(dtype):
    a = np.ones((2, 3), dtype)
    with raises(diptych.ShapeError, "matmul: x (2, 3) and y (2, 3): the inner sizes differ"):
        diptych.matmul(a, a)
    with raises(diptych.ShapeError, "the batch axes do not fit"):
        diptych.matmul(np.ones((2, 1, 3), dtype), np.ones((3, 3, 1), dtype))
    with raises(diptych.ShapeError, "use multiply"):
        diptych.matmul(a, np.array(1, dtype))
    with raises(diptych.ShapeError, "matmul: out has the shape (2, 3), the result (2, 2)"):
        diptych.matmul(a, a.T, out=a)
    with raises(diptych.DtypeError, "matmul: y is a number"):
        diptych.matmul(a, 2)
    square = np.ones((3, 3), dtype)
    with raises(diptych.ArgumentError, "overlaps"):
        diptych.matmul(square, square, out=square)
    with raises(diptych.DtypeError, "int16"):
        diptych.outer(np.arange(3, dtype=np.int16), np.arange(3, dtype=np.int16))


def test_tensors():
    torch = pytest.importorskip("torch")
    x, y = torch.randn(4, 5), torch.randn(5, 3)
    torch.testing.assert_close(diptych.matmul(x, y), x @ y)
    torch.testing.assert_close(diptych.outer(x[0], y[:, 0]), torch.outer(x[0], y[:, 0]))
    torch.testing.assert_close(diptych.gemm(x, y, bias=y[0], clip=(0, None)), torch.relu(x @ y + y[0]))
    ones = torch.ones(4, 5)
    loss, grad = diptych.mse_grad(ones, 2 * ones)
    assert loss.shape == () and loss == 20 and bool((grad == -2).all())


def test_astype():
    x = np.array([[1.5, -2.5], [300.7, 1e300]])
    assert diptych.astype(x, "float32").dtype == np.float32
    for dtype in (np.float32, np.dtype("float32"), "float32", float, int):
        assert diptych.astype(x[:, :1], dtype).dtype == np.dtype(dtype)
    np.testing.assert_array_equal(diptych.astype(x[:, :1].T, "int32"), [[1, 300]])
    with raises(diptych.DtypeError, "astype: 'float31x' is not an element type"):
        diptych.astype(x, "float31x")
    torch = pytest.importorskip("torch")
    assert diptych.astype(torch.ones(3), torch.float64).dtype is torch.float64


def test_astype_keeps_the_order_in_memory(dtype):
    x = np.ones((2, 3, 8), dtype).transpose(2, 0, 1)[::2]
    assert diptych.astype(x, "float64").strides == x.astype("float64").strides


def test_none_is_no_axis_of_vecdot(dtype):
    with raises(diptych.DtypeError, "vecdot: axis must be an integer, not NoneType"):
        diptych.vecdot(np.ones(3, dtype), np.ones(3, dtype), axis=None)


def test_astype_without_a_copy(dtype):
    x = np.ones((2, 3), dtype)[:, ::2]
    assert diptych.astype(x, dtype, copy=False) is x
    assert diptych.astype(x, dtype, copy=True) is not x and diptych.astype(x, dtype) is not x
    assert diptych.astype(x, "int64", copy=False).dtype == np.int64
    out = np.zeros((2, 2), dtype)
    assert diptych.astype(x, dtype, copy=False, out=out) is out and (out == 1).all()


def test_concatenate_all_elements(dtype):
    parts = [np.arange(6, dtype=dtype).reshape(2, 3).T, np.array(7, dtype), np.ones((2, 0), dtype), np.ones((1, 2, 1), dtype)]
    expected = np.concatenate(parts, axis=None)
    np.testing.assert_array_equal(diptych.concatenate(parts, axis=None), expected)
    out = np.zeros(2 * len(expected), dtype)[::-2]
    assert diptych.concatenate(parts, axis=None, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_concatenate_without_gaps(dtype):
    """Of one type and in row-major order, in host memory: copied as they are. Beside them, arrays that need more."""
    rng = np.random.default_rng(5)
    for shape in ((7,), (3, 4), (2, 3, 4), (5, 1, 2), (3, 0, 2)):
        for axis in (None, *range(len(shape))):
            parts = []
            for i in range(6):
                sizes = list(shape)
                sizes[axis or 0] = i
                parts.append(rng.standard_normal(sizes).astype(dtype))
            for arrays in (parts, parts + [np.asfortranarray(parts[-1])], iter(parts)):
                arrays = list(arrays)
                expected = np.concatenate(arrays, axis=axis)
                np.testing.assert_array_equal(diptych.concatenate(iter(arrays), axis=axis), expected)
                out = np.zeros_like(expected)
                assert diptych.concatenate(arrays, axis=axis, out=out) is out
                np.testing.assert_array_equal(out, expected)
    many = [rng.standard_normal((30, 10)).astype(dtype) for _ in range(500)]
    np.testing.assert_array_equal(diptych.concatenate(many, axis=1), np.concatenate(many, axis=1))
    out = np.zeros(9, dtype)
    with raises(diptych.ArgumentError, "concatenate: "):
        diptych.concatenate([out[:5], many[0][0, :4]], out=out)
    misaligned = np.zeros(5 * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype)
    with raises(diptych.Error, "concatenate: "):
        diptych.concatenate([misaligned, out])

    def broken():
        yield out
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        diptych.concatenate(broken())
    assert not out.any()


def test_concatenate(dtype):
    frames = [np.full((2, 3), i, np.uint8) for i in range(4)]
    for axis in (0, 1, -1):
        expected = np.concatenate(frames, axis=axis).astype(dtype)
        joined = diptych.concatenate(frames, axis=axis, dtype=dtype)
        np.testing.assert_array_equal(joined, expected)
        assert joined.dtype == dtype
    with raises(diptych.DtypeError, "concatenate: axis must be an integer, not list"):
        diptych.concatenate(frames, axis=[0])
    mixed = [np.ones((1, 3), dtype), np.arange(6).reshape(2, 3)]
    with raises(diptych.DtypeError, "concatenate: arrays[0] has the type"):
        diptych.concatenate(mixed)
    assert diptych.concatenate(mixed, dtype=dtype).dtype == dtype
    with raises(diptych.ShapeError, "concatenate: arrays[0] (2, 3) and arrays[1] (3, 2) differ"):
        diptych.concatenate([frames[0], frames[0].T])
    with raises(diptych.DtypeError, "concatenate: arrays must be a sequence of arrays, not int"):
        diptych.concatenate(1)
    with raises(diptych.ArgumentError, "there are no arrays"):
        diptych.concatenate([])
