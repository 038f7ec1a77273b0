"""Times calls on arrays of ordinary sizes beside NumPy's and PyTorch's, interleaved, one thread each.

    python bench/sizes.py [--rounds N]
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

import diptych  # noqa: E402


def cases(torch):
    """Yields (name, Diptych's call, NumPy's, PyTorch's or None)."""
    rng = np.random.default_rng(1)

    def make(*shape):
        array = rng.standard_normal(shape).astype(np.float32)
        return array, torch.from_numpy(array) if torch else None

    for n in (1000, 100_000, 4_000_000):
        x, tx = make(n)
        y, ty = make(n)
        out, tout = make(n)
        yield f"add out= {n}", lambda: diptych.add(x, y, out=out), lambda: np.add(x, y, out=out), torch and (lambda: torch.add(tx, ty, out=tout))
        yield f"clip out= {n}", lambda: diptych.clip(x, -1, 1, out=out), lambda: np.clip(x, -1, 1, out=out), torch and (lambda: torch.clip(tx, -1, 1, out=tout))
        yield f"sum {n}", lambda: diptych.sum(x), lambda: np.sum(x), torch and (lambda: torch.sum(tx))
        yield f"var {n}", lambda: diptych.var(x), lambda: np.var(x), torch and (lambda: torch.var(tx, correction=0))
        yield (
            f"mse_grad {n}",
            lambda: diptych.mse_grad(x, y, out=out),
            lambda: (np.subtract(x, y, out=out), np.dot(out, out), np.multiply(out, 2, out=out)),
            None,
        )
    for m, n in ((10, 10), (100, 1000), (1000, 1000)):
        x, tx = make(m)
        y, ty = make(n)
        out, tout = make(m, n)
        a, ta = make(m, n)
        yield f"outer {m}x{n}", lambda: diptych.outer(x, y), lambda: np.outer(x, y), torch and (lambda: torch.outer(tx, ty))
        yield f"outer out= {m}x{n}", lambda: diptych.outer(x, y, out=out), lambda: np.outer(x, y, out=out), torch and (lambda: torch.outer(tx, ty, out=tout))
        yield f"sum axis=0 {m}x{n}", lambda: diptych.sum(a, axis=0), lambda: np.sum(a, axis=0), torch and (lambda: torch.sum(ta, 0))
        yield f"max axis=1 {m}x{n}", lambda: diptych.max(a, axis=1), lambda: np.max(a, axis=1), torch and (lambda: torch.amax(ta, 1))
        yield f"lsq_grad {m}x{n}", lambda: diptych.lsq_grad(a, y, x), lambda: 2 * (a.T @ (a @ y - x)), torch and (lambda: 2 * (ta.T @ (ta @ ty - tx)))
    for m, k, n in ((8, 8, 8), (64, 784, 100), (512, 512, 512)):
        x, tx = make(m, k)
        y, ty = make(k, n)
        out, tout = make(m, n)
        yield f"matmul out= {m}x{k}x{n}", lambda: diptych.matmul(x, y, out=out), lambda: np.matmul(x, y, out=out), torch and (lambda: torch.matmul(tx, ty, out=tout))


def per_call(call, seconds=0.01):
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - begin
        if took > seconds / 2:
            return took / count * 1e6
        count = max(count * 2, int(count * seconds / max(took, 1e-7)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    try:
        import torch

        torch.set_num_threads(1)
    except ImportError:
        torch = None
    print(f"us a call{'':16} {'diptych':>9} {'NumPy':>9} {'PyTorch':>9}   times faster")
    for name, *calls in cases(torch):
        calls = [call for call in calls if call]
        times = [[per_call(call) for call in calls] for _ in range(options.rounds)]
        middle = [statistics.median(column) for column in zip(*times)]
        texts = [f"{value:9.2f}" for value in middle] + [" " * 9] * (3 - len(middle))
        ratios = [f"{statistics.median(row[i] / row[0] for row in times):5.2f}" for i in range(1, len(calls))]
        print(f"{name:25} {' '.join(texts)}   {' '.join(ratios)}")


if __name__ == "__main__":
    main()
