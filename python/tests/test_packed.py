"""Products with packed matrices have the bits of those with the matrices."""

import threading

import numpy as np
import pytest

import diptych
from conftest import raises

SHAPES = [(1, 70, 300), (3, 5, 7), (17, 33, 257), (64, 40, 1030), (5, 1, 9), (0, 4, 3), (2, 3, 0)]


def draw(rng, dtype, shape):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-100, 100, shape).astype(dtype)


@pytest.mark.parametrize("first, second", [("f4", "f4"), ("f8", "f8"), ("f2", "f2"), ("i1", "i1"), ("u1", "i1"), ("i4", "i4"), ("i8", "i8")])
def test_products_are_the_same(first, second):
    rng = np.random.default_rng(1)
    for m, n, k in SHAPES:
        x, b = draw(rng, first, (m, k)), draw(rng, second, (k, n))
        for matrix in (b, np.asfortranarray(b)):
            packed = diptych.pack(matrix)
            assert packed.shape == (k, n) and packed.nbytes >= 64 + b.nbytes
            for left in (x, x.reshape(1, m, k)):
                want = diptych.matmul(left, b)
                ours = diptych.matmul(left, packed)
                assert ours.dtype == want.dtype and ours.shape == want.shape
                assert ours.tobytes() == want.tobytes()
            for row in x[:1]:
                assert diptych.matmul(row, packed).tobytes() == diptych.matmul(x[:1], b).tobytes()


def test_gemm_takes_what_follows():
    rng = np.random.default_rng(2)
    a, b = draw(rng, "f4", (20, 300)), draw(rng, "f4", (300, 50))
    bias, c = draw(rng, "f4", 50), draw(rng, "f4", (20, 50))
    options = {"alpha": 0.5, "beta": 2.0, "bias": bias, "clip": (0, None)}
    want = diptych.gemm(a, b, c.copy(), **options)
    out = c.copy()
    assert diptych.gemm(a, diptych.pack(b), out, **options) is out
    assert out.tobytes() == want.tobytes()
    q, w = draw(rng, "u1", (6, 90)), draw(rng, "i1", (90, 20))
    scales = {"row_scale": draw(rng, "f4", 6), "column_scale": draw(rng, "f4", 20)}
    assert diptych.gemm(q, diptych.pack(w), **scales).tobytes() == diptych.gemm(q, w, **scales).tobytes()


def test_packed_matrices_travel_as_bytes():
    b = np.arange(600, dtype=np.float32).reshape(20, 30)
    x = np.ones((2, 20), np.float32)
    packed = diptych.pack(b)
    data = bytes(packed)
    assert len(data) == packed.nbytes
    again = diptych.Packed.from_bytes(data)
    assert (again.shape, again.dtype) == ((20, 30), "float32")
    assert diptych.matmul(x, again).tobytes() == diptych.matmul(x, b).tobytes()
    b[:] = 0
    assert diptych.matmul(x, packed).any()
    assert repr(packed) == "<diptych.Packed of shape (20, 30), dtype float32>"
    with raises(diptych.ArgumentError, "packed has a value that is not allowed"):
        diptych.Packed.from_bytes(b"no packed matrix" * 8)
    with raises(diptych.ArgumentError, "packed has a value that is not allowed"):
        diptych.matmul(x, diptych.Packed.from_bytes(data[:-64]))


def test_threads_share_a_packed_matrix():
    rng = np.random.default_rng(3)
    b = draw(rng, "f4", (500, 300))
    packed, wrong = diptych.pack(b), []

    def work(seed):
        x = draw(np.random.default_rng(seed), "f4", (16, 500))
        want = diptych.matmul(x, b).tobytes()
        wrong.extend(seed for _ in range(20) if diptych.matmul(x, packed).tobytes() != want)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_misfits_are_refused():
    b = np.ones((3, 4), np.float32)
    packed = diptych.pack(b)
    with raises(diptych.ShapeError, "matmul: x (2, 5) and the packed y (3, 4): the inner sizes differ"):
        diptych.matmul(np.ones((2, 5), np.float32), packed)
    with raises(diptych.ShapeError, "gemm: a (3,) and the packed b (3, 4): too few axes"):
        diptych.gemm(np.ones(3, np.float32), packed)
    with raises(diptych.DtypeError, "matmul: x has the type float64, the packed y has float32"):
        diptych.matmul(np.ones((2, 3)), packed)
    with raises(diptych.ShapeError, "pack: b (3,) is not a matrix"):
        diptych.pack(np.ones(3))
    with raises(diptych.DtypeError, ""):
        diptych.pack(np.ones((2, 2), np.uint16))
    for call in (lambda: diptych.add(packed, packed), lambda: diptych.sum(packed), lambda: diptych.matmul(packed, packed)):
        with raises(diptych.DtypeError, "is packed: only matmul and gemm take it, as their second factor"):
            call()
