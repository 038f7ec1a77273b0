"""Makes the arguments of calls, for each family of operations of the header: random ones, or of given shapes."""
import math

import integers
import matmul
import tensors
from arrays import Arr, bounds, matrix, scalar, vector


class Epilogue:
    """The epilogue of gemm_fused."""
    def __init__(self, flags, kind, bias, inc, lo, hi):
        self.flags, self.kind, self.bias, self.inc, self.lo, self.hi = flags, kind, bias, inc, lo, hi


NEAR = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1023, 1024,
        1025]


def length(r, limit):
    p = r.random()
    if p < 0.04: return 0
    if p < 0.5: return min(r.choice(NEAR), limit)
    return int(2 ** r.uniform(0, math.log2(limit)))


# A maker takes an operation, a random generator, a type and a kind of numbers. It returns the arguments after exec
# (int, float, Arr or Epilogue), and which outputs have the canonical NaN, so that NaNs are compared bit by bit: none
# (False), all (True), or only the last one ("last").
def elementwise(op, r, t, mode, n=None):
    outputs = [p.name for p in op.parameters if p.kind == "output"]
    if n is None:
        n = length(r, 20000) if r.random() < 0.8 else r.randrange(20000, 150000)
    lo, hi = bounds(r, t)
    arrays = {p.name: Arr(r, t, n, mode) for p in op.parameters if p.kind == "input"}
    out = arrays[r.choice(op.inplace)] if op.inplace and r.random() < 0.5 else Arr(r, t, n, mode)
    out.out = True
    arrays[outputs[0]] = out
    for name in outputs[1:]: arrays[name] = Arr(r, t, 1, "normal", True, shift=0)
    values = {"n": n, "lo": lo, "hi": hi, **arrays}
    args = [values[p.name] if p.name in values else scalar(r, t, mode) for p in op.parameters]
    return args, "last" if len(outputs) > 1 else False


def outer(op, r, t, mode, shape=None, strides=None):
    m, n = shape or (length(r, 300), length(r, 300))
    if shape is None and r.random() < 0.1:
        m, n = r.choice([(1, 3000), (3000, 1), (2, 2000), (2000, 2), (700, 5), (5, 700)])
    (x, incx), (y, incy) = vector(r, t, m, mode), vector(r, t, n, mode)
    a, rs, cs, _ = matrix(r, t, m, n, mode, True, strides)
    alpha = [scalar(r, t, mode) for p in op.parameters if p.kind == "scalar"]
    return [m, n, *alpha, x, incx, y, incy, a, rs, cs], False


TILE = [2, 3, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 80, 96, 127, 128, 129, 130, 191, 192, 193, 255, 256,
        257]
KS = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 700,
      1025]


def product_shape(r, limit):
    """m, n, k with m * n * k <= limit; a few of the shapes may exceed it."""
    while True:
        p = r.random()
        if p < 0.02: m, n, k = r.randrange(2, 500), r.randrange(2, 300), 0
        elif p < 0.25: m, n, k = r.randrange(1, 20), r.randrange(1, 20), r.randrange(0, 40)
        elif p < 0.6: m, n, k = r.choice(TILE), r.choice(TILE), r.choice(KS)
        elif p < 0.75: m, n, k = r.randrange(2, 40), r.randrange(2, 40), r.randrange(257, 6000)  # split-K
        elif p < 0.90:
            side, k = (300, r.randrange(1, 600)) if p < 0.85 else (5, r.randrange(1, 90000))
            m, n = r.choice([(1, r.randrange(1, side)), (r.randrange(1, side), 1)])
        elif p < 0.94: m, n, k = r.randrange(100, 300), r.randrange(1, 20), r.randrange(1, 300)
        elif p < 0.97: m, n, k = r.randrange(33, 70), r.randrange(33, 70), r.randrange(450, 1300)
        else: m, n, k = r.randrange(0, 3), r.randrange(0, 3), r.randrange(0, 600)
        if m * n * k <= limit or (0.94 <= p < 0.97 and limit > 1e6):
            return m, n, k


