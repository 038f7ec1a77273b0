"""Checks that every operation has the same bits on the device and on the CPU: calls the same C function with host
arrays and with device arrays. Arguments: `small` for a short run (under a sanitizer), in which every call has a
workspace and only the kernels that run are loaded; `huge` for more than 2^31 elements. The last line is JSON."""
import ctypes
import json
import random
import sys
import threading

from diptych import AUTO, BIAS_PER_COLUMN, BIAS_PER_ROW, CLAMP, REHEARSAL, TYPES
from diptych import Device, Epilogue, Failure, call, cuda, library
from table import ELEMENTWISE, REDUCTIONS, ROW_MAPS
from verdict import Verdict

# Enough scratch memory for every call whose function has no workspace query.
WORKSPACE = (320 << 10) + 15


class Out:
    """An output of `count` elements, filled with input values first."""

    def __init__(self, count, kind=None):
        self.count, self.kind = count, kind


class ElementwiseOut(Out):
    """An output whose NaNs have unspecified bits, which differ between CPU and GPU."""


class In:
    """An input of `count` elements."""

    def __init__(self, count, nan=False):
        self.count, self.nan = count, nan


class EpilogueBias(In):
    """The epilogue of a product: a clamp, and a bias of `count` elements, one per row or per column."""

    def __init__(self, count, per):
        super().__init__(count)
        self.per = per

    def epilogue(self, bias):
        return ctypes.byref(Epilogue(ctypes.sizeof(Epilogue), CLAMP, self.per, bias, 1, -2.0, 50.0))


