"""Times calls on one thread and on two, in a process in which NumPy's and PyTorch's threads spin after a product.

    python bench/beside_threads.py [--setting quiet|numpy|torch|busy] [--rounds N] [--ms N] [--only TEXT] [--markdown] [--gate]

The settings: `quiet`, where their threads sleep; `numpy` and `torch`, where each sample begins right after a product of
theirs on two threads; `busy`, beside a process that never stops computing. A figure is the median of the ratios of
two adjacent samples, on two threads and on one; with --gate it may be at most 1.1 for calls of more than a microsecond.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "2"

import argparse  # noqa: E402
import contextlib  # noqa: E402
import statistics  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

import diptych  # noqa: E402

BOUND = 1.1
# Longer than the threads of OpenBLAS and of OpenMP spin.
PAUSE = 0.25


def cases():
    """Yields a name and a call, from a microsecond to milliseconds."""
    rng = np.random.default_rng(1)

    def make(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    for n in (32, 64, 100, 128, 256, 512):
        x, y, out = make(n, n), make(n, n), make(n, n)
        yield f"matmul {n}x{n}x{n}", lambda x=x, y=y, out=out: diptych.matmul(x, y, out=out)
    x, y, out = make(64, 1000), make(1000, 100), make(64, 100)
    yield "matmul 64x1000x100", lambda x=x, y=y, out=out: diptych.matmul(x, y, out=out)
    # The largest is much larger than caches: just above their size, what a call leaves there decides.
    for n in (10_000, 100_000, 1_000_000, 40_000_000):
        x, y, out = make(n), make(n), make(n)
        yield f"add {n}", lambda x=x, y=y, out=out: diptych.add(x, y, out=out)
        yield f"sum {n}", lambda x=x: diptych.sum(x)
    for n in (100, 1000, 3000):
        x, y, out = make(n), make(n), make(n, n)
        yield f"outer {n}x{n}", lambda x=x, y=y, out=out: diptych.outer(x, y, out=out)
    for d in (30, 100, 1000):
        a, x, y = make(10 * d, d), make(d), make(10 * d)
        yield f"lsq_grad {10 * d}x{d}", lambda a=a, x=x, y=y: diptych.lsq_grad(a, x, y)


def products():
    """Returns what wakes the threads of each library."""
    x = np.ones((400, 400), np.float32)
    made = {"numpy": lambda: x @ x}
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: the setting torch is left out")
        return made
    torch.set_num_threads(2)
    tensor = torch.from_numpy(x)
    made["torch"] = lambda: tensor @ tensor
    return made


@contextlib.contextmanager
def busy():
    """A process beside this one that never stops computing."""
    spinning = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        time.sleep(0.2)
        yield
    finally:
        spinning.kill()
        spinning.wait()


def sample(call, threads, before, seconds):
    """Returns the time of a call in us, after `before`."""
    with diptych.threads(threads):
        if before:
            before()
        count, begin = 0, time.perf_counter()
        while True:
            call()
            count += 1
            took = time.perf_counter() - begin
            if took > seconds:
                return took / count * 1e6


def ratios(call, before, rounds, seconds):
    """Returns the times on one and on two threads, and the median of their ratios."""
    pairs = []
    for i in range(rounds + 1):
        # Each is as often the first as the second.
        order = (1, 2) if i % 2 else (2, 1)
        times = {threads: sample(call, threads, before, seconds) for threads in order}
        pairs.append((times[1], times[2]))
    one, two = (statistics.median(column) for column in zip(*pairs[1:]))
    return one, two, statistics.median(two / one for one, two in pairs[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setting", choices=["quiet", "numpy", "torch", "busy"], action="append")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--ms", type=float, help="how long a sample takes: 2, or 20 beside a process")
    parser.add_argument("--only", default="", help="only calls whose name contains this")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--gate", action="store_true", help=f"fail when two threads take {BOUND} times the time of one")
    options = parser.parse_args()
    made = products()
    # The libraries and the pool have their threads.
    for product in made.values():
        product()
    with diptych.threads(2):
        diptych.sum(np.ones(4_000_000, np.float32))
    failed = []
    for setting in options.setting or ["quiet", *made, "busy"]:
        if setting not in made and setting not in ("quiet", "busy"):
            continue
        time.sleep(PAUSE)
        # Beside a process a sample is to be longer than the scheduler's slices, about 4 ms.
        seconds = (options.ms or (20 if setting == "busy" else 2)) / 1000
        with busy() if setting == "busy" else contextlib.nullcontext():
            for name, call in cases():
                if options.only not in name:
                    continue
                one, two, ratio = ratios(call, made.get(setting), options.rounds, seconds)
                slow = ratio > BOUND and one > 1
                failed += [f"{name} ({setting}): {ratio:.2f}"] if slow else []
                mark = "  above the bound" if slow else ""
                if options.markdown:
                    print(f"| {setting} | {name} | {one:.4g} | {two:.4g} | {ratio:.2f} |")
                else:
                    print(f"{setting:6} {name:22} {one:10.2f} us {two:10.2f} us {ratio:6.2f}{mark}", flush=True)
    if options.gate and failed:
        sys.exit(f"two threads take more than {BOUND} times the time of one: {', '.join(failed)}")


if __name__ == "__main__":
    main()