def gemm(op, r, t, mode, shape=None, plain=False, batch=None):
    names = [p.name for p in op.parameters]
    batched = "batch" in names
    if batched and batch is None:
        batch = r.choice([1, 2, 3]) if shape else 70 if r.random() < 0.03 else r.choice([0, 1, 2, 3, 5, 9])
    m, n, k = shape or product_shape(r, 1500000 // max(batch or 1, 1))
    sa = sb = sc = None
    if plain: sa, sb, sc = r.choice([(k, 1), (1, m)]), r.choice([(n, 1), (1, k)]), r.choice([(n, 1), (n, 1), (1, m)])
    a, ars, acs, a_bs = matrix(r, t, m, k, mode, False, sa, batch)
    b, brs, bcs, b_bs = matrix(r, t, k, n, mode, False, sb, batch)
    c, crs, ccs, c_bs = matrix(r, t, m, n, mode, True, sc, batch)
    alpha = r.choice([1.0, -0.75]) if plain else scalar(r, t, mode)
    args = [m, n, k, alpha, a, ars, acs, b, brs, bcs, scalar(r, t, mode), c, crs, ccs]
    if batched: args += [batch, a_bs, b_bs, c_bs]
    if "epilogue" in names:
        kind = r.randrange(3)
        bias, inc = vector(r, t, [0, m, n][kind], mode)
        args.append(Epilogue(r.randrange(2), kind, bias if kind else None, inc, *bounds(r, t)))
    return args, False


def reduction_mode(op, mode):
    """The kind of numbers for a reduction. logsumexp gets no extreme ones, whose exponentials are all 0 or infinite."""
    return "exponents" if op.name.startswith("logsumexp") and mode in ("wild", "tiny") else mode


def ddof(op, value):
    return [value] if any(p.name == "ddof" for p in op.parameters) else []


def reduce(op, r, t, mode, n=None, inc=None):
    if n is None:
        n = length(r, 5000)
        if r.random() < 0.15: n = r.randrange(16000, 200000)
        if r.random() < 0.1:
            n = max(0, r.choice([1, 2, 3, 15, 16, 17, 31, 32, 33, 64]) * (2048 >> t) + r.choice([-1, 0, 1]))
    args = [n]
    for p in op.parameters:
        if p.kind == "input":
            stride = inc or (r.choice([1, 1, 1, 2, -1, 0]) if n > 5000 else None)
            args += vector(r, t, n, reduction_mode(op, mode), inc=stride)
    out = Arr(r, t, 1, "normal", True, index=op.parameters[-1].kind == "index", shift=0)
    return args + ddof(op, r.choice([0, 0, 1, 1, n - 1, n])) + [out], True


def rows_shape(r):
    """m and n of a matrix whose rows are reduced."""
    p = r.random()
    if p < 0.3: return length(r, 70), length(r, 300)
    if p < 0.55: return r.choice(NEAR[:20]), r.choice(NEAR)
    if p < 0.75: return r.randrange(8, 300), r.randrange(2, 100)
    if p < 0.85: return r.randrange(1, 20), r.randrange(2000, 9000)
    if p < 0.92: return r.randrange(8, 12), r.randrange(9000, 20000)
    if p < 0.97: return r.randrange(1000, 3000), r.randrange(1, 12)
    return r.randrange(1, 4), r.randrange(30000, 90000)


def row_maps(op, r, t, mode, shape=None, strides=None):
    m, n = shape or rows_shape(r)
    out, out_rs, out_cs, _ = matrix(r, t, m, n, mode, True, strides)
    x, rs, cs = out, out_rs, out_cs
    if r.random() < 0.7: x, rs, cs, _ = matrix(r, t, m, n, mode, False, strides if r.random() < 0.5 else None)
    return [m, n, x, rs, cs, out, out_rs, out_cs], False


def rows(op, r, t, mode, shape=None, strides=None):
    m, n = shape or rows_shape(r)
    x, rs, cs, _ = matrix(r, t, m, n, reduction_mode(op, mode), False, strides)
    out, inc = vector(r, t, m, "normal", True, index=any(p.kind == "index" for p in op.parameters))
    return [m, n, x, rs, cs, *ddof(op, r.choice([0, 0, 1, n - 1])), out, inc], True


def lsq(op, r, t, mode, shape=None, strides=None):
    if shape is None:
        p = r.random()
        if p < 0.35: shape = length(r, 200), length(r, 200)
        elif p < 0.6: shape = r.choice(NEAR[:20]), r.choice(NEAR[:26])
        elif p < 0.8: shape = r.randrange(200, 3000), r.randrange(1, 40)
        elif p < 0.9: shape = r.randrange(1, 80), r.randrange(1000, 3000)
        else: shape = r.randrange(1, 40), r.randrange(3000, 9000)
    m, n = shape
    a, rs, cs, _ = matrix(r, t, m, n, mode, False, strides)
    return [m, n, a, rs, cs, Arr(r, t, n, mode), Arr(r, t, m, mode), Arr(r, t, n, "normal", True)], True


MAKERS = dict(elementwise=elementwise, tensors=tensors.elementwise, convert=tensors.convert, axes=tensors.axes,
              row_maps=row_maps, row_maps_over_axes=tensors.row_map, products_over_tensors=tensors.products, outer=outer,
              gemm=gemm, matmul=matmul.matmul, reduce=reduce, rows=rows, lsq=lsq)
INTEGERS = dict(tensors=integers.elementwise, axes=integers.axes, products_over_tensors=integers.products)
WEIGHTS = dict(gemm=5, matmul=5, lsq=5, outer=2, convert=5, row_maps=3, row_maps_over_axes=3)


def arguments(op, r, t, mode, **keywords):
    """What the maker of the operation's family returns for type t. The kind of numbers is of floats only."""
    makers = INTEGERS if t >= integers.FIRST else MAKERS
    return makers[op.family](op, r, t, mode, **keywords)
