"""Every operation on the device gives the bits that it gives on the CPU: the same C function is called with
host arrays and with device arrays. Arguments: `small` for a short run (under a sanitizer), in which every call has a
workspace and only the kernels that run are loaded, `huge` for more than 2^31 elements. The last line is JSON."""
import ctypes
import json
import random
import sys
import threading

from diptych import AUTO, BIAS_PER_COLUMN, BIAS_PER_ROW, CLAMP, REHEARSAL, TYPES
from diptych import Device, Epilogue, Failure, call, cuda, library
from table import ELEMENTWISE, REDUCTIONS

# Enough scratch memory for every call without a query of its own.
WORKSPACE = (320 << 10) + 15


class Out:
    """An output of so many elements, which also is an input."""

    def __init__(self, count, kind=None):
        self.count, self.kind = count, kind


class Elements(Out):
    """An output of an operation on elements: the bits of a NaN in it are open, and differ between CPU and GPU."""


class In:
    """An input of so many elements."""

    def __init__(self, count, nan=False):
        self.count, self.nan = count, nan


class After(In):
    """What follows a product: a bias of so many elements, for each row or column, and a clamp."""

    def __init__(self, count, per):
        super().__init__(count)
        self.per = per

    def epilogue(self, bias):
        return ctypes.byref(Epilogue(ctypes.sizeof(Epilogue), CLAMP, self.per, bias, 1, -2.0, 50.0))


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


# The numbers among the arguments: those that have no place here are the last.
NUMBERS = {"lo": -1.0, "hi": 2.0, "": 1.7}


def number(kind, name):
    return kind(NUMBERS.get(name, NUMBERS[""]))


