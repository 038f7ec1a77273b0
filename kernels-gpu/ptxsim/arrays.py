"""Arrays with numbers of all kinds, and their layouts."""
import math
import random
import struct

F32, F64, F16, BF16 = range(4)
SIZE = (4, 8, 2, 2)
# Types as in DLPack: the code of the kind of numbers, and bits. FLOATS has the bits of their infinities.
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
FLOATS = {(FLOAT, 16): 0x7C00, (BFLOAT, 16): 0x7F80, (FLOAT, 32): 0x7F800000, (FLOAT, 64): 0x7FF0000000000000}
TYPES = [*FLOATS, (BOOL, 8), *((code, bits) for code in (INT, UINT) for bits in (8, 16, 32, 64))]
TYPE = ((FLOAT, 32), (FLOAT, 64), (FLOAT, 16), (BFLOAT, 16))
LETTER = ("I", "Q", "H", "H")
# Bits of the fraction, and the largest exponent.
FIELDS = ((23, 254), (52, 2046), (10, 30), (7, 254))


def special(r, t, nan=True, inf=True):
    """The bits of a random special value of type t."""
    if t == F32:
        s = [0x80000000, 0, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F800000, 0xBF800000]
        s += [0x7F800000, 0xFF800000] if inf else []
        s += [0x7FC00000, 0xFFC00001, 0x7F800001, 0x7FFFFFFF] if nan else []
    elif t != F64:
        infinity, sign = FLOATS[TYPE[t]], 0x8000
        smallest, one = 1 << FIELDS[t][0], bits(t, 1.0)
        s = [sign, 0, 1, sign | 1, smallest - 1, smallest, infinity - 1, sign | infinity - 1, one, sign | one]
        s += [infinity, sign | infinity] if inf else []
        s += [infinity | smallest // 2, sign | infinity | 1, infinity | 1, 0x7FFF] if nan else []
    else:
        s = [1 << 63, 0, 1, (1 << 63) | 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
             0xFFEFFFFFFFFFFFFF, 0x3FF0000000000000]
        s += [0x7FF0000000000000, 0xFFF0000000000000] if inf else []
        s += [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF] if nan else []
    return r.choice(s)


def bits(t, x):
    """The bits of the number x in type t."""
    return int.from_bytes(packed(t, x), "little")


def packed(t, x):
    """The bytes of the number x in type t; of a bf16, cut off."""
    if t == BF16: return struct.pack("<f", x)[2:]
    if t == F16 and 65504 < abs(x) < math.inf: x = math.copysign(65504, x)
    return struct.pack("<" + "fde"[t], x)


MODES = ["normal", "normal", "exponents", "integers", "ties", "wild", "specials", "rare nan", "rare inf", "tiny"]
POOL = 1 << 16
pools = {}


def pool(t, mode):
    """POOL elements of type t and of a kind of numbers (see MODES), as bytes."""
    if (t, mode) in pools:
        return pools[t, mode]
    r = random.Random(f"{t} {mode}")
    mantissa, emax = FIELDS[t]
    bias = emax // 2
    out = []
    for _ in range(POOL):
        sign = r.getrandbits(1) << 8 * SIZE[t] - 1
        m = r.getrandbits(mantissa)
        if mode in ("normal", "specials", "rare nan", "rare inf"):
            v = sign | (bias + r.choice((-3, -2, -1, -1, 0, 0, 1))) << mantissa | m
            p = r.random()
            if mode == "specials" and p < 0.04:
                v = special(r, t)
            if mode == "rare nan" and p < 0.0004:
                v = special(r, t)
            if mode == "rare inf" and p < 0.002:
                v = special(r, t, nan=False)
        elif mode == "exponents":
            v = sign | min(max(bias + r.randrange(-20, 20), 0), emax) << mantissa | m
        elif mode == "integers":
            v = bits(t, float(r.randrange(-9, 10)))
        elif mode == "ties":
            v = bits(t, r.choice((-1.0, 0.0, -0.0, 1.0, 1.0)))
        elif mode == "wild":
            v = sign | r.randrange(0, emax + 1) << mantissa | m
        else:  # tiny: subnormal numbers, and the smallest normal ones
            v = sign | r.randrange(0, 4) << mantissa | m
        out.append(v)
    pools[t, mode] = struct.pack(f"<{POOL}{LETTER[t]}", *out)
    return pools[t, mode]


def data(r, t, n, mode):
    """n elements of type t from the pool of a kind of numbers, as bytes."""
    return slices(r, pool(t, mode), SIZE[t], n)


def slices(r, p, size, n):
    """n elements of this size, from random places of a pool."""
    out = bytearray()
    while len(out) < n * size:
        at = r.randrange(POOL // 2)
        out += p[at * size:(at + n) * size]
    return bytes(out[:n * size])


class Arr:
    """An array for a call on both backends. `first` is the index of element 0 in it, which is not 0 if a stride is
    negative; `shift` is the distance in bytes from an aligned address."""
    aligned = False  # Whether all arrays have shift 0.

    def __init__(self, r, t, span, mode, out=False, first=0, index=False, shift=None):
        self.t, self.out, self.first, self.span = t, out, first, span
        self.size = 8 if index else SIZE[t]
        self.content = data(r, F64 if index else t, span, mode)
        shifts = [0, 0, 0, self.size, 2 * self.size, 3 * self.size]
        self.shift = 0 if Arr.aligned else r.choice(shifts) if shift is None else shift
        self.index = index
        self.type = (INT, 64) if index else TYPE[t]

    def is_nan(self, v):
        return self.type in FLOATS and v & (1 << self.type[1] - 1) - 1 > FLOATS[self.type]


def difference(array, cpu, gpu, strict):
    """Describes how the contents of an array differ; None if they do not. Two NaNs are equal unless `strict`."""
    if cpu == gpu: return None
    letter = {1: "B", 2: "H", 4: "I", 8: "Q"}[array.size]
    c, g = (struct.unpack(f"<{array.span}{letter}", content) for content in (cpu, gpu))
    both_nan = lambda i: not strict and array.is_nan(c[i]) and array.is_nan(g[i])
    wrong = [i for i in range(array.span) if c[i] != g[i] and not both_nan(i)]
    if not wrong: return None
    i = wrong[0]
    return (f"{len(wrong)} of {array.span} elements differ, first at {i} ({i - array.first} from element 0): "
            f"{c[i]:#x} on the CPU, {g[i]:#x} on the device")


class Typed(Arr):
    """An array of any of TYPES: random bits, or for floats also numbers near integers and the edges of their types."""
    def __init__(self, r, type, span, out=False, first=0):
        super().__init__(r, F32, 0, "normal", out, first, shift=0)
        self.type, self.span, self.size = type, span, type[1] // 8
        if not Arr.aligned: self.shift = self.size * r.randrange(4)
        self.content = numbers(r, type, span)


def numbers(r, type, n):
    """n elements, as bytes; many are slices of a pool, which are made faster."""
    is_random = r.random() < 0.3
    if n < 2000: return made(r, type, n, is_random)
    if (type, is_random) not in pools:
        pools[type, is_random] = made(random.Random(f"{type} {is_random}"), type, POOL, is_random)
    return slices(r, pools[type, is_random], type[1] // 8, n)


def made(r, type, n, is_random):
    """n elements of random bits, or of numbers among which they are."""
    code, bits = type
    out = bytearray(r.randbytes(n * bits // 8))
    if code == BOOL: return bytes(b & r.choice([1, 1, 255]) for b in out)
    for i in () if is_random else range(n):
        top = 1 << r.randrange(66)
        x = r.choice([-1, 1]) * (r.choice([top, top - 1, top + 1]) + r.choice([0, 0, 0.5, 1e-9]))
        if type == (FLOAT, 64): one = struct.pack("<d", x)
        elif type == (FLOAT, 32): one = struct.pack("<f", x)
        elif type == (BFLOAT, 16): one = struct.pack("<f", x)[2:]
        elif type == (FLOAT, 16): one = struct.pack("<e", max(min(x, 65504), -65504))
        else: one = (int(x) % (1 << bits)).to_bytes(bits // 8, "little")
        if r.random() < 0.5: out[i * bits // 8:(i + 1) * bits // 8] = one
    return bytes(out)


def extent(dims):
    """For dimensions as (count, stride): the elements from the lowest to the highest, and the index of element 0."""
    if any(n == 0 for n, _ in dims):
        return 0, 0
    low = sum((n - 1) * s for n, s in dims if s < 0)
    high = sum((n - 1) * s for n, s in dims if s > 0)
    return high - low + 1, -low


def vector(r, t, n, mode, out=False, inc=None, index=False):
    """A vector, and its increment."""
    if inc is None:
        inc = r.choice([1, 1, 1, 2, 3, -1, -2] if out else [1, 1, 1, 1, 2, 3, -1, -2, 0])
    span, first = extent([(n, inc)])
    return Arr(r, t, span, mode, out, first, index), inc


def layout(r, m, n, out=False):
    """Random row and column strides of an m by n matrix."""
    pad = r.choice([0, 0, 1, 3, 4, 7])
    kinds = ["row", "row", "row", "column", "column", "up", "back", "both", "column up", "wide"]
    if not out:
        kinds += ["zero row", "zero column"]
    k = r.choice(kinds)
    if k == "row": return n + pad, 1
    if k == "column": return 1, m + pad
    if k == "up": return -(n + pad), 1
    if k == "back": return n + pad, -1
    if k == "both": return -(n + pad), -1
    if k == "column up": return -1, m + pad
    if k == "wide": return (2 * n + pad, 2) if r.random() < 0.5 else (3, 3 * m + pad)
    if k == "zero row": return 0, 1
    return 1, 0


def matrix(r, t, m, n, mode, out=False, strides=None, batch=None):
    """A matrix or a batch of them: the array, the row stride, the column stride, the batch stride."""
    rs, cs = strides or layout(r, m, n, out)
    dims = [(m, rs), (n, cs)]
    bs = 0
    if batch is not None:
        one = extent(dims)[0]
        bs = r.choice([one, one + 1, one + 4, -one] + ([] if out else [0]))
        dims.append((batch, bs))
    span, first = extent(dims)
    return Arr(r, t, span, mode, out, first), rs, cs, bs


def scalar(r, t, mode):
    if r.random() < 0.6:
        return r.choice([0.0, 1.0, -1.0, 2.5, 0.5, -0.0])
    if mode == "specials" and r.random() < 0.3:
        return r.choice([math.inf, -math.inf, math.nan, 1e-40, 1e300 if t == F64 else 1e38])
    return r.uniform(-3, 3)


def bounds(r, t):
    """The bounds of a clamp."""
    p = r.random()
    if p < 0.04: return math.nan, 1.0
    if p < 0.08: return -1.0, math.nan
    if p < 0.12: return -math.inf, r.uniform(-1, 1)
    if p < 0.16: return r.uniform(-1, 1), math.inf
    if p < 0.18: return 1.0, -1.0  # lo > hi
    return sorted([scalar(r, t, "normal"), scalar(r, t, "normal")])