def values(kind, count, seed, nan):
    """Random numbers in (-4, 4), with some zeros of both signs, subnormal and large ones; with `nan`, one NaN."""
    source = random.Random(seed)
    special = [0.0, -0.0, 1e-40, 1e-310, 1e6, -1e6]
    # The length is prime, so that no two chunks of an array are equal.
    pool = (kind * 4099)(*(source.choice(special) if source.random() < 0.05 else source.uniform(-4, 4) for _ in range(4099)))
    array = (kind * count).from_buffer_copy(bytes(pool) * (count // 4099 + 1))
    if nan and count:
        array[count // 2] = float("nan")
    return array


# The values of scalar arguments.
NUMBERS = {"lower": -1.0, "upper": 2.0, "number": 1.7}


def number(kind, role):
    return kind(NUMBERS[role])


def vectors(kind, sizes):
    """Name and arguments of calls on vectors with elements of type `kind`."""
    index = ctypes.c_int64
    for n in sizes:
        for name, arguments in ELEMENTWISE:
            inputs = (In(n) if each == "array" else number(kind, each) for each in arguments)
            yield name, [n, *inputs, ElementwiseOut(n)]
        for nan in (False, True):
            for name, ddof, gives_index, needs_elements in REDUCTIONS:
                if n > ddof or not needs_elements:
                    yield name, [n, In(n, nan), 1, *[1][:ddof], Out(1, index if gives_index else None)]
        yield "sum", [n // 2, In(n), 2, Out(1)]
        yield "dot", [n, In(n), 1, In(n), 1, Out(1)]
        yield "mse_grad", [n, In(n), In(n), ElementwiseOut(n), Out(1)]


def matrices(kind, shapes):
    """Name and arguments of calls on matrices."""
    index = ctypes.c_int64
    for m, n in shapes:
        for rs, cs in ((n, 1), (1, m)):
            for name, ddof, gives_index, _ in REDUCTIONS:
                if n > ddof:
                    out = Out(m, index if gives_index else None)
                    yield name + "_rows", [m, n, In(m * n), rs, cs, *[1][:ddof], out, 1]
            for name in ROW_MAPS:
                for out_rs, out_cs in ((n, 1), (1, m)):
                    yield name, [m, n, In(m * n, True), rs, cs, ElementwiseOut(m * n), out_rs, out_cs]
            yield "outer", [m, n, In(m), 1, In(n), 1, ElementwiseOut(m * n), rs, cs]
            yield "ger", [m, n, kind(0.7), In(m), 1, In(n), 1, ElementwiseOut(m * n), rs, cs]
            yield "lsq_grad", [m, n, In(m * n), rs, cs, In(n), In(m), Out(n)]


def product(kind, shape, a=None, b=None, beta=0.5):
    """The arguments of one product. `a` and `b` are the strides of the factors, which are row-major by default."""
    m, n, k = shape
    factors = [In(m * k), *(a or (k, 1)), In(k * n), *(b or (n, 1))]
    return [m, n, k, kind(1.3), *factors, kind(beta), ElementwiseOut(m * n), n, 1]


def products(kind, shapes):
    """Single products, batched products, and products with an epilogue."""
    for m, n, k in shapes:
        for a in ((k, 1), (1, m)):
            for b in ((n, 1), (1, k)):
                for beta in (0.0, 0.5):
                    yield "gemm", product(kind, (m, n, k), a, b, beta)
        batch = [In(3 * m * k), k, 1, In(k * n), n, 1, kind(0.0), ElementwiseOut(3 * m * n), n, 1, 3, m * k, 0, m * n]
        yield "gemm_batched", [m, n, k, kind(1.3)] + batch
        for count, per in ((m, BIAS_PER_ROW), (n, BIAS_PER_COLUMN)):
            yield "gemm_fused", product(kind, (m, n, k)) + [EpilogueBias(count, per)]


def small_cases(kind):
    """A call of every operation, and of every way in which blocks cooperate: reductions in several parts, with one pass
    and with two; the tree of lsq_grad over narrow and wide rows; a split-K product."""
    yield from vectors(kind, [1, 5, 1000])
    yield from matrices(kind, [(7, 300)])
    yield from products(kind, [(33, 20, 300)])
    n = 270_001 if kind is ctypes.c_float else 135_001
    yield "sum", [70_001, In(70_001), 1, Out(1)]
    yield "argmax", [70_001, In(70_001), 1, Out(1, ctypes.c_int64)]
    yield "mse_grad", [70_001, In(70_001), In(70_001), ElementwiseOut(70_001), Out(1)]
    yield "var", [n, In(n), 1, 1, Out(1)]
    for m, n in ((1200, 20), (100, 300)):
        for rs, cs in ((n, 1), (1, m)):
            yield "lsq_grad", [m, n, In(m * n), rs, cs, In(n), In(m), Out(n)]
    yield "gemm", product(kind, (16, 16, 3000))
    # Enough rows for the kernel for products with few columns.
    yield "gemm", product(kind, (560, 3, 1100))


def all_cases(kind):
    yield from vectors(kind, [0, 1, 3, 64, 257, 2048, 2049, 100_003, 1_000_001])
    yield from matrices(kind, [(1, 5), (7, 300), (300, 7), (33, 4100), (500, 64), (2000, 100)])
    # More results than the library's own scratch memory has room for.
    for name in ROW_MAPS:
        yield name, [100_000, 3, In(300_000), 3, 1, ElementwiseOut(300_000), 3, 1]
    yield from products(kind, [(1, 7, 900), (5, 1, 700), (17, 33, 5), (64, 64, 256), (200, 130, 1000)])
    # With few columns: teams of 8 lanes and of 16, and more segments of k than teams.
    yield from products(kind, [(600, 5, 1100), (2112, 9, 1030)])
    yield "gemm", product(kind, (544, 2, 17_000))
    # Large enough for tiles of 128 by 128 and 128 by 64.
    yield from products(kind, [(1024, 1024, 300)])
    for k in (1, 4):
        yield "gemm", product(kind, (4096, 4096, k))
        yield "gemm", product(kind, (4100, 2050, k), (1, 4100), (1, k))


def scratch(workspace):
    """The arguments of `cuda` for a workspace, or none for the library's own scratch memory."""
    return (0, workspace.pointer, workspace.size) if workspace else ()


def run(name, arguments, kind, suffix, seed, workspace):
    """Whether the results on CPU and GPU have the same bits."""
    host, device, outputs = [None], [ctypes.byref(cuda(*scratch(workspace)))], []
    keep = []
    for position, argument in enumerate(arguments):
        if not isinstance(argument, (In, Out)):
            host.append(argument)
            device.append(argument)
            continue
        element = getattr(argument, "kind", None) or kind
        array = values(kind, argument.count, seed + position, getattr(argument, "nan", False))
        if element is not kind:
            array = (element * argument.count)()
        memory = Device(max(1, ctypes.sizeof(array))).upload(array) if argument.count else None
        keep.append(memory)
        if isinstance(argument, EpilogueBias):
            host.append(argument.epilogue(ctypes.addressof(array)))
            device.append(argument.epilogue(memory.pointer.value))
            keep.append(array)
            continue
        host.append(array)
        device.append(memory.pointer if memory else None)
        if isinstance(argument, Out):
            outputs.append((array, memory, isinstance(argument, ElementwiseOut)))
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


def rows_of_product_match(suffix, kind, side, first, rows):
    """Whether these rows of a product of square matrices have the same bits as on the CPU."""
    a, b = (values(kind, side * side, seed, False) for seed in (11, 12))
    wanted, got = (kind * (rows * side))(), (kind * (rows * side))()
    factors = [Device(ctypes.sizeof(a)).upload(array) for array in (a, b)]
    c, element = Device(ctypes.sizeof(a)), ctypes.sizeof(kind)
    one, zero, skip = kind(1.0), kind(0.0), first * side * element
    pointers = [array.pointer for array in factors]
    operands = lambda x, y, out: (one, x, side, 1, y, side, 1, zero, out, side, 1)
    call(f"dpt_gemm_{suffix}", ctypes.byref(cuda()), side, side, side, *operands(*pointers, c.pointer))
    band = ctypes.c_void_p(ctypes.addressof(a) + skip)
    call(f"dpt_gemm_{suffix}", None, rows, side, side, *operands(band, b, wanted))
    call("dpt_copy", ctypes.byref(cuda()), ctypes.c_size_t(ctypes.sizeof(got)), ctypes.c_void_p(c.pointer.value + skip), got)
    call("dpt_cuda_synchronize", None)
    return same(got, wanted, True)


def automatic(kind, suffix, on_device):
    """Whether a call with DPT_DEVICE_AUTO is correct in a new thread, which has no CUDA context yet."""
    x, out, found = (kind * 1000)(*(i / 8 for i in range(1000))), (kind * 1000)(), []
    wanted = [value * value for value in x]
    arrays = [Device(ctypes.sizeof(x)).upload(x), Device(ctypes.sizeof(x))] if on_device else [x, out]
    pointers = [array.pointer for array in arrays] if on_device else arrays
    exec = cuda()
    exec.device = AUTO

    def body():
        try:
            call(f"dpt_square_{suffix}", ctypes.byref(exec), len(x), *pointers)
        except Failure as failure:
            found.append(failure)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    if found:
        raise found[0]
    return list(arrays[1].download(out) if on_device else out) == wanted


def huge():
    """Calls on more than 2^31 elements, as a vector and as a matrix. Returns "passed", or what failed, or why it was
    skipped."""
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
    # All elements are 1/2: every partial sum is exact.
    found = [("sum", total.download((ctypes.c_float * 1)())[0] == count / 2)]
    # The elements of row i are (i % 7 + 1) / 2: their sums are exact too.
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
    # Not under a sanitizer, which would report the driver's answers to these calls as errors.
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
            verdict.check(label, lambda: rows_of_product_match(suffix, kind, side, side // 3, side // 64 + 2))
    verdict.finish()


if __name__ == "__main__":
    main()