def vectors(kind, sizes):
    """Name and arguments of calls on vectors; floats are of the type `kind`."""
    index = ctypes.c_int64
    for n in sizes:
        for name, arguments in ELEMENTWISE:
            yield name, [n, *(In(n) if each == "array" else number(kind, each) for each in arguments), Elements(n)]
        for nan in (False, True):
            for name, ddof, gives_index, needs_elements in REDUCTIONS:
                if n > ddof or not needs_elements:
                    yield name, [n, In(n, nan), 1, *[1][:ddof], Out(1, index if gives_index else None)]
        yield "sum", [n // 2, In(n), 2, Out(1)]
        yield "dot", [n, In(n), 1, In(n), 1, Out(1)]
        yield "mse_grad", [n, In(n), In(n), Elements(n), Out(1)]


def matrices(kind, shapes):
    """The same on matrices."""
    index = ctypes.c_int64
    for m, n in shapes:
        for rs, cs in ((n, 1), (1, m)):
            for name, ddof, gives_index, _ in REDUCTIONS:
                if n > ddof:
                    out = Out(m, index if gives_index else None)
                    yield name + "_rows", [m, n, In(m * n), rs, cs, *[1][:ddof], out, 1]
            yield "outer", [m, n, In(m), 1, In(n), 1, Elements(m * n), rs, cs]
            yield "ger", [m, n, kind(0.7), In(m), 1, In(n), 1, Elements(m * n), rs, cs]
            yield "lsq_grad", [m, n, In(m * n), rs, cs, In(n), In(m), Out(n)]


def product(kind, shape, a=None, b=None, beta=0.5):
    """The arguments of one product, its factors along their rows unless strides say otherwise."""
    m, n, k = shape
    factors = [In(m * k), *(a or (k, 1)), In(k * n), *(b or (n, 1))]
    return [m, n, k, kind(1.3), *factors, kind(beta), Elements(m * n), n, 1]


def products(kind, shapes):
    """Products on their own, in a batch, and with what follows."""
    for m, n, k in shapes:
        for a in ((k, 1), (1, m)):
            for b in ((n, 1), (1, k)):
                for beta in (0.0, 0.5):
                    yield "gemm", product(kind, (m, n, k), a, b, beta)
        batch = [In(3 * m * k), k, 1, In(k * n), n, 1, kind(0.0), Elements(3 * m * n), n, 1, 3, m * k, 0, m * n]
        yield "gemm_batched", [m, n, k, kind(1.3)] + batch
        for count, per in ((m, BIAS_PER_ROW), (n, BIAS_PER_COLUMN)):
            yield "gemm_fused", product(kind, (m, n, k)) + [After(count, per)]


def small_cases(kind):
    """One call of every operation, and of every way in which blocks work together: a reduction in parts, in one walk
    and in two, the tree of lsq_grad over narrow and wide rows, a product whose k is split."""
    yield from vectors(kind, [1, 5, 1000])
    yield from matrices(kind, [(7, 300)])
    yield from products(kind, [(33, 20, 300)])
    n = 270_001 if kind is ctypes.c_float else 135_001
    yield "sum", [70_001, In(70_001), 1, Out(1)]
    yield "argmax", [70_001, In(70_001), 1, Out(1, ctypes.c_int64)]
    yield "mse_grad", [70_001, In(70_001), In(70_001), Elements(70_001), Out(1)]
    yield "var", [n, In(n), 1, 1, Out(1)]
    for m, n in ((1200, 20), (100, 300)):
        for rs, cs in ((n, 1), (1, m)):
            yield "lsq_grad", [m, n, In(m * n), rs, cs, In(n), In(m), Out(n)]
    yield "gemm", product(kind, (16, 16, 3000))


def all_cases(kind):
    yield from vectors(kind, [0, 1, 3, 64, 257, 2048, 2049, 100_003, 1_000_001])
    yield from matrices(kind, [(1, 5), (7, 300), (300, 7), (33, 4100), (500, 64), (2000, 100)])
    yield from products(kind, [(1, 7, 900), (5, 1, 700), (17, 33, 5), (64, 64, 256), (200, 130, 1000)])
    # Tiles of 128 by 128 and 128 by 64.
    yield from products(kind, [(1024, 1024, 300)])
    for k in (1, 4):
        yield "gemm", product(kind, (4096, 4096, k))
        yield "gemm", product(kind, (4100, 2050, k), (1, 4100), (1, k))


def scratch(workspace):
    """The stream and the scratch memory of an exec: a workspace, or the library's own."""
    return (0, workspace.pointer, workspace.size) if workspace else ()


def run(name, arguments, kind, suffix, seed, workspace):
    """Whether both panels give the same bits."""
    host, device, outputs = [None], [ctypes.byref(cuda(*scratch(workspace)))], []
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
        keep.append(memory)
        if isinstance(argument, After):
            host.append(argument.epilogue(ctypes.addressof(array)))
            device.append(argument.epilogue(memory.pointer.value))
            keep.append(array)
            continue
        host.append(array)
        device.append(memory.pointer if memory else None)
        if isinstance(argument, Out):
            outputs.append((array, memory, isinstance(argument, Elements)))
    if name == "lsq_grad":
        size = ctypes.c_size_t()
        call(f"dpt_lsq_grad_{suffix}_workspace", device[0], arguments[0], arguments[1], ctypes.byref(size))
        own = Device(max(1, size.value))
        keep.append(own)
        device[0] = ctypes.byref(cuda(*scratch(own)))
    call(f"dpt_{name}_{suffix}", *host)
    call(f"dpt_{name}_{suffix}", *device)
    for array, memory, any_nan in outputs:
        if memory is not None and not same(memory.download(type(array)()), array, any_nan):
            return False
    return True


def same(got, wanted, any_nan):
    """Whether two arrays have the same bits, or with `any_nan` a NaN in the same places."""
    if bytes(got) == bytes(wanted):
        return True
    number = {4: "I", 8: "Q"}[ctypes.sizeof(got._type_)]
    bits = [memoryview(array).cast("B").cast(number) for array in (got, wanted)]
    return any_nan and all(a == b or (x != x and y != y) for a, b, x, y in zip(*bits, got, wanted))


def band(suffix, kind, side, first, rows):
    """Whether these rows of a product of square matrices have the bits that the CPU gives them."""
    a, b = (values(kind, side * side, seed, False) for seed in (11, 12))
    wanted, got = (kind * (rows * side))(), (kind * (rows * side))()
    there = [Device(ctypes.sizeof(a)).upload(array) for array in (a, b)]
    c, element = Device(ctypes.sizeof(a)), ctypes.sizeof(kind)
    one, zero, skip = kind(1.0), kind(0.0), first * side * element
    places = [array.pointer for array in there]
    strides = lambda x, y, out: (one, x, side, 1, y, side, 1, zero, out, side, 1)
    call(f"dpt_gemm_{suffix}", ctypes.byref(cuda()), side, side, side, *strides(*places, c.pointer))
    call(f"dpt_gemm_{suffix}", None, rows, side, side, *strides(ctypes.c_void_p(ctypes.addressof(a) + skip), b, wanted))
    call("dpt_copy", ctypes.byref(cuda()), ctypes.c_size_t(ctypes.sizeof(got)), ctypes.c_void_p(c.pointer.value + skip), got)
    call("dpt_cuda_synchronize", None)
    return same(got, wanted, True)


def automatic(kind, suffix, on_device):
    """Whether a call that looks where its arrays lie is right in a new thread, which has no context yet."""
    x, out, found = (kind * 1000)(*(i / 8 for i in range(1000))), (kind * 1000)(), []
    wanted = [value * value for value in x]
    arrays = [Device(ctypes.sizeof(x)).upload(x), Device(ctypes.sizeof(x))] if on_device else [x, out]
    places = [array.pointer for array in arrays] if on_device else arrays
    exec = cuda()
    exec.device = AUTO

    def body():
        try:
            call(f"dpt_square_{suffix}", ctypes.byref(exec), len(x), *places)
        except Failure as failure:
            found.append(failure)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if found:
        raise found[0]
    return list(arrays[1].download(out) if on_device else out) == wanted


def huge():
    """More than 2^31 elements, as a vector and as a matrix: what fails, or why there is nothing to try."""
    rows, columns = (66, 300) if REHEARSAL else (2**16 + 2, 2**15)
    count = rows * columns
    try:
        x, line, total = Device(4 * count), Device(4 * max(rows, columns)), Device(4 * rows)
    except Failure:
        return "skipped: too little device memory"
    fast, one, half = ctypes.byref(cuda()), ctypes.c_float(1.0), ctypes.c_float(0.5)
    call("dpt_cuda_preload", None)
    call("dpt_fill_f32", fast, count, one, x.pointer)
    call("dpt_clamp_f32", fast, count, x.pointer, ctypes.c_float(-2.0), half, x.pointer)
    call("dpt_sum_f32", fast, count, x.pointer, 1, total.pointer)
    # Halves in chunks of 2048, then a tree: every sum on the way is exact.
    found = [("sum", total.download((ctypes.c_float * 1)())[0] == count / 2)]
    # Rows of 1/2, 1, 3/2, ...: their sums are exact too.
    numbers = (ctypes.c_float * max(rows, columns))(*(i % 7 + 1 for i in range(max(rows, columns))))
    line.upload(numbers)
    halves = Device(4 * columns)
    call("dpt_fill_f32", fast, columns, half, halves.pointer)
    call("dpt_outer_f32", fast, rows, columns, line.pointer, 1, halves.pointer, 1, x.pointer, columns, 1)
    call("dpt_sum_rows_f32", fast, rows, columns, x.pointer, columns, 1, total.pointer, 1)
    wanted = [numbers[i] * columns / 2 for i in range(rows)]
    found.append(("outer, sum_rows", list(total.download((ctypes.c_float * rows)())) == wanted))
    call("dpt_fill_f32", fast, rows, ctypes.c_float(float("nan")), total.pointer)
    matrix = (x.pointer, columns, 1, halves.pointer, 1, 1, ctypes.c_float(0.0), total.pointer, 1, 1)
    call("dpt_gemm_f32", fast, rows, 1, columns, ctypes.c_float(2.0), *matrix)
    found.append(("gemm, n = 1", list(total.download((ctypes.c_float * rows)())) == wanted))
    wrong = [name for name, right in found if not right]
    return f"failed: {'; '.join(wrong)}" if wrong else "passed"


class Verdict:
    """How many calls there were, and how many were wrong: each is named when it is found, up to a number of them."""

    SHOWN = 50

    def __init__(self):
        self.calls, self.wrong = 0, 0

    def check(self, label, is_right):
        """One call. It ends the script where none can follow."""
        self.calls += 1
        try:
            if not is_right():
                self.note(f"{label}: other bits than the CPU's")
        except Failure as failure:
            self.note(f"{label}: {failure}")
            # After some errors nothing works in the context any more.
            if library.dpt_cuda_synchronize(None) != 0:
                print(f"stopped, every later call would fail: {library.dpt_last_error().decode()}", flush=True)
                self.finish(stopped=True)

    def note(self, text):
        self.wrong += 1
        if self.wrong <= self.SHOWN:
            print(text, flush=True)

    def finish(self, **more):
        print(json.dumps({"calls": self.calls, "wrong": self.wrong, **more}), flush=True)
        sys.exit(1 if self.wrong or not self.calls else 0)


def every_call(verdict, cases, workspace):
    for suffix, kind in TYPES.items():
        for seed, (name, arguments) in enumerate(cases(kind)):
            counts = [argument for argument in arguments if isinstance(argument, int)]
            verdict.check(f"{name}_{suffix} {counts}", lambda: run(name, arguments, kind, suffix, seed, workspace))


def main():
    if "huge" in sys.argv:
        found = huge()
        print(json.dumps({"huge": found}))
        sys.exit(1 if found.startswith("failed") else 0)
    verdict, small = Verdict(), "small" in sys.argv
    # A sanitizer would take what the driver answers there for an error.
    if not small or REHEARSAL:
        for on_device in (False, True):
            for suffix, kind in TYPES.items():
                label = f"square_{suffix} with DPT_DEVICE_AUTO, {'device' if on_device else 'host'} arrays, a new thread"
                verdict.check(label, lambda: automatic(kind, suffix, on_device))
    if small:
        every_call(verdict, small_cases, Device(WORKSPACE))
    else:
        call("dpt_cuda_preload", None)
        every_call(verdict, all_cases, None)
    if not small or REHEARSAL:
        side = 40 if small else 4096
        for suffix, kind in TYPES.items():
            label = f"gemm_{suffix} [{side}, {side}, {side}]"
            verdict.check(label, lambda: band(suffix, kind, side, side // 3, side // 64 + 2))
    verdict.finish()


if __name__ == "__main__":
    main()
