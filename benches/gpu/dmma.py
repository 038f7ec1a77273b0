"""Does the tensor core's f64 product (mma.m8n8k4) give the bits of a chain of fused multiply-adds, and in which
order? Tiles of random numbers of several kinds are compared with each order, computed on the host."""
import ctypes
import ctypes.util
import random
import struct
from fractions import Fraction

import driver
import machine
import torch

TILE = """
.visible .entry tile(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{
.reg .f64 %x, %y, %c<2>, %d<2>;
.reg .b32 %lane, %block, %at;
.reg .b64 %pa, %pb, %pc, %pd, %one, %two;
ld.param.u64 %pa, [a];
ld.param.u64 %pb, [b];
ld.param.u64 %pc, [c];
ld.param.u64 %pd, [d];
mov.u32 %lane, %tid.x;
mov.u32 %block, %ctaid.x;
mad.lo.u32 %at, %block, 32, %lane;
mul.wide.u32 %one, %at, 8;
mul.wide.u32 %two, %at, 16;
add.u64 %pa, %pa, %one;
add.u64 %pb, %pb, %one;
add.u64 %pc, %pc, %two;
add.u64 %pd, %pd, %two;
ld.global.f64 %x, [%pa];
ld.global.f64 %y, [%pb];
ld.global.v2.f64 {%c0, %c1}, [%pc];
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%x}, {%y}, {%c0, %c1};
st.global.v2.f64 [%pd], {%d0, %d1};
ret;
}
"""

math = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
math.fma.restype = ctypes.c_double
math.fma.argtypes = [ctypes.c_double] * 3


def chain(order, start):
    """A chain over the products in this order; it starts with c, or with nothing and adds c at the end."""

    def run(a, b, c):
        total = c if start == "c" else a[order[0]] * b[order[0]]
        for k in order if start == "c" else order[1:]:
            total = math.fma(a[k], b[k], total)
        return total if start == "c" else total + c

    return run


def pairs(a, b, c):
    first, second = (math.fma(a[k + 1], b[k + 1], a[k] * b[k]) for k in (0, 2))
    return first + second + c


def exact(a, b, c):
    total = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b)), Fraction(c))
    # The sign of an exact zero is that of the chain.
    return float(total) if total else chain((0, 1, 2, 3), "c")(a, b, c)


ORDERS = {
    "fma chain from c, k ascending": chain((0, 1, 2, 3), "c"),
    "fma chain from c, k descending": chain((3, 2, 1, 0), "c"),
    "fma chain of the products ascending, then c": chain((0, 1, 2, 3), "product"),
    "fma chain of the products descending, then c": chain((3, 2, 1, 0), "product"),
    "two pairs, then c": pairs,
    "rounded once": exact,
}


def number(source, kind):
    if kind == "wide":
        return source.choice((-1, 1)) * source.uniform(1, 2) * 2.0 ** source.randint(-60, 60)
    if kind == "subnormal":
        return source.uniform(-1, 1) * 2.0 ** source.randint(-540, -500)
    if kind == "zeros":
        return source.choice((0.0, -0.0, 1.0, -1.0, source.uniform(-1, 1)))
    return source.uniform(-1, 1)


def tile(source, kind):
    """A (8 by 4), B (4 by 8) and C (8 by 8), as rows."""
    a, b, c = ([[number(source, kind) for _ in range(n)] for _ in range(m)] for m, n in ((8, 4), (4, 8), (8, 8)))
    if kind == "cancelling":
        for i in range(8):
            # The last product nearly takes back the others; and C all of them.
            a[i][3] = -a[i][0] * (1 + source.uniform(-1, 1) * 2.0 ** -source.randint(20, 52))
            for j in range(8):
                b[3][j] = b[0][j]
                c[i][j] = -sum(a[i][k] * b[k][j] for k in range(4))
    return a, b, c


def fragments(tiles):
    """The tiles as the lanes hold them: lane l has A[l / 4][l % 4], B[l % 4][l / 4] and two neighbours of C."""
    lanes = range(32)
    a = [t[0][lane // 4][lane % 4] for t in tiles for lane in lanes]
    b = [t[1][lane % 4][lane // 4] for t in tiles for lane in lanes]
    c = [t[2][lane // 4][lane % 4 * 2 + e] for t in tiles for lane in lanes for e in range(2)]
    return [torch.tensor(values, dtype=torch.float64).to(machine.DEVICE) for values in (a, b, c)]


def bits(x):
    return struct.pack("d", x)


def measure():
    if driver.capability() < (8, 0):
        return {"skipped": "the device has no f64 tensor cores"}, True
    source, kinds = random.Random(4), ("ordinary", "wide", "cancelling", "zeros", "subnormal")
    each = machine.pick(60, 20, 1)
    tiles = [(kind, tile(source, kind)) for kind in kinds for _ in range(each)]
    inputs = fragments([t for _, t in tiles])
    out = torch.zeros(64 * len(tiles), dtype=torch.float64, device=machine.DEVICE)
    machine.synchronize()
    places = [ctypes.c_uint64(tensor.data_ptr()) for tensor in (*inputs, out)]
    driver.Kernel(TILE, "tile").launch(machine.stream(), len(tiles), 32, *places)
    machine.synchronize()
    got = out.tolist()
    differing = {name: dict.fromkeys(kinds, 0) for name in ORDERS}
    for place, (kind, (a, b, c)) in enumerate(tiles):
        for i in range(8):
            for j in range(8):
                value = got[64 * place + 8 * i + j]
                column = [row[j] for row in b]
                for name, order in ORDERS.items():
                    differing[name][kind] += bits(order(a[i], column, c[i][j])) != bits(value)
    same = [name for name, counts in differing.items() if not any(counts.values())]
    found = {"elements": 64 * len(tiles), "same_bits": same, "differing": differing}
    return {**found, "is_the_fma_chain": "fma chain from c, k ascending" in same}, True


if __name__ == "__main__":
    machine.finish(*measure())
