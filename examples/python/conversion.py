"""Arrays that pass between NumPy, PyTorch and Diptych without a copy, and the calls that do copy.

    python examples/python/conversion.py [--quick] [--chart conversion.svg]

Times each conversion of 1,000 and of 10,000,000 float32 elements, and checks whether the result has the same
memory. What copies takes as long as reading and writing the elements; what does not takes the same for both.
"""

import array
import itertools
import warnings

import common
import diptych
import numpy as np

SIZES = (1000, 10_000_000)


def numpy_conversions():
    """Yields what it does, its name, what makes the source of an array, and the conversion."""
    same = "shares memory"
    yield same, "np.asarray(memoryview)", memoryview, np.asarray
    yield same, "np.from_dlpack(array)", np.asarray, np.from_dlpack
    yield same, "memoryview(array)", np.asarray, memoryview
    yield same, "x.reshape(-1, 2)", np.asarray, lambda x: x.reshape(-1, 2)
    copy = "copies"
    yield copy, "np.array(x)", np.asarray, np.array
    yield copy, "x.astype(x.dtype)", np.asarray, lambda x: x.astype(x.dtype)
    yield copy, "x.reshape(-1, 2).T.ravel()", np.asarray, lambda x: x.reshape(-1, 2).T.ravel()
    yield copy, "diptych.astype(x, x.dtype)", np.asarray, lambda x: diptych.astype(x, x.dtype)


def torch_conversions(torch):
    """The same with PyTorch."""
    same = "shares memory"
    yield same, "torch.from_numpy(x)", np.asarray, torch.from_numpy
    yield same, "torch.as_tensor(x)", np.asarray, torch.as_tensor
    yield same, "torch.from_dlpack(x)", np.asarray, torch.from_dlpack
    yield same, "t.numpy()", torch.from_numpy, lambda t: t.numpy()
    yield same, "np.asarray(t)", torch.from_numpy, np.asarray
    yield same, "np.from_dlpack(t)", torch.from_numpy, np.from_dlpack
    copy = "copies"
    yield copy, "torch.tensor(x)", np.asarray, torch.tensor
    yield copy, "np.array(t)", torch.from_numpy, np.array
    yield copy, "t.reshape(-1, 2).T.reshape(-1)", torch.from_numpy, lambda t: t.reshape(-1, 2).T.reshape(-1)


def call_cases(torch):
    """Diptych takes each kind as it is: sums of the same elements, in place, for each kind of array."""
    kinds = {"array": np.asarray, "memoryview": memoryview, "array.array": lambda x: array.array("f", x.tobytes())}
    if torch:
        kinds["tensor"] = torch.from_numpy
    for name, make in kinds.items():
        for n in SIZES:
            x = make(np.ones(n, np.float32))
            yield common.Case(f"diptych.sum({name})", n, {"us": lambda: diptych.sum(x)})


def address(x):
    """Returns where the elements of an array lie."""
    return x.data_ptr() if hasattr(x, "data_ptr") else np.asarray(x).ctypes.data


def conversion_cases(conversions):
    for group, name, make, convert in conversions:
        for n in SIZES:
            source = make(np.ones(n, np.float32))
            shares = address(convert(source)) == address(source)
            if shares != (group == "shares memory"):
                raise SystemExit(f"{name}: {'shares memory' if shares else 'copies'}")
            yield common.Case(f"{name}: {group}", n, {"us": lambda: convert(source)})


def traps(torch):
    """Shows what stops at a conversion, and what Diptych does there."""
    x = np.arange(6, dtype=np.float32)
    total = diptych.sum(x[::-1])
    lines = [f"diptych.sum(x[::-1]) is {total:g}: negative strides need no copy."]
    try:
        diptych.sum([1.0, 2.0])
    except TypeError as error:
        lines.append(f"diptych.sum([1.0, 2.0]): {error}")
    if torch:
        for text, call in (
            ("torch.from_numpy(x[::-1])", lambda: torch.from_numpy(x[::-1])),
            ("t.numpy() of one that requires grad", lambda: torch.ones(2, requires_grad=True).numpy()),
            ("diptych.sum of one that requires grad", lambda: diptych.sum(torch.ones(2, requires_grad=True))),
        ):
            try:
                call()
                lines.append(f"{text}: works")
            except (ValueError, RuntimeError, TypeError) as error:
                lines.append(f"{text}: {str(error).splitlines()[0]}")
    print("\n".join(lines))


def main():
    options = common.arguments(__doc__)
    torch = common.optional("torch")
    warnings.filterwarnings("ignore", message="__array__ implementation", category=DeprecationWarning)
    common.machine(np, torch, diptych)
    conversions = [*numpy_conversions(), *(torch_conversions(torch) if torch else [])]
    cases = itertools.chain(conversion_cases(conversions), call_cases(torch))
    done = common.measure(cases, options)
    rows = [["us", "", *(f"{n:,} elements" for n in SIZES)]]
    for small, large in zip(done[::2], done[1::2]):
        name, _, group = small.group.partition(": ")
        rows.append([name, group or "no conversion", f"{small.times['us']:.3g}", f"{large.times['us']:.4g}"])
    common.print_rows(rows)
    traps(torch)
    for case in done:
        case.times = {case.group.split(":")[0]: case.times["us"]}
        case.group = f"{case.size:,} elements"
        case.size = ""
    common.chart(done, options, "Conversions of float32 arrays, us")


if __name__ == "__main__":
    main()
