"""Times calls on small arrays beside NumPy's and PyTorch's own, interleaved, and prints medians in ns.

    python bench/calls.py [--rounds N] [--gate]

With --gate it fails when a call of Diptych takes more than its share of the other's time.
"""

import argparse
import statistics
import sys
import timeit

import numpy as np

import diptych


def cases():
    """Yields (name, Diptych's call, the other's call, the largest share, variables)."""
    x, y, out = (np.ones(4, np.float32) for _ in range(3))
    big = np.ones((4, 4), np.float32)
    names = {"d": diptych, "np": np, "x": x, "y": y, "out": out, "big": big, "m": np.ones((4, 4), np.float32)}
    yield "numpy add out=", "d.add(x, y, out=out)", "np.add(x, y, out=out)", 0.5, names
    yield "numpy add", "d.add(x, y)", "np.add(x, y)", 1.0, names
    yield "numpy add number", "d.add(x, 2.0)", "np.add(x, 2.0)", 1.0, names
    yield "numpy clip out=", "d.clip(x, 0, 1, out=out)", "np.clip(x, 0, 1, out=out)", 0.5, names
    yield "numpy outer", "d.outer(x, y)", "np.outer(x, y)", 0.25, names
    yield "numpy outer out=", "d.outer(x, y, out=big)", "np.outer(x, y, out=big)", 0.25, names
    yield "numpy sum", "d.sum(x)", "np.sum(x)", 0.5, names
    yield "numpy sum axis", "d.sum(m, axis=0)", "np.sum(m, axis=0)", 0.5, names
    yield "numpy dot", "d.dot(x, y)", "np.dot(x, y)", 1.0, names
    yield "numpy matmul", "d.matmul(m, m)", "np.matmul(m, m)", 1.0, names
    yield "numpy matmul out=", "d.matmul(m, m, out=big)", "np.matmul(m, m, out=big)", 1.0, names
    try:
        import torch
    except ImportError:
        return
    x, y, out = (torch.ones(4) for _ in range(3))
    names = {"d": diptych, "torch": torch, "x": x, "y": y, "out": out, "m": torch.ones(4, 4)}
    yield "torch add out=", "d.add(x, y, out=out)", "torch.add(x, y, out=out)", 1.0, names
    # A new tensor from DLPack's allocator takes PyTorch 0.6 us.
    yield "torch add", "d.add(x, y)", "torch.add(x, y)", 1.5, names
    yield "torch outer", "d.outer(x, y)", "torch.outer(x, y)", 1.0, names
    yield "torch sum", "d.sum(x)", "torch.sum(x)", 1.0, names
    yield "torch matmul", "d.matmul(m, m)", "torch.matmul(m, m)", 1.75, names


def per_call(code, names, number):
    return timeit.Timer(code, globals=names).timeit(number) / number * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--gate", action="store_true")
    options = parser.parse_args()
    failed = []
    print(f"{'':20} {'diptych':>8} {'other':>8} {'share':>6} {'bound':>6}")
    for name, ours, theirs, bound, names in cases():
        try:
            eval(ours, names)
        except diptych.Error as error:
            print(f"{name:20} {error}")
            continue
        pairs = [(per_call(ours, names, 20000), per_call(theirs, names, 5000)) for _ in range(options.rounds)]
        mine, other = (statistics.median(column) for column in zip(*pairs))
        share = statistics.median(a / b for a, b in pairs)
        mark = ""
        if share > bound:
            mark = "  too slow"
            failed.append(name)
        print(f"{name:20} {mine:8.1f} {other:8.1f} {share:6.2f} {bound:6.2f}{mark}")
    if options.gate and failed:
        sys.exit("too slow: " + ", ".join(failed))


if __name__ == "__main__":
    main()
