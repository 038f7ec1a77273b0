"""The outer product: NumPy's np.outer, PyTorch's torch.ger, and diptych.outer, over sizes from 2 to 4096.

    python examples/python/outer.py [--quick] [--chart outer.svg]

Prints the time of a call in us, with a new result and with out=, for float32 and float64, one thread each.
"""

import warnings

import common
import diptych
import numpy as np

torch = None


def cases(quick):
    random = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        for with_out in (False, True):
            for n in (2, 32, 256) if quick else [2**i for i in range(1, 13)]:
                yield case(*random.standard_normal((2, n)).astype(dtype), with_out)


def case(x, y, with_out):
    options = {"out": np.empty((len(x), len(y)), x.dtype)} if with_out else {}
    calls = {"np.outer": lambda: np.outer(x, y, **options)}
    if torch:
        tx, ty = torch.from_numpy(x), torch.from_numpy(y)
        tensors = {"out": torch.empty(len(x), len(y), dtype=tx.dtype)} if with_out else {}
        calls["torch.ger"] = lambda: torch.ger(tx, ty, **tensors)
    calls["diptych.outer"] = lambda: diptych.outer(x, y, **options)
    return common.Case(f"{x.dtype}{' out=' if with_out else ''}", len(x), calls, tolerance=0)


def main():
    global torch
    options = common.arguments(__doc__)
    torch = common.optional("torch")
    warnings.filterwarnings("ignore", message="torch.ger is deprecated")
    common.machine(np, torch, diptych)
    done = common.measure(cases(options.quick), options, 12 if options.quick else 48)
    common.table(done)
    common.chart(done, options, "Outer product of two vectors, us a call")


if __name__ == "__main__":
    main()
