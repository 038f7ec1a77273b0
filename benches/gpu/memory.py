"""Memory-bound operations beside a copy of arrays of the same size, measured in turn, and beside PyTorch: elementwise
operations, reductions of vectors, rows, columns and several axes, maps over rows and columns, products with a vector,
lsq_grad, transposed operands and conversions."""
import ctypes

import bench
import torch
from diptych import call

from bench import KINDS, on_stream, pick, pointer, tensor
from table import ROW_MAPS


def elementwise(suffix, kind, n, total):
    """Name, number of arrays read and written, our call and PyTorch's. The calls take a set (x, y, out)."""
    ours = lambda name, *arguments: call(f"dpt_{name}_{suffix}", on_stream(), n, *arguments)
    p = pointer
    return [
        ("clamp", 2, lambda g: ours("clamp", p(g[0]), kind(-1), kind(1), p(g[2])), lambda g: torch.clamp(g[0], -1, 1, out=g[2])),
        ("add", 3, lambda g: ours("add", p(g[0]), p(g[1]), p(g[2])), lambda g: torch.add(g[0], g[1], out=g[2])),
        ("axpy", 3, lambda g: ours("axpy", kind(0.5), p(g[0]), p(g[1])), lambda g: g[1].add_(g[0], alpha=0.5)),
        ("square", 2, lambda g: ours("square", p(g[0]), p(g[2])), lambda g: torch.mul(g[0], g[0], out=g[2])),
        ("mse_grad", 3, lambda g: ours("mse_grad", p(g[0]), p(g[1]), p(g[2]), p(total)), None),
        ("sum", 1, lambda g: ours("sum", p(g[0]), 1, p(total)), lambda g: g[0].sum()),
        ("max", 1, lambda g: ours("max", p(g[0]), 1, p(total)), lambda g: g[0].max()),
        ("argmax", 1, lambda g: ours("argmax", p(g[0]), 1, p(total)), lambda g: g[0].argmax()),
        ("dot", 2, lambda g: ours("dot", p(g[0]), 1, p(g[1]), 1, p(total)), lambda g: torch.dot(g[0], g[1])),
        # 2: it makes two passes.
        ("var", 2, lambda g: ours("var", p(g[0]), 1, 1, p(total)), lambda g: g[0].var()),
    ]


def rows(suffix, side, strides):
    """The same for reductions of the rows or columns of a square matrix. The calls take a set (x, out)."""
    over = 1 if strides[1] == 1 else 0

    def ours(name, g, *more):
        call(f"dpt_{name}_rows_{suffix}", on_stream(), side, side, pointer(g[0]), *strides, *more, pointer(g[1]), 1)

    return [
        ("sum", 1, lambda g: ours("sum", g), lambda g: g[0].sum(over)),
        ("max", 1, lambda g: ours("max", g), lambda g: g[0].amax(over)),
        ("argmax", 1, lambda g: ours("argmax", g), lambda g: g[0].argmax(over)),
        ("var", 2, lambda g: ours("var", g, 1), lambda g: g[0].var(over)),
        ("prod", 1, lambda g: ours("prod", g), lambda g: g[0].prod(over)),
        # 2: it makes two passes.
        ("logsumexp", 2, lambda g: ours("logsumexp", g), lambda g: g[0].logsumexp(over)),
    ]


# PyTorch's counterparts of the maps over rows: of x along an axis, to an output.
TORCH_ROW_MAPS = {"normalize": lambda x, axis, out: torch.nn.functional.normalize(x, dim=axis, eps=0, out=out)}


def row_maps(suffix, side, strides):
    """The same for maps over the rows or columns of a square matrix. The calls take a set (x, _, out)."""
    over = 1 if strides[1] == 1 else 0

    def ours(name, g):
        call(f"dpt_{name}_{suffix}", on_stream(), side, side, pointer(g[0]), *strides, pointer(g[2]), *strides)

    for name in ROW_MAPS:
        theirs = TORCH_ROW_MAPS.get(name)
        # 3: a matrix that no cache holds is read at least twice.
        yield (name, 3, lambda g, name=name: ours(name, g),
               theirs and (lambda g, theirs=theirs: theirs(g[0], over, g[2])))


def timed(name, suffix, mebibytes, passes, bodies, groups, copies):
    """An entry with the times of our call, PyTorch's and a copy of one array to another."""
    ours, theirs = bodies
    contenders = {"diptych": bench.per_set(ours, groups), "copy": copies}
    if theirs:
        contenders["torch"] = bench.per_set(theirs, groups)
    found = bench.seconds(contenders)
    of_copy = passes * found["copy"]["seconds"] / (2 * found["diptych"]["seconds"])
    return {"op": name, "type": suffix, "MiB": mebibytes, "of_copy": of_copy, "times": found}


