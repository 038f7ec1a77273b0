"""Arrays in CUDA memory, on a stand-in for the driver: results have the bits of those on the host."""

import numpy as np
import pytest

import cuda
import diptych
from conftest import raises

pytestmark = pytest.mark.skipif(not cuda.FOLDER, reason="DIPTYCH_STAND_IN names no stand-in for the driver")

UNARY = ("square", "abs", "negative")
BINARY = ("add", "subtract", "multiply", "divide", "minimum", "maximum")
REDUCTIONS = ("sum", "mean", "prod", "min", "max", "sumsq", "asum", "nrm2", "logsumexp", "count_nonzero", "argmin",
              "argmax", "var", "std")
ROW_MAPS = ("normalize",)


@pytest.fixture
def draw(dtype):
    rng = np.random.default_rng(5)
    return lambda *shape: (rng.standard_normal(shape) * 3).astype(dtype)


def same(result, want):
    assert type(result) is cuda.Array
    assert result.host.dtype == want.dtype and result.host.shape == want.shape
    np.testing.assert_array_equal(result.host.view(f"u{want.itemsize}"), np.ascontiguousarray(want).view(f"u{want.itemsize}"))


@pytest.mark.parametrize("name", UNARY)
def test_unary(draw, name):
    function, x = getattr(diptych, name), draw(6, 50)
    on_device = cuda.put(x)
    same(function(on_device), function(x))
    same(function(cuda.Array(on_device.host.T)), function(x.T))
    out = cuda.put(np.zeros_like(x))
    assert function(on_device, out=out) is out
    same(out, function(x))


@pytest.mark.parametrize("name", BINARY)
def test_binary(draw, name):
    function, x, y = getattr(diptych, name), draw(20, 33), draw(33)
    on_device, row = cuda.put(x), cuda.put(y)
    same(function(on_device, row), function(x, y))
    same(function(row, on_device), function(y, x))
    same(function(on_device, 0.75), function(x, 0.75))
    same(function(-2, on_device), function(-2, x))
    column = draw(20, 1)
    same(function(on_device, cuda.put(column)), function(x, column))
    assert function(on_device, row, out=on_device) is on_device
    same(on_device, function(x, y))


def test_more_elementwise(draw):
    x, grad = draw(7, 40), draw(7, 40)
    on_device = cuda.put(x)
    same(diptych.clip(on_device, -1, 2), diptych.clip(x, -1, 2))
    same(diptych.clip(on_device, max=0.5), diptych.clip(x, max=0.5))
    same(diptych.clip_backward(on_device, cuda.put(grad), -1, 1), diptych.clip_backward(x, grad, -1, 1))
    same(diptych.scale(on_device, 1.5), diptych.scale(x, 1.5))
    y, want = cuda.put(grad), grad.copy()
    assert diptych.axpy(-0.5, on_device, y) is y
    same(y, diptych.axpy(-0.5, x, want))
    assert diptych.fill(y, 2.5) is y
    assert (y.host == 2.5).all()


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(draw, name):
    function, x = getattr(diptych, name), draw(5, 9, 64)
    on_device = cuda.put(x)
    for axis in (None, 0, 1, -1, (0, 1), (1, 2), (0, 2)):
        same(function(on_device, axis=axis), np.asarray(function(x, axis=axis)))
    turned, host = cuda.Array(on_device.host.T), x.T
    for axis in (None, 1, (0, 2)):
        same(function(turned, axis=axis), np.asarray(function(host, axis=axis)))
    same(function(on_device, axis=1, keepdims=True), function(x, axis=1, keepdims=True))


@pytest.mark.parametrize("name", ROW_MAPS)
def test_row_maps(draw, name):
    function, x = getattr(diptych, name), draw(5, 9, 64)
    on_device = cuda.put(x)
    for axis in (None, 0, 1, -1, (0, 1), (1, 2), (0, 2)):
        same(function(on_device, axis=axis), function(x, axis=axis))
    turned, host = cuda.Array(on_device.host.T[::2]), x.T[::2]
    for axis in (None, 1, (0, 2)):
        same(function(turned, axis=axis), function(host, axis=axis))
    out, want = cuda.put(np.zeros_like(x)), function(x, axis=1)
    for to in (out, on_device):
        assert function(on_device, axis=1, out=to) is to
        same(to, want)


