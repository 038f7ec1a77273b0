"""Tensors for the functions over tensors: of any rank, strides and broadcast axes, and numbers."""
import ctypes as C
import math

from arrays import BF16, F16, F32, TYPE, TYPES, Arr, Typed, bounds, extent, numbers, packed, scalar

CPU, CUDA = 1, 2


class DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device_type", C.c_int32), ("device_id", C.c_int32), ("ndim", C.c_int32),
                ("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Tensor:
    """An array with a shape and strides, or a number, which stays in memory of the host on both backends."""
    def __init__(self, t, shape=(), strides=(), array=None, number=None):
        self.shape, self.strides, self.array = shape, strides, array
        self.type = array.type if array else TYPE[t]
        # The bytes of the number.
        self.number = packed(t, number) if isinstance(number, float) else number

    def describe(self, address, device):
        """The tensor whose first element is at an address, and what must outlive it."""
        axes = C.c_int64 * len(self.shape)
        shape, strides = axes(*self.shape), axes(*self.strides)
        where = CUDA if device and self.array is not None else CPU
        tensor = DLTensor(address, where, 0, len(self.shape), *self.type, 1, shape, strides, 0)
        return tensor, (shape, strides)

    def __str__(self):
        if self.array is None: return f"{self.type} {self.number.hex()}"
        shape, output = "x".join(map(str, self.shape)), "*" if self.array.out else ""
        return f"[{self.type} {shape} strides {list(self.strides)}{output}]"


def strides_of(r, shape, out=True):
    """Strides of axes in a random order and direction, with gaps here and there; of inputs one may be 0."""
    order = list(range(len(shape)))
    if r.random() < 0.6: r.shuffle(order)
    strides, step = [0] * len(shape), r.choice([1, 1, 1, 2])
    for axis in reversed(order):
        strides[axis] = r.choice([1, 1, 1, -1]) * step
        step = step * max(shape[axis], 1) + r.choice([0, 0, 0, 1, 3])
    if strides and not out and r.random() < 0.1: strides[r.randrange(len(strides))] = 0
    return strides


def row_major(shape):
    return [math.prod(shape[i + 1:]) for i in range(len(shape))]


def tensor(r, t, shape, mode, out=False, index=False, plain=False):
    """A tensor; if `plain`, in row-major order."""
    strides = row_major(shape) if plain else strides_of(r, shape, out)
    span, first = extent(list(zip(shape, strides)))
    return Tensor(t, shape, strides, Arr(r, t, span, mode, out, first, index, shift=0 if index else None))


def random_shape(r, most):
    shape = []
    for _ in range(r.randrange(6)):
        room = most
        for n in shape: room //= max(n, 1)
        shape.append(min(r.choice([1, 2, 3, 5, 8, 31, 33, 64, 100, 257, 1000]), max(room, 1)))
    if r.random() < 0.03: shape.append(0)
    return shape


def elementwise(op, r, t, mode, shape=None):
    """Arguments as of the makers in cases.py."""
    shape = random_shape(r, 6000) if shape is None else shape
    lo, hi = bounds(r, t)
    plain = r.random() < 0.4
    inputs = [p.name for p in op.parameters if p.kind == "input"]
    output = next(p.name for p in op.parameters if p.kind == "output")
    out = tensor(r, t, shape, mode, True, plain=plain)
    values = {"lo": Tensor(t, number=lo), "hi": Tensor(t, number=hi), output: out}
    whole = r.choice(inputs) if inputs else None
    for name in inputs:
        if name == whole and op.inplace and r.random() < 0.3: values[name] = values[output]
        elif name == whole or plain: values[name] = tensor(r, t, shape, mode, plain=plain)
        elif r.random() < 0.2: values[name] = Tensor(t, number=scalar(r, t, mode))
        else: values[name] = tensor(r, t, [n if r.random() < 0.7 else 1 for n in shape[r.randrange(2):]], mode)
    number = lambda: Tensor(t, number=scalar(r, t, mode))
    return [values.get(p.name) or number() for p in op.parameters if p.kind != "int"], False


def some_axes(r, shape, over=None):
    """Some axes of a shape, or those given, and the arguments that name them."""
    some = [i for i in range(len(shape)) if r.random() < 0.5] if over is None else list(over)
    numbers = (C.c_int32 * len(some))(*(i - len(shape) if r.random() < 0.3 else i for i in some))
    return some, (len(some), numbers)


def row_map(op, r, t, mode, shape=None, over=None):
    """Arguments of a map over the rows that some axes make."""
    shape = random_shape(r, 20000) if shape is None else shape
    _, named = some_axes(r, shape, over)
    plain = r.random() < 0.5
    out = tensor(r, t, shape, mode, True, plain=plain)
    return [out if r.random() < 0.3 else tensor(r, t, shape, mode, plain=plain), *named, out], False


def axes(op, r, t, mode, shape=None, over=None):
    """Arguments of a reduction over axes."""
    shape = random_shape(r, 20000) if shape is None else shape
    reduced, named = some_axes(r, shape, over)
    elements = math.prod(shape[i] for i in reduced)
    ddof = [r.choice([0, 0, 1, elements - 1])] if any(p.name == "ddof" for p in op.parameters) else []
    keeps = r.random() < 0.3
    kept = [1 if i in reduced else n for i, n in enumerate(shape) if keeps or i not in reduced]
    index = any(p.kind == "index" for p in op.parameters)
    mode = "exponents" if op.name == "logsumexp" and mode in ("wild", "tiny") else mode
    r.shuffle(reduced)
    to = unrounded(r, t)
    x = tensor(r, t, shape, mode, plain=r.random() < 0.5)
    return [x, *named, *ddof, tensor(r, to, kept, "normal", True, index)], True


def unrounded(r, t):
    """The type of results: t, or of 16-bit floats also f32."""
    return F32 if t in (F16, BF16) and r.random() < 0.4 else t


def products(op, r, t, mode, shape=None):
    """Arguments of products of vectors and of gradients, which have functions for pointers too, except for 16 bits."""
    m, n = shape or r.choice([(3, 70), (40, 33), (1, 257), (200, 5), (5, 200), (2, 2500), (0, 3)])
    to = unrounded(r, t)
    vector = lambda n: tensor(r, t, [n], mode)
    if op.name == "outer": return [vector(m), vector(n), tensor(r, to, [m, n], mode, True)], False
    if op.name == "ger": return [scalar(r, t, mode), vector(m), vector(n), tensor(r, t, [m, n], mode, True)], False
    if op.name == "dot":
        x, y = tensor(r, t, [m, n], mode), tensor(r, t, r.choice([[n], [m, n], [1, n]]), mode)
        return [x, y, tensor(r, to, [m], "normal", True)], True
    if op.name == "lsq_grad":
        return [tensor(r, t, [m, n], mode), vector(n), vector(m), tensor(r, t, [n], "normal", True)], True
    inputs = [tensor(r, t, [m, n], mode) for _ in range(2)]
    return [*inputs, tensor(r, t, [m, n], mode, True), tensor(r, to, [], "normal", True)], "last"


def convert(op, r, t, mode, shape=None):
    """Arguments of dpt_convert, of any types."""
    shape = random_shape(r, 6000) if shape is None else shape
    of = r.choice(TYPES)
    to = of if r.random() < 0.2 else r.choice(TYPES)
    def typed(type, shape, out):
        strides = strides_of(r, shape, out)
        span, first = extent(list(zip(shape, strides)))
        return Tensor(t, shape, strides, Typed(r, type, span, out, first))
    if r.random() < 0.1:
        x = Tensor(t, number=numbers(r, of, 1))
        x.type = of
    else: x = typed(of, [n if r.random() < 0.8 else 1 for n in shape[r.choice([0, 0, 1]):]], False)
    return [x, typed(to, shape, True)], False
