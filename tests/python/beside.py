"""A program that forks, starts threads and uses SciPy, whose NumPy takes its products from Diptych: nothing
disturbs it, and all of its parts get the same bits. Run by `cargo xtask blas`, in `diptych.preload`'s environment.
"""

import hashlib
import multiprocessing
import subprocess
import sys
import threading

import numpy as np

SIZE = 320


def matrices(dtype):
    random = np.random.default_rng(3)
    return random.standard_normal((2, SIZE, SIZE)).astype(dtype)


def products(dtype):
    """A hash of products that are large enough for threads."""
    a, b = matrices(dtype)
    digest = hashlib.sha256()
    for result in (a @ b, a @ a.T, a.T @ a, a @ b[0], a.T @ b[0], np.dot(a[0], b[0])):
        digest.update(np.asarray(result).tobytes())
    return digest.hexdigest()[:16]


def check_bits(dtype):
    """The products are Diptych's: they are right, and row i of one is the product of row pairs."""
    a, b = matrices(dtype)
    whole, exact = a @ b, a.astype(np.longdouble) @ b.astype(np.longdouble)
    assert np.abs(whole - exact).max() < SIZE * np.finfo(dtype).eps * 20
    for i in range(0, SIZE, 32):
        assert np.array_equal(a[i : i + 2] @ b, whole[i : i + 2])
    # The same buffer twice is a syrk, of which NumPy copies one triangle.
    square = a @ a.T
    assert np.array_equal(square, a @ a.T.copy()) and np.array_equal(square, square.T)


def check_forks(dtype, right):
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as pool:
        hashes = pool.map_async(products, [dtype] * 8).get(60)
    assert set(hashes) == {right}


def check_threads(dtype, right):
    hashes = []
    threads = [threading.Thread(target=lambda: hashes.append(products(dtype))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert hashes == [right] * 8


def check_linear_algebra(dtype):
    a, b = matrices(dtype)
    loose = SIZE * np.finfo(dtype).eps * 1000
    assert np.allclose(a @ np.linalg.solve(a, b), b, atol=loose)
    assert np.allclose((lambda u, s, v: u * s @ v)(*np.linalg.svd(a)), a, atol=loose)
    try:
        from scipy import linalg
    except ImportError:
        print("beside: without SciPy")
        return
    p, low, up = linalg.lu(a)
    assert np.allclose(p @ low @ up, a, atol=loose)
    q, r = linalg.qr(a)
    assert np.allclose(q @ r, a, atol=loose) and np.allclose(q.T @ q, np.eye(SIZE), atol=loose)
    spd = a @ a.T + SIZE * np.eye(SIZE, dtype=dtype)
    lower = linalg.cholesky(spd, lower=True)
    assert np.allclose(lower @ lower.T, spd, atol=loose * SIZE)
    w, v = linalg.eigh(spd)
    assert np.allclose(v * w @ v.T, spd, atol=loose * SIZE)
    x, y = a[0].copy(), b[0].copy()
    gemm, dot, nrm2 = linalg.get_blas_funcs(("gemm", "dot", "nrm2"), (a, b))
    assert np.array_equal(gemm(1, a, b), a @ b)
    assert dot(x, y) == x @ y and np.isclose(nrm2(x), linalg.norm(x))


def check_program():
    """A program that this one starts has the same NumPy."""
    code = "import numpy as np; a = np.ones((3, 3), np.float32); print((a @ a).sum())"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert started.stdout == "27.0\n" and not started.stderr, started


def main():
    hashes = []
    for dtype in (np.float32, np.float64):
        right = products(dtype)
        check_bits(dtype)
        check_forks(dtype, right)
        check_threads(dtype, right)
        check_linear_algebra(dtype)
        check_forks(dtype, right)
        hashes.append(right)
    check_program()
    print("products", *hashes)


if __name__ == "__main__":
    main()