def vectors(suffix, dtype, kind, mebibytes):
    n = pick(mebibytes * 2**20, mebibytes * 2**20, 4096 * mebibytes // 32) // bench.bytes_of(dtype)
    groups = bench.sets(lambda: [bench.random(n, dtype=dtype) for _ in range(3)], 3 * n * bench.bytes_of(dtype))
    total = bench.empty(1, dtype=torch.int64)
    size = n * bench.bytes_of(dtype) / 2**20
    copies = bench.per_set(lambda g: g[2].copy_(g[0]), groups)
    for name, passes, *bodies in elementwise(suffix, kind, n, total):
        yield timed(name, suffix, size, passes, bodies, groups, copies)


def matrices(suffix, dtype, mebibytes):
    side = pick(int((mebibytes * 2**20 // bench.bytes_of(dtype)) ** 0.5), 4096, 48)
    size = side * side * bench.bytes_of(dtype)

    def make():
        x, out = bench.random(side, side, dtype=dtype), bench.empty(side, dtype=torch.int64)
        return x, out, bench.empty(side, side, dtype=dtype)

    groups = bench.sets(make, 2 * size)
    copies = bench.per_set(lambda g: g[2].copy_(g[0]), groups)
    for axis, strides in (("rows", (side, 1)), ("columns", (1, side))):
        for name, passes, *bodies in [*rows(suffix, side, strides), *row_maps(suffix, side, strides)]:
            yield timed(f"{name} of {axis}", suffix, size / 2**20, passes, bodies, groups, copies)


def gradients(suffix, dtype, kind, mebibytes):
    """Products of a matrix and a vector, by rows and by columns, and lsq_grad, beside a copy of the matrix."""
    for columns in pick((1000, 3000), (1000,), (60,)):
        m = pick(mebibytes * 2**20, mebibytes * 2**20, 2**14) // bench.bytes_of(dtype) // columns
        size = m * columns * bench.bytes_of(dtype)

        def make():
            a, x, y = (bench.random(*s, dtype=dtype) for s in ((m, columns), (columns,), (m,)))
            return a, x, y, bench.empty(columns, dtype=dtype), bench.empty(m, dtype=dtype), torch.empty_like(a)

        groups = bench.sets(make, 2 * size)
        copies = bench.per_set(lambda g: g[5].copy_(g[0]), groups)
        p, one, zero = pointer, kind(1), kind(0)
        needed = ctypes.c_size_t()
        call(f"dpt_lsq_grad_{suffix}_workspace", on_stream(), m, columns, ctypes.byref(needed))
        workspace = bench.empty(max(1, needed.value), dtype=torch.uint8)

        def gemv(a, x, out):
            operands = (one, p(a), *a.stride(), p(x), 1, 1, zero, p(out), 1, 1)
            call(f"dpt_gemm_{suffix}", on_stream(), a.shape[0], 1, a.shape[1], *operands)

        def lsq(g):
            call(f"dpt_lsq_grad_{suffix}", on_stream(workspace), m, columns, p(g[0]), columns, 1, p(g[1]), p(g[2]), p(g[3]))

        for name, *bodies in [
            ("gemv", lambda g: gemv(g[0], g[1], g[4]), lambda g: torch.mv(g[0], g[1], out=g[4])),
            ("gemv of a transpose", lambda g: gemv(g[0].T, g[2], g[3]), lambda g: torch.mv(g[0].T, g[2], out=g[3])),
            ("lsq_grad", lsq, lambda g: torch.mv(g[0].T, torch.mv(g[0], g[1]).sub_(g[2]).mul_(2), out=g[3])),
        ]:
            entry = timed(name, suffix, size / 2**20, 1, bodies, groups, copies)
            yield {**entry, "op": f"{name}, {columns} columns"}
        del groups, copies
        bench.release()


def layouts(suffix, dtype, mebibytes):
    """The functions over tensors, where strides and types matter."""
    side = pick(int((mebibytes * 2**20 // bench.bytes_of(dtype)) ** 0.5), 4096, 48) // 16 * 16
    size = side * side * bench.bytes_of(dtype)
    other = torch.float64 if dtype == torch.float32 else torch.float32

    def make():
        x, y, out = (bench.random(side, side, dtype=dtype) for _ in range(3))
        return x, y, out, bench.empty(side, side, dtype=other), bench.empty(side, side, dtype=torch.uint8)

    groups = bench.sets(make, 6 * size)
    copies = bench.per_set(lambda g: g[2].copy_(g[0]), groups)
    workspace = bench.empty(17 << 20, dtype=torch.uint8)
    cube = lambda x: x.view(16, side // 16, side)

    def ours(name, *arguments):
        call(f"dpt_{name}", on_stream(workspace), *(tensor(a) if torch.is_tensor(a) else a for a in arguments))

    def reduced(axes, shape):
        over, count = (ctypes.c_int32 * len(axes))(*axes), ctypes.c_int32(len(axes))
        total = bench.empty(*shape, dtype=dtype)
        mine = lambda g: ours("sum", cube(g[0]), count, over, total)
        return 1, mine, lambda g: torch.sum(cube(g[0]), axes, out=total)

    ratio = bench.bytes_of(other) / bench.bytes_of(dtype)
    of_bytes = 1 / bench.bytes_of(dtype)
    for name, passes, *bodies in [
        ("add of a transpose", 3, lambda g: ours("add", g[0], g[1].T, g[2]), lambda g: torch.add(g[0], g[1].T, out=g[2])),
        ("copy of a transpose", 2, lambda g: ours("convert", g[0].T, g[2]), lambda g: g[2].copy_(g[0].T)),
        ("convert to the other float", 1 + ratio, lambda g: ours("convert", g[0], g[3]), lambda g: g[3].copy_(g[0])),
        ("convert of bytes", 1 + of_bytes, lambda g: ours("convert", g[4], g[2]), lambda g: g[2].copy_(g[4])),
        ("sum over the middle axis", *reduced((1,), (16, side))),
        ("sum over the outer axes", *reduced((0, 2), (side // 16,))),
    ]:
        yield timed(name, suffix, size / 2**20, passes, bodies, groups, copies)


def entries():
    for suffix, dtype, kind in KINDS:
        for mebibytes in pick((1024, 32), (256,), (32,)):
            yield from vectors(suffix, dtype, kind, mebibytes)
            bench.release()
        yield from matrices(suffix, dtype, 1024)
        bench.release()
        yield from gradients(suffix, dtype, kind, 1024)
        yield from layouts(suffix, dtype, 1024)
        bench.release()


if __name__ == "__main__":
    bench.finish(bench.collect(entries()))