def test_products(draw):
    a, b, y = draw(3, 20, 30), draw(30, 17), draw(30)
    x, w, v = cuda.put(a), cuda.put(b), cuda.put(y)
    same(diptych.matmul(x, w), diptych.matmul(a, b))
    same(diptych.matmul(x, v), diptych.matmul(a, y))
    same(diptych.matmul(v, w), diptych.matmul(y, b))
    same(diptych.dot(v, v), np.asarray(diptych.dot(y, y)))
    same(diptych.vecdot(x, v), diptych.vecdot(a, y))
    same(diptych.outer(v, v), diptych.outer(y, y))
    bias, c = draw(17), draw(20, 17)
    on_device = cuda.put(c)
    result = diptych.gemm(cuda.Array(x.host[0]), w, on_device, alpha=0.5, beta=-1, bias=cuda.put(bias), clip=(0, None))
    assert result is on_device
    same(result, diptych.gemm(a[0], b, c, alpha=0.5, beta=-1, bias=bias, clip=(0, None)))
    same(diptych.ger(2.0, cuda.put(c[:, 0]), cuda.put(bias), on_device), diptych.ger(2.0, c[:, 0].copy(), bias, c))


def test_gradients(draw):
    pred, target = draw(9, 11), draw(9, 11)
    loss, grad = diptych.mse_grad(cuda.put(pred), cuda.put(target))
    want_loss, want = diptych.mse_grad(pred, target)
    same(grad, want)
    same(loss, np.asarray(want_loss))
    loss, grad = diptych.mse_grad(cuda.Array(cuda.put(pred).host.T), cuda.Array(cuda.put(target).host.T))
    want_loss, want = diptych.mse_grad(pred.T, target.T)
    same(grad, want)
    same(loss, np.asarray(want_loss))
    # Large enough for scratch memory, which comes from the framework of the arrays.
    a, x, y = draw(300, 40), draw(40), draw(300)
    arguments = cuda.put(a), cuda.put(x), cuda.put(y)
    made = cuda.current.allocations
    result = diptych.lsq_grad(*arguments)
    same(result, diptych.lsq_grad(a, x, y))
    assert cuda.current.allocations == made + 2
    strided = [cuda.Array(z.host[..., ::-1]) for z in arguments]
    same(diptych.lsq_grad(*strided), diptych.lsq_grad(a[:, ::-1], x[::-1], y[::-1]))


def test_halves():
    rng = np.random.default_rng(6)
    x, y = ((rng.standard_normal((9, 70)) * 3).astype("float16") for _ in range(2))
    a, b = cuda.put(x), cuda.put(y)
    for name in UNARY: same(getattr(diptych, name)(a), getattr(diptych, name)(x))
    for name in BINARY: same(getattr(diptych, name)(a, b), getattr(diptych, name)(x, y))
    for name in REDUCTIONS: same(getattr(diptych, name)(a, axis=1), getattr(diptych, name)(x, axis=1))
    for name in ROW_MAPS: same(getattr(diptych, name)(a, axis=1), getattr(diptych, name)(x, axis=1))
    total = cuda.put(np.zeros(70, "float32"))
    assert diptych.sum(a, axis=0, out=total) is total
    same(total, diptych.sum(x, axis=0, out=np.zeros(70, "float32")))
    same(diptych.vecdot(a, b), diptych.vecdot(x, y))
    same(diptych.outer(cuda.put(x[0]), cuda.put(y[1])), diptych.outer(x[0], y[1]))
    loss, grad = diptych.mse_grad(a, b)
    want_loss, want = diptych.mse_grad(x, y)
    same(loss, np.asarray(want_loss))
    same(grad, want)
    same(diptych.lsq_grad(a, cuda.put(x[0]), cuda.put(y[:, 0].copy())), diptych.lsq_grad(x, x[0], y[:, 0].copy()))


@pytest.mark.parametrize("types", (("float16",) * 2, ("int8",) * 2, ("uint8", "int8"), ("int32",) * 2, ("int64",) * 2))
def test_matmul_of_small_types(types):
    rng = np.random.default_rng(7)
    a, b = (rng.integers(0 if t == "uint8" else -100, 100, shape).astype(t) for t, shape in zip(types, [(9, 70), (70, 5)]))
    same(diptych.matmul(cuda.put(a), cuda.put(b)), diptych.matmul(a, b))


