"""One launch of each kernel that the profiler looks at; `run` starts this under ncu."""
import ctypes
import json

import common
import tiles
from diptych import Device, call, cuda
from loading import load

# Elements of the larger arrays, and the side of the square products.
N, SIDE = common.pick(2**26, 2**22, 2**12), common.pick(4096, 1024, 128)


def products(stream):
    """Product kernels, forced; the second 128x128 is compiled for two resident blocks."""
    for suffix, kind, names in (
        ("f32", ctypes.c_float, [("gemm_128x128", None), ("gemm_128x128", 2), ("gemm_128x64", None), ("gemm_64x64", None)]),
        ("f64", ctypes.c_double, [("gemm_128x64", None)]),
    ):
        arrays = tiles.inputs(kind, [(SIDE, SIDE, SIDE)])
        for name, blocks in names:
            module, function = load(f"{name}_{suffix}", blocks)
            tiles.launcher(kind, suffix, function, name, (SIDE, SIDE, SIDE), arrays, stream)[0]()
            stream.synchronize()
            yield f"{name}_{suffix}" + (f" x{blocks}" if blocks else "")


def calls(stream):
    """Memory-bound calls of the library."""
    e = ctypes.byref(cuda(stream.value))
    rows, columns = N // 1024, 1024
    x, y, out = (Device(4 * N) for _ in range(3))
    needed = ctypes.c_size_t()
    call("dpt_lsq_grad_f32_workspace", e, rows, columns, ctypes.byref(needed))
    workspace = Device(needed.value)
    roomy = ctypes.byref(cuda(stream.value, workspace.pointer, workspace.size))
    p, q, r, one, zero = x.pointer, y.pointer, out.pointer, ctypes.c_float(1), ctypes.c_float(0)
    for name, body in {
        "add": lambda: call("dpt_add_f32", e, N, p, q, r),
        "sum of rows": lambda: call("dpt_sum_rows_f32", e, rows, columns, p, columns, 1, r, 1),
        "sum of columns": lambda: call("dpt_sum_rows_f32", e, columns, rows, p, 1, columns, r, 1),
        "logsumexp of rows": lambda: call("dpt_logsumexp_rows_f32", e, rows, columns, p, columns, 1, r, 1),
        "gemv": lambda: call("dpt_gemm_f32", e, rows, 1, columns, one, p, columns, 1, q, 1, 1, zero, r, 1, 1),
        "lsq_grad": lambda: call("dpt_lsq_grad_f32", roomy, rows, columns, p, columns, 1, q, q, r),
    }.items():
        body()
        stream.synchronize()
        yield name


def main():
    stream, done = common.Stream(), []
    for part in (products, calls):
        for name in part(stream):
            done.append(name)
            print(json.dumps({"launched": done}), flush=True)


if __name__ == "__main__":
    main()
