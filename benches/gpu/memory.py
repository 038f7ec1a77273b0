"""Operations that should run as fast as memory does, beside a copy of arrays of the same size in the same turns, and
beside PyTorch: elementwise ones, reductions of vectors, of rows and of columns."""
import machine
import torch
from diptych import call

from machine import KINDS, here, pick, pointer


def elementwise(suffix, kind, n, total):
    """Name, arrays read and written, our call and PyTorch's, of a set (x, y, out)."""
    ours = lambda name, *arguments: call(f"dpt_{name}_{suffix}", here(), n, *arguments)
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
        # Two passes.
        ("var", 2, lambda g: ours("var", p(g[0]), 1, 1, p(total)), lambda g: g[0].var()),
    ]


def rows(suffix, side, strides):
    """The same of a square matrix, whose rows or columns are reduced to `out`."""
    over = 1 if strides[1] == 1 else 0

    def ours(name, g, *more):
        call(f"dpt_{name}_rows_{suffix}", here(), side, side, pointer(g[0]), *strides, *more, pointer(g[1]), 1)

    return [
        ("sum", 1, lambda g: ours("sum", g), lambda g: g[0].sum(over)),
        ("max", 1, lambda g: ours("max", g), lambda g: g[0].amax(over)),
        ("argmax", 1, lambda g: ours("argmax", g), lambda g: g[0].argmax(over)),
        ("var", 2, lambda g: ours("var", g, 1), lambda g: g[0].var(over)),
    ]


def timed(name, suffix, mebibytes, passes, bodies, groups, copies):
    """One entry: ours, PyTorch's and a copy of one array to another."""
    ours, theirs = bodies
    contenders = {"diptych": machine.turns(ours, groups), "copy": copies}
    if theirs:
        contenders["torch"] = machine.turns(theirs, groups)
    found = machine.seconds(contenders)
    of_copy = passes * found["copy"]["seconds"] / (2 * found["diptych"]["seconds"])
    return {"op": name, "type": suffix, "MiB": mebibytes, "of_copy": of_copy, "times": found}


def vectors(suffix, dtype, kind, mebibytes):
    n = pick(mebibytes * 2**20, mebibytes * 2**20, 4096 * mebibytes // 32) // machine.bytes_of(dtype)
    groups = machine.sets(lambda: [machine.random(n, dtype=dtype) for _ in range(3)], 3 * n * machine.bytes_of(dtype))
    total = machine.empty(1, dtype=torch.int64)
    size = n * machine.bytes_of(dtype) / 2**20
    copies = machine.turns(lambda g: g[2].copy_(g[0]), groups)
    for name, passes, *bodies in elementwise(suffix, kind, n, total):
        yield timed(name, suffix, size, passes, bodies, groups, copies)


def matrices(suffix, dtype, mebibytes):
    side = pick(int((mebibytes * 2**20 // machine.bytes_of(dtype)) ** 0.5), 4096, 48)
    size = side * side * machine.bytes_of(dtype)

    def make():
        x, room = machine.random(side, side, dtype=dtype), machine.empty(side, dtype=torch.int64)
        return x, room, machine.empty(side, side, dtype=dtype)

    groups = machine.sets(make, 2 * size)
    copies = machine.turns(lambda g: g[2].copy_(g[0]), groups)
    for axis, strides in (("rows", (side, 1)), ("columns", (1, side))):
        for name, passes, *bodies in rows(suffix, side, strides):
            yield timed(f"{name} of {axis}", suffix, size / 2**20, passes, bodies, groups, copies)


def entries():
    for suffix, dtype, kind in KINDS:
        for mebibytes in pick((1024, 32), (256,), (32,)):
            yield from vectors(suffix, dtype, kind, mebibytes)
            machine.release()
        yield from matrices(suffix, dtype, 1024)
        machine.release()


if __name__ == "__main__":
    machine.finish(machine.collect(entries()))