@pytest.mark.parametrize("name", ("int8", "uint8", "int32", "int64"))
def test_integers(name):
    rng = np.random.default_rng(8)
    x, y = (rng.integers(0, 100, (9, 70)).astype(name) for _ in range(2))
    a, b = cuda.put(x), cuda.put(y)
    for function in (diptych.add, diptych.subtract, diptych.multiply, diptych.minimum, diptych.maximum):
        same(function(a, b), function(x, y))
    same(diptych.multiply(3, a), diptych.multiply(3, x))
    same(diptych.clip(a, 5, 60), diptych.clip(x, 5, 60))
    for function in (diptych.sum, diptych.prod, diptych.min, diptych.argmax, diptych.count_nonzero, diptych.sumsq):
        for axis in (None, 0, 1):
            same(function(a, axis=axis), np.asarray(function(x, axis=axis)))
    same(diptych.outer(cuda.put(x[0]), cuda.put(y[1])), diptych.outer(x[0], y[1]))
    if name != "uint8":
        same(diptych.vecdot(a, b), diptych.vecdot(x, y))


@pytest.mark.parametrize("to", ("float16", "float32", "float64", "int8", "uint32", "int64", "bool"))
def test_astype(draw, to):
    x = draw(7, 30) * 50
    on_device = cuda.put(x)
    same(diptych.astype(on_device, to), diptych.astype(x, to))
    turned, out = cuda.Array(on_device.host.T[::2]), cuda.put(np.zeros((15, 7), to))
    assert diptych.astype(turned, to, out=out) is out
    same(out, diptych.astype(x.T[::2], to))
    same(diptych.astype(out, x.dtype), diptych.astype(out.host, x.dtype))


def test_concatenate(draw):
    x, y = draw(3, 5), draw(4, 5)
    a, b = cuda.put(x), cuda.put(y)
    same(diptych.concatenate([a, b]), np.concatenate([x, y]))
    same(diptych.concatenate([a, cuda.Array(a.host[:, ::-1])], axis=1), np.concatenate([x, x[:, ::-1]], axis=1))
    same(diptych.concatenate([a, b], axis=None), np.concatenate([x, y], axis=None))
    out = cuda.put(np.zeros((7, 5), "float16"))
    assert diptych.concatenate([a, b], dtype="float16", out=out) is out
    same(out, np.concatenate([x, y]).astype("float16"))
    frames = [np.full((1, 2, 3), i, "uint8") for i in range(4)]
    same(diptych.concatenate([cuda.put(f) for f in frames], dtype="float32"), np.concatenate(frames).astype("float32"))
    with raises(diptych.ArgumentError, "concatenate: "):
        diptych.concatenate([a, y])
    # Refused before the first part is written.
    streams = [cuda.Interface(cuda.allocate((1, 5), x.dtype), stream=s) for s in (0x70, 0x80)]
    to = cuda.Interface(cuda.allocate((2, 5), x.dtype), stream=0x70)
    before = to.host.copy()
    with raises(diptych.ArgumentError, "concatenate: out and arrays belong to different CUDA streams"):
        diptych.concatenate(streams, out=to)
    host = cuda.Interface(np.ones((1, 5), x.dtype), stream=0x70)
    with raises(diptych.ArgumentError, "concatenate: "):
        diptych.concatenate([streams[0], host], out=to)
    np.testing.assert_array_equal(to.host, before)
    with raises(diptych.ArgumentError, "arrays must all be in CUDA memory, or none of them; "):
        diptych.concatenate([a, np.array(3, x.dtype)], axis=None)
    with raises(diptych.ArgumentError, "out overlaps"):
        diptych.concatenate([cuda.Array(out.host[:4]), cuda.Array(out.host[1:4])], out=out)


def test_no_elements(draw):
    # Their address may be any.
    empty = cuda.Array(np.ndarray((0, 5), draw(1).dtype)[:, ::-1])
    same(diptych.sum(empty, axis=0), np.zeros(5, draw(1).dtype))
    same(diptych.square(empty), np.zeros((0, 5), draw(1).dtype))
    same(diptych.matmul(cuda.Array(empty.host.T), empty), np.zeros((5, 5), draw(1).dtype))


