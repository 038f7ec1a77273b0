"""Do the tensor cores' f64 products have the bits of a chain of fused multiply-adds, and in which order? For each shape
of the instruction, compares products of random tiles with several orders computed on the host, and measures speed."""
import ctypes
import ctypes.util
import random
import struct
from fractions import Fraction

import driver
import common
from diptych import Device

# m and k of the instruction; n is 8. All but the first need Hopper (sm_90).
SHAPES = [(8, 4), (16, 4), (16, 8), (16, 16)]
CHAINS, STEPS, THREADS = 4, 8, 256

math = ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")
math.fma.restype = ctypes.c_double
math.fma.argtypes = [ctypes.c_double] * 3


def counts(m, k):
    """The number of elements of A, B and C in a lane."""
    return m * k // 32, k // 4, m // 4


def places(m, k, lane):
    """(row, column) of each of a lane's elements of A, B and C."""
    group, thread = lane // 4, lane % 4
    high = m // 8
    a = [(group + 8 * (i % high), thread + 4 * (i // high)) for i in range(m * k // 32)]
    b = [(thread + 4 * i, group) for i in range(k // 4)]
    c = [(group + 8 * (i // 2), 2 * thread + i % 2) for i in range(m // 4)]
    return a, b, c


def names(letter, count):
    return "{" + ", ".join(f"%{letter}{i}" for i in range(count)) + "}"


def mma(m, k, d, c):
    na, nb, nc = counts(m, k)
    operands = ", ".join((names(d, nc), names("a", na), names("b", nb), names(c, nc)))
    return f"mma.sync.aligned.m{m}n8k{k}.row.col.f64.f64.f64.f64 {operands};"


def tile_source(m, k):
    """The kernel `tile`: d = a b + c, one tile per warp."""
    na, nb, nc = counts(m, k)
    parameters = dict(zip("abcd", (na, nb, nc, nc)))
    lines = [f".reg .f64 {', '.join(f'%{x}<{count}>' for x, count in parameters.items())};"]
    for x, count in parameters.items():
        lines += [f"ld.param.u64 %p{x}, [{x}];", f"mul.wide.u32 %step, %at, {8 * count};", f"add.u64 %p{x}, %p{x}, %step;"]
    moves = [(x, i) for x in "abc" for i in range(parameters[x])]
    lines += [f"ld.global.f64 %{x}{i}, [%p{x}+{8 * i}];" for x, i in moves]
    lines += [mma(m, k, "d", "c")]
    lines += [f"st.global.f64 [%pd+{8 * i}], %d{i};" for i in range(nc)]
    return f"""
.visible .entry tile(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d)
{{
.reg .b32 %lane, %block, %at;
.reg .b64 %pa, %pb, %pc, %pd, %step;
mov.u32 %lane, %tid.x;
mov.u32 %block, %ctaid.x;
mad.lo.u32 %at, %block, 32, %lane;
{chr(10).join(lines)}
ret;
}}
"""


def rate_source(m, k):
    """The kernel `rate`: a loop with nothing but products, in several independent chains."""
    na, nb, nc = counts(m, k)
    chains = "stuv"[:CHAINS]
    registers = {"a": na, "b": nb, **dict.fromkeys(chains, nc)}
    start = [f"mul.rn.f64 %{x}{i}, %one, 0d3F50000000000000;" for x, count in registers.items() for i in range(count)]
    body = [mma(m, k, x, x) for x in chains] * STEPS
    total = [f"add.rn.f64 %one, %one, %{x}{i};" for x in chains for i in range(nc)]
    return f"""
.visible .entry rate(.param .u64 out, .param .u32 rounds)
{{
.reg .f64 %one, {', '.join(f'%{x}<{count}>' for x, count in registers.items())};
.reg .b32 %left, %thread, %block, %threads;
.reg .b64 %at, %index;
.reg .pred %more;
ld.param.u64 %at, [out];
ld.param.u32 %left, [rounds];
mov.u32 %thread, %tid.x;
mov.u32 %block, %ctaid.x;
mov.u32 %threads, %ntid.x;
mad.lo.u32 %thread, %block, %threads, %thread;
cvt.rn.f64.u32 %one, %thread;
{chr(10).join(start)}
again:
{chr(10).join(body)}
sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra again;
{chr(10).join(total)}
mul.wide.u32 %index, %thread, 8;
add.u64 %at, %at, %index;
st.global.f64 [%at], %one;
ret;
}}
"""


def ascending(a, b, c):
    for x, y in zip(a, b):
        c = math.fma(x, y, c)
    return c


def product_first(a, b, c):
    return ascending(a[1:], b[1:], a[0] * b[0]) + c


def pairs(a, b, c):
    sums = [math.fma(a[k + 1], b[k + 1], a[k] * b[k]) for k in range(0, len(a), 2)]
    while len(sums) > 1:
        sums = [x + y for x, y in zip(sums[::2], sums[1::2])]
    return sums[0] + c


def exact(a, b, c):
    total = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b)), Fraction(c))
    # An exact zero gets its sign from the chain.
    return float(total) if total else ascending(a, b, c)


def descending(order):
    return lambda a, b, c: order(a[::-1], b[::-1], c)


def by_four(order):
    def run(a, b, c):
        for k in range(0, len(a), 4):
            c = order(a[k : k + 4], b[k : k + 4], c)
        return c

    return run


CHAIN = "fma chain from c, k ascending"
ORDERS = {
    CHAIN: ascending,
    "fma chain from c, k descending": descending(ascending),
    "fma chain of the products ascending, then c": product_first,
    "fma chain of the products descending, then c": descending(product_first),
    "pairs, then c": pairs,
    "rounded once": exact,
}
# The same orders within groups of four steps of k, for shapes with more. The ascending chain is the same either way.
ORDERS_BY_FOUR = {f"{name}, four by four": by_four(order) for name, order in ORDERS.items() if name != CHAIN}


def number(source, kind):
    if kind == "wide":
        return source.choice((-1, 1)) * source.uniform(1, 2) * 2.0 ** source.randint(-60, 60)
    if kind == "subnormal":
        return source.uniform(-1, 1) * 2.0 ** source.randint(-540, -500)
    if kind == "zeros":
        return source.choice((0.0, -0.0, 1.0, -1.0, source.uniform(-1, 1)))
    return source.uniform(-1, 1)


def tile(source, kind, m, k):
    """A (m by k), B (k by 8) and C (m by 8), as lists of rows."""
    a, b, c = ([[number(source, kind) for _ in range(columns)] for _ in range(rows)] for rows, columns in ((m, k), (k, 8), (m, 8)))
    if kind == "cancelling":
        b[k - 1] = list(b[0])
        for i in range(m):
            # The last product nearly cancels the first, and C nearly cancels the sum of all.
            a[i][k - 1] = -a[i][0] * (1 + source.uniform(-1, 1) * 2.0 ** -source.randint(20, 52))
            for j in range(8):
                c[i][j] = -sum(a[i][p] * b[p][j] for p in range(k))
    return a, b, c


def fragments(tiles, m, k):
    """Uploads A, B and C of all tiles in the order in which the lanes hold them."""
    flat = [[], [], []]
    for matrices in tiles:
        for lane in range(32):
            for values, matrix, where in zip(flat, matrices, places(m, k, lane)):
                values += [matrix[row][column] for row, column in where]
    return [common.upload(ctypes.c_double, values) for values in flat]


def bits(x):
    return struct.pack("d", x)


def compare(m, k):
    """Which orders have the bits of all tiles, and in how many elements each differs."""
    source, kinds = random.Random(4), ("ordinary", "wide", "cancelling", "zeros", "subnormal")
    each = common.pick(30, 10, 1)
    tiles = [(kind, tile(source, kind, m, k)) for kind in kinds for _ in range(each)]
    inputs = fragments([t for _, t in tiles], m, k)
    elements = 8 * m * len(tiles)
    out, stream = common.upload(ctypes.c_double, [0.0] * elements), common.Stream()
    arguments = [ctypes.c_uint64(array.pointer.value) for array in (*inputs, out)]
    driver.Kernel(tile_source(m, k), "tile").launch(stream.value, len(tiles), 32, *arguments)
    stream.synchronize()
    got = iter(out.download((ctypes.c_double * elements)()))
    orders = ORDERS if k == 4 else {**ORDERS, **ORDERS_BY_FOUR}
    differing = {name: dict.fromkeys(kinds, 0) for name in orders}
    # In units of the rounding error of one step. A large value means that the lanes hold other elements than assumed.
    worst = 0.0
    for kind, (a, b, c) in tiles:
        for lane in range(32):
            for i, j in places(m, k, lane)[2]:
                value, column = next(got), [row[j] for row in b]
                size = abs(c[i][j]) + sum(abs(x * y) for x, y in zip(a[i], column))
                if kind == "ordinary":
                    worst = max(worst, abs(value - exact(a[i], column, c[i][j])) / (size * 2.0**-53))
                for name, order in orders.items():
                    differing[name][kind] += bits(order(a[i], column, c[i][j])) != bits(value)
    same = [name for name, by_kind in differing.items() if not any(by_kind.values())]
    return {"same_bits": same, "differing": differing, "elements": elements, "worst_error": worst}


def rate(m, k):
    """Flops per second."""
    kernel, stream = driver.Kernel(rate_source(m, k), "rate"), common.Stream()
    blocks, rounds = driver.attribute(16) * 4, common.pick(2000, 200, 1)
    out = Device(8 * blocks * THREADS)
    arguments = (ctypes.c_uint64(out.pointer.value), ctypes.c_uint32(rounds))
    seconds = stream.seconds(lambda: kernel.launch(stream.value, blocks, THREADS, *arguments))
    return blocks * THREADS / 32 * CHAINS * STEPS * rounds * 16 * m * k / seconds


def measure():
    driver.check("cuInit", 0)
    if driver.capability() < (8, 0):
        return {"skipped": "the device has no f64 tensor cores"}, True
    shapes = SHAPES if driver.capability() == (9, 0) else SHAPES[:1]
    found = {}
    for m, k in shapes:
        found[f"m{m}n8k{k}"] = {**compare(m, k), "flops": rate(m, k)}
    return {"shapes": found, "is_the_fma_chain": {name: CHAIN in shape["same_bits"] for name, shape in found.items()}}, True


if __name__ == "__main__":
    common.finish(*measure())
