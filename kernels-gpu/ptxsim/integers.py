"""Tensors of integers: arguments of the functions over tensors that take them."""
import ctypes as C

from arrays import INT, UINT, Typed, extent, numbers
from tensors import Tensor, random_shape, row_major, some_axes, strides_of

# The numbers of these types come behind those of floats.
FIRST = 4
TYPES = [(INT, 8), (UINT, 8), (INT, 32), (INT, 64)]


def array(r, type, shape, out=False, plain=False):
    """A tensor; if `plain`, in row-major order."""
    strides = row_major(shape) if plain else strides_of(r, shape, out)
    span, first = extent(list(zip(shape, strides)))
    return Tensor(0, shape, strides, Typed(r, type, span, out, first))


def number(r, type):
    tensor = Tensor(0, number=numbers(r, type, 1))
    tensor.type = type
    return tensor


def elementwise(op, r, t, mode, shape=None):
    """Arguments as of the makers in cases.py."""
    shape, type = random_shape(r, 6000) if shape is None else shape, TYPES[t - FIRST]
    plain = r.random() < 0.4
    inputs = [p.name for p in op.parameters if p.kind == "input"]
    output = next(p.name for p in op.parameters if p.kind == "output")
    values = {output: array(r, type, shape, True, plain)}
    whole = r.choice(inputs) if inputs else None
    for name in inputs:
        if name == whole and op.inplace and r.random() < 0.3: values[name] = values[output]
        elif name == whole or plain: values[name] = array(r, type, shape, plain=plain)
        elif r.random() < 0.2: values[name] = number(r, type)
        else: values[name] = array(r, type, [n if r.random() < 0.7 else 1 for n in shape[r.randrange(2):]])
    return [values.get(p.name) or number(r, type) for p in op.parameters if p.kind != "int"], False


def axes(op, r, t, mode, shape=None, over=None):
    """Arguments of a reduction over axes."""
    shape, type = random_shape(r, 20000) if shape is None else shape, TYPES[t - FIRST]
    reduced, named = some_axes(r, shape, over)
    kept = [n for i, n in enumerate(shape) if i not in reduced]
    to = type if op.name in ("min", "max") else r.choice([type, *TYPES[2:]])
    if any(p.kind == "index" for p in op.parameters): to = TYPES[3]
    x = array(r, type, shape, plain=r.random() < 0.5)
    return [x, *named, array(r, to, kept, True)], True


def products(op, r, t, mode, shape=None):
    """Arguments of products of vectors."""
    m, n = shape or r.choice([(3, 70), (40, 33), (1, 257), (200, 5), (5, 200), (2, 2500), (0, 3)])
    type = TYPES[t - FIRST]
    if op.name == "dot":
        # Products of bytes have a sum of i32, and the second one is signed.
        second, to = (TYPES[0], TYPES[2]) if type[1] == 8 else (type, type)
        return [array(r, type, [m, n]), array(r, second, r.choice([[n], [m, n]])), array(r, to, [m], True)], True
    x, y, out = array(r, type, [m]), array(r, type, [n]), array(r, type, [m, n], True)
    if op.name == "outer": return [x, y, out], False
    return [C.c_double(r.choice([1, 0, -3, 2**40])), x, y, out], False