def test_scratch_memory(draw):
    a, x, y = draw(300, 40), draw(40), draw(300)
    want = diptych.lsq_grad(a, x, y)
    # The library's own, for arrays of a type that cannot allocate.
    out = cuda.put(x, cuda.Interface)
    diptych.lsq_grad(*(cuda.put(z, cuda.Interface) for z in (a, x, y)), out=out)
    np.testing.assert_array_equal(out.host, want)
    # It has blocks for 32 streams; types that can allocate do not use them.
    before = cuda.current.stream
    try:
        for i in range(40):
            cuda.current.stream = before + 0x100 * i
            same(diptych.lsq_grad(cuda.put(a), cuda.put(x), cuda.put(y)), want)
    finally:
        cuda.current.stream = before


def test_streams(draw):
    x = draw(8)
    cuda.launches.clear()
    diptych.add(cuda.put(x), 1)
    assert cuda.launches == [(f"add_f{8 * x.itemsize}", cuda.current.stream)]
    legacy, out = cuda.put(x, cuda.Dlpack), cuda.put(x, cuda.Dlpack)
    assert diptych.add(legacy, 1, out=out) is out
    np.testing.assert_array_equal(out.host, x + 1)
    # Its work was ordered before that of the default stream.
    assert legacy.stream == 1 and cuda.launches[-1][1] == 0
    with raises(diptych.ArgumentError, "out and x belong to different CUDA streams"):
        diptych.square(legacy, out=cuda.put(x))


def test_cuda_array_interface(draw):
    x = draw(4, 6)
    on_device, out = cuda.put(x, cuda.Interface), cuda.put(x, cuda.Interface)
    assert diptych.square(on_device, out=out) is out
    np.testing.assert_array_equal(out.host, x * x)
    turned = cuda.Interface(on_device.host.T, stream=cuda.current.stream)
    mixed = cuda.Interface(cuda.allocate((6, 4), x.dtype), stream=cuda.current.stream)
    diptych.negative(turned, out=mixed)
    np.testing.assert_array_equal(mixed.host, -x.T)
    assert cuda.launches[-1][1] == cuda.current.stream
    with raises(diptych.ArgumentError, "square: the type of the arrays does not say how to allocate CUDA memory"):
        diptych.square(on_device)


def test_refusals(draw):
    x = draw(4, 6)
    on_device = cuda.put(x)
    before = on_device.host.copy()
    elsewhere = "arrays must all be in CUDA memory, or none of them; "
    with raises(diptych.ArgumentError, "add: " + elsewhere + "out in CUDA memory, x in CUDA memory, y in CPU memory"):
        diptych.add(on_device, x)
    with raises(diptych.ArgumentError, "add: " + elsewhere):
        diptych.add(on_device, 1, out=x)
    with raises(diptych.ArgumentError, "matmul: " + elsewhere):
        diptych.matmul(on_device, x.T)
    with raises(diptych.ArgumentError, "clip: min must be a number, or an array without axes in host memory"):
        diptych.clip(on_device, on_device)
    large = cuda.put(draw(300, 4, 300), cuda.Interface)
    with raises(diptych.ArgumentError, "sum: the call needs "):
        diptych.sum(large, axis=(0, 2), out=cuda.put(draw(4), cuda.Interface))
    with raises(diptych.ArgumentError, "mse_grad: cannot make the loss"):
        diptych.mse_grad(cuda.put(x, cuda.Interface), cuda.put(x, cuda.Interface), out=cuda.put(x, cuda.Interface))
    joined = np.zeros((8, 6), x.dtype)
    with raises(diptych.ArgumentError, "concatenate: "):
        diptych.concatenate([x, on_device], out=joined)
    assert not joined.any()
    with raises(diptych.ShapeError, "add: the shapes do not fit"):
        diptych.add(on_device, cuda.put(draw(5)))
    with raises(diptych.DtypeError, "divide: arrays of type int32 are not supported; diptych.astype converts them"):
        diptych.divide(cuda.put(np.ones(3, "int32")), cuda.put(np.ones(3, "int32")))
    with raises(diptych.ArgumentError, "overlaps"):
        diptych.outer(cuda.Array(on_device.host[0, :4]), cuda.Array(on_device.host[1]), out=on_device)
    np.testing.assert_array_equal(on_device.host, before)


def test_a_failing_driver(draw):
    x = cuda.put(draw(4))
    cuda.driver.fake_fail(b"cuLaunchKernel", 700)
    try:
        with raises(diptych.Error, "square: the CUDA driver refused the launch with error 700"):
            diptych.square(x)
    finally:
        cuda.driver.fake_heal()
    same(diptych.square(x), x.host * x.host)
