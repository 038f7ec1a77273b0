"""``batch_invariant``: a row of a product alone is that row of any batch."""

import contextvars
import threading

import numpy as np
import pytest

import diptych

K, N = 700, 90


@pytest.fixture(params=["float32", "float64"])
def operands(request):
    rng = np.random.default_rng(5)
    return [rng.standard_normal(shape).astype(request.param) for shape in [(64, K), (K, N)]]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_row_has_the_bits_of_any_batch(operands, transposed, threads):
    a, b = operands
    if transposed:
        b = np.asfortranarray(b)
    packed = diptych.pack(b)
    with diptych.batch_invariant(), diptych.threads(threads):
        whole = diptych.matmul(a, b)
        for i in range(0, 64, 9):
            for alone in [
                diptych.matmul(a[i : i + 1], b),
                diptych.matmul(a[i], b)[None],
                diptych.matmul(a[i : i + 1], packed),
                diptych.dot(a[i : i + 1], b),
                diptych.matmul(a[i].reshape(1, 1, K), b)[0],
            ]:
                np.testing.assert_array_equal(alone, whole[i : i + 1], strict=True)
        for rows in [2, 3, 7, 17]:
            np.testing.assert_array_equal(diptych.matmul(a[-rows:], b), whole[-rows:])


def test_it_ends_with_its_block(operands):
    a, b = operands
    whole, alone = diptych.matmul(a, b)[:1], diptych.matmul(a[:1], b)
    assert (whole != alone).any()
    outer, inner = diptych.batch_invariant(), diptych.batch_invariant()
    with outer:
        with inner:
            assert (diptych.matmul(a[:1], b) == whole).all()
        assert (diptych.matmul(a[:1], b) == whole).all()
        # Another thread, and another context, have blocks of their own.
        results = []
        thread = threading.Thread(
            target=contextvars.Context().run, args=(lambda: results.append(diptych.matmul(a[:1], b)),)
        )
        thread.start()
        thread.join()
        assert (results[0] == alone).all()
    assert (diptych.matmul(a[:1], b) == alone).all()


def test_an_exception_ends_it(operands):
    a, b = operands
    alone = diptych.matmul(a[:1], b)
    with pytest.raises(ZeroDivisionError), diptych.batch_invariant():
        1 / 0
    assert (diptych.matmul(a[:1], b) == alone).all()
