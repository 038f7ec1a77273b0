"""Products of integers and of 16-bit floats: matmul, dot, gemm."""

import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import diptych
from conftest import raises
from strategies import restride

# The types of x and y, and that of the result.
INTEGERS = [
    ("int8", "int8", "int32"),
    ("uint8", "int8", "int32"),
    ("int32", "int32", "int32"),
    ("int64", "int64", "int64"),
]
BYTES = INTEGERS[:2]
HALVES = ("float16", "bfloat16")
# Half of the distance from 1 to the next number.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8}


def half(name):
    """NumPy's type; bfloat16 is of another package."""
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def halves(rng, shape, dtype):
    return rng.standard_normal(shape).astype(np.float32).astype(dtype)


def integers(rng, shape, dtype):
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def product(x, y, dtype):
    """The product of integers, modulo 2^64 and then modulo that of the type."""
    with np.errstate(over="ignore"):
        return np.asarray(np.matmul(x.astype(np.int64), y.astype(np.int64))).astype(dtype)


def same(ours, expected):
    assert type(ours) is type(expected[()]) and ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)


def close(ours, x, y, dtype, product=None):
    """As sums in float32 of exact products, rounded to the type."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    expected = np.matmul(x, y) if product is None else product
    assert ours.dtype == dtype and np.shape(ours) == np.shape(expected)
    bound = np.matmul(np.abs(x), np.abs(y)) * 1e-6 + 1e-6
    error = np.abs(ours.astype(np.float64) - expected)
    assert (error <= bound + ROUNDING.get(dtype.name, 1e-6) * np.abs(expected) * 1.01).all()


def shapes(data):
    drawn = data.draw(hnp.mutually_broadcastable_shapes(signature=np.matmul.signature, max_dims=2, max_side=5))
    return drawn.input_shapes


@given(data=st.data(), types=st.sampled_from(INTEGERS))
def test_matmul_of_integers(data, types):
    x, y = (restride(data.draw(hnp.arrays(t, shape)), data.draw) for t, shape in zip(types, shapes(data)))
    expected = product(x, y, types[2])
    same(diptych.matmul(x, y), expected)
    out = restride(np.full(expected.shape, 7, types[2]), data.draw)
    assert diptych.matmul(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)
    if types in BYTES:
        out = restride(np.full(expected.shape, np.nan, np.float32), data.draw)
        assert diptych.matmul(x, y, out=out) is out
        # These sums are exact in float32.
        np.testing.assert_array_equal(out, expected)


@given(data=st.data(), name=st.sampled_from(HALVES))
def test_matmul_of_halves(data, name):
    dtype = half(name)
    finite = st.floats(-8, 8, width=16)
    x, y = (data.draw(hnp.arrays(np.float16, shape, elements=finite)).astype(dtype) for shape in shapes(data))
    x, y = restride(x, data.draw), restride(y, data.draw)
    ours = diptych.matmul(x, y)
    assert type(ours) is type(np.zeros(np.shape(ours), dtype)[()])
    close(ours, x, y, dtype)
    out = restride(np.full(np.shape(ours), 7, dtype), data.draw)
    assert diptych.matmul(x, y, out=out) is out
    assert out.tobytes() == ours.tobytes()
    wide = restride(np.full(np.shape(ours), np.nan, np.float32), data.draw)
    assert diptych.matmul(x, y, out=wide) is wide
    close(wide, x, y, wide.dtype)
    # Rounded once.
    np.testing.assert_array_equal(wide.astype(dtype), ours)


@pytest.mark.parametrize("types", INTEGERS)
@pytest.mark.parametrize("m, n, k", [(1, 70, 300), (70, 1, 300), (65, 67, 129), (150, 80, 1000), (3, 0, 2), (3, 2, 0)])
def test_integers_of_all_sizes(types, m, n, k):
    rng = np.random.default_rng(m * n + k)
    x, y = integers(rng, (m, k), types[0]), integers(rng, (k, n), types[1])
    expected = product(x, y, types[2])
    same(diptych.matmul(x, y), expected)
    same(diptych.gemm(np.asfortranarray(x), y), expected)
    with diptych.threads(2):
        same(diptych.matmul(x, np.asfortranarray(y)), expected)
    diptych.force_cpu_level("portable")
    same(diptych.matmul(x, y), expected)


@pytest.mark.parametrize("name", HALVES)
def test_halves_of_all_sizes(name):
    rng, dtype = np.random.default_rng(3), half(name)
    for m, n, k in [(1, 70, 300), (70, 1, 300), (65, 67, 129), (150, 80, 700), (3, 2, 0)]:
        x, y = halves(rng, (m, k), dtype), halves(rng, (k, n), dtype)
        expected = diptych.matmul(x, y)
        close(expected, x, y, dtype)
        wide = np.zeros((m, n), np.float32)
        close(diptych.matmul(x, y, out=wide), x, y, wide.dtype)
        np.testing.assert_array_equal(wide.astype(dtype), expected)
        with diptych.threads(2):
            assert diptych.matmul(np.asfortranarray(x), y).tobytes() == expected.tobytes()
        diptych.force_cpu_level("portable")
        assert diptych.matmul(x, np.asfortranarray(y)).tobytes() == expected.tobytes()
        diptych.force_cpu_level(None)


@pytest.mark.parametrize("types", INTEGERS)
def test_dot_of_integers(types):
    rng = np.random.default_rng(4)
    vector, row, matrix, batch = ((4,), (4,), (3, 4), (2, 4, 5))
    pairs = [(vector, row), (matrix, vector), (matrix, batch), (vector, batch), ((2, 3, 4), (4, 6)), (batch, (5, 3))]
    for left, right in pairs:
        x, y = integers(rng, left, types[0]), integers(rng, right, types[1])
        with np.errstate(over="ignore"):
            expected = np.asarray(np.dot(x.astype(np.int64), y.astype(np.int64))).astype(types[2])
        same(diptych.dot(x, y), expected)
        out = np.zeros(expected.shape, types[2])
        assert diptych.dot(x, y, out=out) is out
        np.testing.assert_array_equal(out, expected)
    if types in BYTES:
        assert diptych.dot(x, y, out=np.zeros(expected.shape, np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", HALVES)
def test_dot_of_halves(name):
    rng, dtype = np.random.default_rng(5), half(name)
    x, y = halves(rng, (3, 40), dtype), halves(rng, (40, 2), dtype)
    assert diptych.dot(x, y).tobytes() == diptych.matmul(x, y).tobytes()
    scalar = diptych.dot(x[0], y[:, 0])
    assert type(scalar) is dtype.type and scalar == diptych.matmul(x, y)[0, 0]
    assert scalar == diptych.matmul(x[0], y[:, 0])


@pytest.mark.parametrize("types", INTEGERS)
def test_gemm_of_integers(types):
    rng = np.random.default_rng(6)
    a, b, c = integers(rng, (5, 7), types[0]), integers(rng, (7, 3), types[1]), integers(rng, (5, 3), types[2])
    expected = product(a, b, types[2])
    same(diptych.gemm(a, b, alpha=1.0, beta=0), expected)
    with np.errstate(over="ignore"):
        added = expected + c
    assert diptych.gemm(a, b, c, beta=1) is c
    np.testing.assert_array_equal(c, added)
    assert diptych.gemm(a, b, c) is c
    np.testing.assert_array_equal(c, expected)
    batch = np.stack([a, a[::-1]])
    same(diptych.gemm(batch, b), product(batch, b, types[2]))


@pytest.mark.parametrize("types", BYTES)
@given(data=st.data())
def test_scales(types, data):
    m, n, k = (data.draw(st.integers(0, 20)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    a, b = integers(rng, (m, k), types[0]), integers(rng, (k, n), types[1])
    rows, columns = (restride(rng.uniform(0.5, 2, size).astype(np.float32), data.draw) for size in (m, n))
    exact = product(a, b, np.float64)
    for factors in ({"row_scale": rows}, {"column_scale": columns}, {"row_scale": rows, "column_scale": columns}):
        scaled = exact * factors.get("row_scale", np.ones(1))[:, None] * factors.get("column_scale", 1.0)
        size = np.abs(scaled).max(initial=0) + 1
        ours = diptych.gemm(a, b, **factors)
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, scaled, rtol=1e-6)
        bias = rng.standard_normal(n).astype(np.float32)
        ours = diptych.gemm(a, b, **factors, alpha=0.5, bias=bias, clip=(-1000, None))
        np.testing.assert_allclose(ours, np.maximum(0.5 * scaled + bias, -1000), rtol=1e-6, atol=1e-6 * size)
        c = rng.standard_normal((m, n)).astype(np.float32)
        before = c.astype(np.float64)
        column = rng.standard_normal((m, 1)).astype(np.float32)
        assert diptych.gemm(a, b, c, beta=-2, bias=column, **factors) is c
        np.testing.assert_allclose(c, scaled - 2 * before + column, rtol=1e-6, atol=1e-6 * size)


@pytest.mark.parametrize("types", BYTES)
def test_bytes_in_float32_without_scales(types):
    rng = np.random.default_rng(7)
    a, b = integers(rng, (4, 6), types[0]), integers(rng, (6, 3), types[1])
    exact, bias = product(a, b, np.float32), np.arange(3, dtype=np.float32)
    same(diptych.gemm(a, b, bias=bias), exact + bias)
    c = np.full((4, 3), np.nan, np.float32)
    assert diptych.gemm(a, b, c, alpha=0.5, clip=(0, 100)) is c
    np.testing.assert_array_equal(c, np.clip(exact / 2, 0, 100))


@pytest.mark.parametrize("name", HALVES)
def test_gemm_of_halves(name):
    rng, dtype = np.random.default_rng(8), half(name)
    a, b = halves(rng, (5, 70), dtype), halves(rng, (70, 3), dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    close(diptych.gemm(a, b, alpha=0.5), a, b, dtype, exact / 2)
    for bias in (halves(rng, 3, dtype), rng.standard_normal(3).astype(np.float32), halves(rng, (5, 1), dtype)):
        expected = np.maximum(exact + bias.astype(np.float64), 0)
        close(diptych.gemm(a, b, bias=bias, clip=(0, None)), a, b, dtype, expected)
        c = np.ones((5, 3), np.float32)
        assert diptych.gemm(a, b, c, beta=2, bias=bias) is c
        close(c, a, b, c.dtype, exact + 2 + bias.astype(np.float64))
    c = halves(rng, (5, 3), dtype)
    expected = exact - c.astype(np.float64)
    assert diptych.gemm(a, b, c, beta=-1) is c
    close(c, a, b, dtype, expected)


def test_buffers():
    x = memoryview(array.array("b", [1, -2, 3, 4])).cast("B").cast("b", (2, 2))
    y = memoryview(array.array("B", [200, 1, 2, 3])).cast("B", (2, 2))
    assert diptych.matmul(x, x).tolist() == [[-5, -10], [15, 10]]
    result = diptych.matmul(y, x)
    assert type(result) is memoryview and result.format == "i" and result.tolist() == [[203, -396], [11, 8]]
    assert diptych.dot(array.array("B", [255, 255]), array.array("b", [-128, -128])) == -65280
    assert diptych.gemm(x, x, column_scale=array.array("f", [0.5, 2])).tolist() == [[-2.5, -20], [7.5, 20]]


@pytest.mark.parametrize("name", HALVES)
def test_memory_without_a_framework(name):
    x = diptych.astype(memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2)), name)
    result = diptych.matmul(x, x)
    assert result.tolist() == [[7, 10], [15, 22]] and result.dtype == name
    out = diptych.astype(x, "float32")
    assert diptych.matmul(x, x, out=out).tolist() == [[7, 10], [15, 22]]


def test_tensors():
    torch = pytest.importorskip("torch")
    rng = torch.Generator().manual_seed(1)
    for dtype in (torch.float16, torch.bfloat16):
        x, y = (torch.randn(shape, generator=rng).to(dtype) for shape in ((9, 40), (40, 5)))
        exact = x.double() @ y.double()
        ours = diptych.matmul(x, y)
        assert ours.dtype is dtype
        torch.testing.assert_close(ours, exact.to(dtype))
        out = torch.zeros(9, 5)
        assert diptych.matmul(x, y, out=out) is out
        torch.testing.assert_close(out, exact.float(), rtol=1e-5, atol=1e-5)
        bias = torch.randn(5, generator=rng)
        torch.testing.assert_close(diptych.gemm(x, y, bias=bias, clip=(0, None)), (exact + bias).relu().to(dtype))
        assert diptych.dot(x[0], y[:, 0]).shape == ()
    for first in (torch.int8, torch.uint8):
        x = torch.randint(0, 128, (9, 40), generator=rng).to(first)
        y = torch.randint(-128, 128, (40, 5), generator=rng).to(torch.int8)
        exact = x.long() @ y.long()
        ours = diptych.matmul(x, y)
        assert ours.dtype is torch.int32 and torch.equal(ours, exact.int())
        rows, columns = torch.rand(9, generator=rng), torch.rand(5, generator=rng)
        ours = diptych.gemm(x, y, row_scale=rows, column_scale=columns)
        torch.testing.assert_close(ours, exact * rows[:, None] * columns)
    for dtype in (torch.int32, torch.int64):
        x = torch.arange(6, dtype=dtype).reshape(2, 3)
        assert torch.equal(diptych.matmul(x, x.T), x @ x.T)
    with raises(diptych.DtypeError, "matmul: x has the type bfloat16, y has float16"):
        diptych.matmul(torch.ones(2, 2).bfloat16(), torch.ones(2, 2).half())


def test_operations_of_torch():
    torch = pytest.importorskip("torch")
    import diptych.torch as dt
    from torch._subclasses.fake_tensor import FakeTensorMode

    for first, second, result in [*BYTES, ("bfloat16",) * 3]:
        first, second, result = (getattr(torch, name) for name in (first, second, result))
        x, y = torch.ones(2, 3, dtype=first), torch.ones(3, 4, dtype=second)
        assert dt.matmul(x, y).dtype is dt.linear(x, y.T).dtype is result
        with FakeTensorMode():
            x, y = torch.ones(2, 3, dtype=first), torch.ones(3, 4, dtype=second)
            assert dt.matmul(x, y).dtype is dt.linear(x, y.T).dtype is result
    x, w = (torch.randn(3, 4).bfloat16().requires_grad_() for _ in range(2))
    dt.linear(x, w).sum().backward()
    torch.testing.assert_close(x.grad, w.detach().sum(0).expand(3, 4), rtol=0.02, atol=0.02)
