"""Products of tensors of small types: the arguments of dpt_matmul."""
import ctypes as C
import random
import struct

from arrays import BFLOAT, FLOAT, INT, POOL, UINT, Typed, extent, pools, slices
from tensors import Tensor, row_major, strides_of

I8, U8, I32, I64 = (INT, 8), (UINT, 8), (INT, 32), (INT, 64)
F16, BF16, SINGLE, DOUBLE = (FLOAT, 16), (BFLOAT, 16), (FLOAT, 32), (FLOAT, 64)
# The types of a, b and c.
TYPES = [(I8, I8, I32), (U8, I8, I32), (I8, I8, SINGLE), (U8, I8, SINGLE), (I32, I32, I32), (I64, I64, I64),
         (F16, F16, F16), (F16, F16, SINGLE), (BF16, BF16, BF16), (BF16, BF16, SINGLE), (SINGLE, SINGLE, SINGLE),
         (DOUBLE, DOUBLE, DOUBLE)]
SIDES = [1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 40, 63, 64, 65, 70, 100, 129]
KS = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 300, 1023, 1024, 1025, 1100, 2050]
CLAMP = 1


class CTensorEpilogue(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("flags", C.c_uint32), ("reserved", C.c_int32), ("bias", C.c_void_p),
                ("lo", C.c_double), ("hi", C.c_double), ("row_scale", C.c_void_p), ("column_scale", C.c_void_p)]


class TensorEpilogue:
    """The epilogue of dpt_matmul."""
    def __init__(self, bias, row_scale, column_scale, clamp):
        self.bias, self.row_scale, self.column_scale, self.clamp = bias, row_scale, column_scale, clamp

    def struct(self, address):
        """The struct; `address` gives the address of a tensor."""
        of = lambda tensor: tensor and address(tensor)
        return CTensorEpilogue(C.sizeof(CTensorEpilogue), CLAMP if self.clamp else 0, 0, of(self.bias),
                               *(self.clamp or (0.0, 0.0)), of(self.row_scale), of(self.column_scale))

    def __str__(self):
        return f"(bias {self.bias} scales {self.row_scale} {self.column_scale} clamp {self.clamp})"


class Elements(Typed):
    """An array of any integers, or of numbers near 0, now and then all special or tiny."""
    def __init__(self, r, type, span, out=False, first=0):
        super().__init__(r, type, span, out, first)
        if type[0] not in (FLOAT, BFLOAT): return
        p = r.random()
        if p < 0.1: return
        scale = 1e-6 if p < 0.2 else 1.0
        key = "near 0", type, scale
        if key not in pools: pools[key] = near(random.Random(str(key)), type, POOL, scale)
        self.content = slices(r, pools[key], self.size, span)


def near(r, type, n, scale):
    """n numbers near 0, as bytes."""
    pack = {F16: lambda x: struct.pack("<e", x), BF16: lambda x: struct.pack("<f", x)[2:],
            SINGLE: lambda x: struct.pack("<f", x), DOUBLE: lambda x: struct.pack("<d", x)}[type]
    return b"".join(pack(r.gauss(0, scale)) for _ in range(n))


def tensor(r, type, shape, out=False, plain=False):
    """A tensor; if `plain`, in row-major order."""
    strides = row_major(shape) if plain else strides_of(r, shape, out)
    span, first = extent(list(zip(shape, strides)))
    return Tensor(0, shape, strides, Elements(r, type, span, out, first))


def epilogue(r, types, m, n):
    maybe = lambda shape, type=SINGLE: tensor(r, type, shape) if r.random() < 0.4 else None
    is_byte = types[0][1] == 8
    of_bias = {8: [SINGLE], 16: [SINGLE, types[0]]}.get(types[0][1], [types[0]])
    bias = maybe(r.choice([[n], [m, 1]]), r.choice(of_bias))
    return TensorEpilogue(bias, maybe([m]) if is_byte else None, maybe([n]) if is_byte else None,
                          (-1.25, 2.5) if r.random() < 0.3 else None)


def matmul(op, r, t, mode, shape=None, types=None):
    """Arguments as of the makers in cases.py."""
    types = TYPES[types] if types is not None else r.choice(TYPES)
    while shape is None:
        shape = r.choice(SIDES), r.choice(SIDES), r.choice(KS)
        if shape[0] * shape[1] * shape[2] > 150000: shape = None
    m, n, k = shape
    batch = r.choice([[], [], [2], [3, 2]]) if m * n * k < 40000 else []
    own = lambda: [count if r.random() < 0.7 else 1 for count in batch]
    plain = r.random() < 0.4
    a, b = (tensor(r, type, own() + sides, plain=plain) for type, sides in zip(types, ([m, k], [k, n])))
    batch = [max(x, y) for x, y in zip(a.shape[:-2], b.shape[:-2])]
    c = tensor(r, types[2], batch + [m, n], True, plain)
    is_float = types[2][0] != INT
    alpha, beta = r.choice([1.0, 1.0, -0.5, 0.0]) if is_float else 1.0, r.choice([0.0, 1.0] + [0.7] * is_float)
    last = epilogue(r, types, m, n) if is_float and r.random() < 0.6 else None
    # Products of f32 and f64 have any NaN.
    return [C.c_double(alpha), a, b, C.c_double(beta), c, last], types[0] not in (SINGLE, DOUBLE)
