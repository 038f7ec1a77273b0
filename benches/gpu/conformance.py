"""Every operation on the device gives the bits that it gives on the CPU: the same C function is called with
host arrays and with device arrays. Arguments: `small` for a short run (under a sanitizer), `huge` for more
than 2^31 elements. The last line is JSON."""
import ctypes
import json
import random
import sys

from diptych import TYPES, Device, Failure, call, cuda


class Out:
    """An output of so many elements, which also is an input."""

    def __init__(self, count, kind=None):
        self.count, self.kind = count, kind


class In:
    """An input of so many elements."""

    def __init__(self, count, nan=False):
        self.count, self.nan = count, nan


def values(kind, count, seed, nan):
    """Ordinary numbers, zeros of both signs, subnormal and large ones; with `nan`, one NaN."""
    source = random.Random(seed)
    special = [0.0, -0.0, 1e-40, 1e-310, 1e6, -1e6]
    # A prime number of them: no two chunks of an array are alike.
    pool = (kind * 4099)(*(source.choice(special) if source.random() < 0.05 else source.uniform(-4, 4) for _ in range(4099)))
    array = (kind * count).from_buffer_copy(bytes(pool) * (count // 4099 + 1))
    if nan and count:
        array[count // 2] = float("nan")
    return array


REDUCTIONS = "sum mean prod min max sumsq asum nrm2 logsumexp argmin argmax".split()


def cases(kind, sizes, matrices, products):
    """Name and arguments of each call; floats are of the type `kind`."""
    index = ctypes.c_int64
    for n in sizes:
        for name in ("add", "sub", "mul", "div"):
            yield name, [n, In(n), In(n), Out(n)]
        yield "clamp", [n, In(n), kind(-1.0), kind(2.0), Out(n)]
        yield "clamp_backward", [n, In(n), In(n), kind(-1.0), kind(2.0), Out(n)]
        yield "scale", [n, kind(1.7), In(n), Out(n)]
        yield "axpy", [n, kind(-0.3), In(n), Out(n)]
        yield "square", [n, In(n), Out(n)]
        yield "fill", [n, kind(2.5), Out(n)]
        for nan in (False, True):
            for name in REDUCTIONS:
                yield name, [n, In(n, nan), 1, Out(1, index if name.startswith("arg") else None)]
            if n > 1:
                yield "var", [n, In(n, nan), 1, 1, Out(1)]
        yield "sum", [n // 2, In(n), 2, Out(1)]
        yield "dot", [n, In(n), 1, In(n), 1, Out(1)]
        yield "mse_grad", [n, In(n), In(n), Out(n), Out(1)]
    for m, n in matrices:
        for rs, cs in ((n, 1), (1, m)):
            for name in REDUCTIONS:
                out = Out(m, index if name.startswith("arg") else None)
                yield name + "_rows", [m, n, In(m * n), rs, cs, out, 1]
            if n > 1:
                yield "var_rows", [m, n, In(m * n), rs, cs, 1, Out(m), 1]
            yield "outer", [m, n, In(m), 1, In(n), 1, Out(m * n), rs, cs]
            yield "ger", [m, n, kind(0.7), In(m), 1, In(n), 1, Out(m * n), rs, cs]
            yield "lsq_grad", [m, n, In(m * n), rs, cs, In(n), In(m), Out(n)]
    for m, n, k in products:
        for a_rs, a_cs in ((k, 1), (1, m)):
            for b_rs, b_cs in ((n, 1), (1, k)):
                for beta in (0.0, 0.5):
                    matrices = [In(m * k), a_rs, a_cs, In(k * n), b_rs, b_cs, kind(beta), Out(m * n), n, 1]
                    yield "gemm", [m, n, k, kind(1.3)] + matrices
        batch = [In(3 * m * k), k, 1, In(k * n), n, 1, kind(0.0), Out(3 * m * n), n, 1, 3, m * k, 0, m * n]
        yield "gemm_batched", [m, n, k, kind(1.3)] + batch


def run(name, arguments, kind, suffix, seed):
    """Whether both panels give the same bits."""
    host, device, outputs = [None], [ctypes.byref(cuda())], []
    keep = []
    for place, argument in enumerate(arguments):
        if not isinstance(argument, (In, Out)):
            host.append(argument)
            device.append(argument)
            continue
        element = getattr(argument, "kind", None) or kind
        array = values(kind, argument.count, seed + place, getattr(argument, "nan", False))
        if element is not kind:
            array = (element * argument.count)()
        memory = Device(max(1, ctypes.sizeof(array))).upload(array) if argument.count else None
        host.append(array)
        device.append(memory.pointer if memory else None)
        keep.append(memory)
        if isinstance(argument, Out):
            outputs.append((array, memory))
    if name == "lsq_grad":
        size = ctypes.c_size_t()
        call(f"dpt_lsq_grad_{suffix}_workspace", device[0], arguments[0], arguments[1], ctypes.byref(size))
        workspace = Device(max(1, size.value))
        keep.append(workspace)
        device[0] = ctypes.byref(cuda(0, workspace.pointer, size.value))
    call(f"dpt_{name}_{suffix}", *host)
    call(f"dpt_{name}_{suffix}", *device)
    for array, memory in outputs:
        if memory is None:
            continue
        got = memory.download(type(array)())
        if bytes(got) != bytes(array):
            return False
    return True


def huge():
    """More than 2^31 elements: clamp and sum of ones."""
    count = 2**31 + 65536
    try:
        x = Device(4 * count)
    except Failure:
        return "skipped: too little device memory"
    fast = ctypes.byref(cuda())
    call("dpt_fill_f32", fast, count, ctypes.c_float(1.0), x.pointer)
    call("dpt_clamp_f32", fast, count, x.pointer, ctypes.c_float(-2.0), ctypes.c_float(0.5), x.pointer)
    total = Device(4)
    call("dpt_sum_f32", fast, count, x.pointer, 1, total.pointer)
    got = total.download((ctypes.c_float * 1)())[0]
    # Halves in chunks of 2048, then a tree: every sum on the way is exact.
    return "passed" if got == count / 2 else f"failed: {got} for {count / 2}"


def main():
    if "huge" in sys.argv:
        print(json.dumps({"huge": huge()}))
        return
    small = "small" in sys.argv
    sizes = [1, 5, 1000] if small else [0, 1, 3, 64, 257, 2048, 2049, 100_003, 1_000_001]
    matrices = [(7, 300)] if small else [(1, 5), (7, 300), (300, 7), (33, 4100), (500, 64), (2000, 100)]
    products = [(33, 20, 300)] if small else [(1, 7, 900), (5, 1, 700), (17, 33, 5), (64, 64, 256), (200, 130, 1000)]
    done, wrong = 0, []
    for suffix, kind in TYPES.items():
        for seed, (name, arguments) in enumerate(cases(kind, sizes, matrices, products)):
            counts = [argument for argument in arguments if isinstance(argument, int)]
            if counts[0] == 0 and name in ("mean", "min", "max", "argmin", "argmax", "logsumexp"):
                continue
            done += 1
            try:
                same = run(name, arguments, kind, suffix, seed)
            except Failure as failure:
                wrong.append(f"{name}_{suffix} {counts}: {failure}")
                continue
            if not same:
                wrong.append(f"{name}_{suffix} {counts}: other bits than the CPU's")
    for line in wrong[:50]:
        print(line)
    print(json.dumps({"calls": done, "wrong": len(wrong)}))
    sys.exit(1 if wrong or not done else 0)


if __name__ == "__main__":
    main()
