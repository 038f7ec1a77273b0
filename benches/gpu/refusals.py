"""Checks that calls over tensors that must be refused are refused on the device as on the CPU, and write nothing: every
function with every type of elements, and one argument changed at a time. A changed call that the CPU accepts must have
the same result. Argument: `small` for some of the functions. The last line is JSON."""
import collections
import contextlib
import ctypes
import itertools
import math
import random
import sys

import cases
import integers
import matmul
from arrays import BOOL, FLOAT, INT, TYPES, UINT, Arr
from diptych import AUTO, CPU, CUDA, REHEARSAL, Device, call, cuda
from over_tensors import named, operations, types
from sides import Call, differences
from tensors import Tensor
from verdict import Verdict

# So wide that what a changed call reads and writes is in memory.
MARGIN = 4096
UNSUPPORTED, HOST_POINTER = 103, 204
ON_CPU, ON_CUDA, ON_ROCM = 1, 2, 10
# What a valid call of each family is made of; of products, for each list of types.
BASES = {
    "tensors": [dict(shape=[3, 5])], "axes": [dict(shape=[3, 5], over=[1])], "convert": [dict(shape=[3, 5])],
    "row_maps_over_axes": [dict(shape=[3, 5], over=[1])], "products_over_tensors": [dict(shape=(3, 5))],
    "matmul": [dict(shape=(3, 5, 4), types=i) for i in range(len(matmul.TYPES))],
}
# Other types than those of TYPES: a vector of two numbers is made below.
STRANGE = [(FLOAT, 8), (FLOAT, 128), (INT, 128), (UINT, 1), (BOOL, 1), (3, 64), (5, 64), (17, 8)]


def set_members(i, **members):
    """A change of some members of tensor i, the same on both sides."""
    return lambda made: [setattr(made.tensors[i], name, value) for name, value in members.items()]


def set_axis(i, axis, length=None, stride=None):
    """A change of a length or of a stride, or of both."""
    def change(made):
        tensor = made.tensors[i]
        tensor.shape[axis] = tensor.shape[axis] if length is None else length
        tensor.strides[axis] = tensor.strides[axis] if stride is None else stride
    return change


def set_value(k, value):
    """A change of argument k itself."""
    return lambda made: made.values.__setitem__(k, value)


def place_at(i, j):
    """Tensor i begins where tensor j does."""
    return lambda made: setattr(made.tensors[i], "data", made.tensors[j].data)


def of_tensor(i, argument, is_conversion):
    """Changes of tensor i."""
    if argument.array is not None:
        yield "NULL data", set_members(i, data=None)
        yield "odd address", set_members(i, byte_offset=1)
    # A conversion takes all types.
    for code, bits in [*([] if is_conversion else TYPES), *STRANGE]:
        if (code, bits) != argument.type:
            yield f"type {code} of {bits} bits", set_members(i, code=code, bits=bits)
    yield "lanes", set_members(i, lanes=2)
    yield "device type", set_members(i, device_type=ON_ROCM)
    for ndim in (-1, 65, -2**31):
        yield f"ndim {ndim}", set_members(i, ndim=ndim)
    for axis, length in enumerate(argument.shape):
        for value in (-1, length + 1, -2**63):
            yield f"length {value} of axis {axis}", set_axis(i, axis, value)
        for value in (0, 2**62, -2**63):
            yield f"stride {value} of axis {axis}", set_axis(i, axis, stride=value)
        # Of bytes too there is no memory of this size.
        yield f"length 2^62 of axis {axis}, stride 4", set_axis(i, axis, 2**62, 4)
    if argument.shape:
        yield "NULL shape", set_members(i, shape=None)


def of_axes(arguments):
    """Changes of the axes of a reduction, which are the arguments after the tensor."""
    for listed in ([2], [-3], [0, 0], [1, -1], [2**31 - 1], [-2**31], [0, 1, 0]):
        axes = (ctypes.c_int32 * len(listed))(*listed)
        yield f"axes {listed}", lambda made, axes=axes: (
            set_value(1, ctypes.c_int64(len(axes)))(made), set_value(2, axes)(made))
    yield "NULL axes", set_value(2, None)
    if isinstance(arguments[3], int):
        for ddof in (-1, 5, 2**63 - 1):
            yield f"ddof {ddof}", set_value(3, ctypes.c_int64(ddof))


def of_numbers(operation, arguments):
    """Changes of alpha and beta, which integers limit, and of the epilogue."""
    factors = [k for k, argument in enumerate(arguments) if isinstance(argument, (float, ctypes.c_double))]
    for k, value in itertools.product(factors, (0.5, 2.0**63, math.nan, math.inf)):
        yield f"factor {value}", set_value(k, ctypes.c_double(value))
    if operation.family == "matmul":
        struct, size = matmul.CTensorEpilogue, ctypes.sizeof(matmul.CTensorEpilogue)
        for members in ((0, 0, 0), (1000, 0, 0), (size, 8, 0), (size, 0, 1)):
            yield f"epilogue {members}", set_value(5, ctypes.byref(struct(*members)))


def changes(operation, arguments):
    """Names of changes, and functions that make them in a call on either side."""
    tensors = [(k, argument) for k, argument in enumerate(arguments) if isinstance(argument, Tensor)]
    for i, (k, argument) in enumerate(tensors):
        yield f"tensor {i} NULL", set_value(k, None)
        for what, change in of_tensor(i, argument, operation.family == "convert"):
            yield f"tensor {i}: {what}", change
        for j, (_, other) in enumerate(tensors):
            if i != j and argument.array and other.array and argument.array.out:
                yield f"tensor {i} at the address of {j}", place_at(i, j)
    if operation.family in ("axes", "row_maps_over_axes"):
        yield from of_axes(arguments)
    yield from of_numbers(operation, arguments)


def of_memory(arguments, host):
    """Changes on the device only, and the status that they give; `host` has the same call in memory of the host."""
    tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
    arrays = [i for i, tensor in enumerate(tensors) if tensor.array is not None]
    for i in arrays:
        data = host.tensors[i].data
        # With DPT_DEVICE_AUTO another tensor says that the call is for the device.
        for where in (CUDA, AUTO) if len(arrays) > 1 else (CUDA,):
            yield f"tensor {i} on the CPU", where, UNSUPPORTED, set_members(i, data=data, device_type=ON_CPU)
            # The stand-in for the driver takes all memory for that of the device.
            if not REHEARSAL:
                yield f"tensor {i}: a host pointer", where, HOST_POINTER, set_members(i, data=data)


# Changes of dpt_exec.
EXECUTIONS = [dict(struct_size=0), dict(struct_size=1000), dict(flags=1 << 31), dict(device=7), dict(device=-1),
              dict(reserved=1), dict(workspace=None), dict(workspace_size=2**64 - 1), dict(max_threads=-1)]


def saved(tensor):
    """The places of a description, of its lengths and of its strides, and the bytes there. The description comes first,
    because it has the pointers to the others."""
    size = 8 * tensor.ndim
    places = [(ctypes.addressof(tensor), ctypes.sizeof(tensor)), (tensor.shape, size), (tensor.strides, size)]
    return [(place, ctypes.string_at(place, size)) for place, size in places]


@contextlib.contextmanager
def changed(made, change):
    """Makes a change for a while."""
    values, before = list(made.values), [place for tensor in made.tensors for place in saved(tensor)]
    change(made)
    try:
        yield
    finally:
        made.values[:] = values
        for place, content in before:
            ctypes.memmove(place, content, len(content))


class Run:
    def __init__(self):
        self.verdict, self.statuses, self.types = Verdict(), collections.Counter(), collections.Counter()
        self.workspace, self.on_host = Device(1 << 20), ctypes.create_string_buffer(1 << 20)

    def execution(self, where, **members):
        """An execution with a workspace."""
        own = ctypes.addressof(self.on_host) if where == CPU else self.workspace.pointer.value
        execution = cuda(0, own, self.workspace.size)
        execution.device = where
        for name, value in members.items():
            setattr(execution, name, value)
        return execution

    def valid(self, operation, t, keywords):
        """The two sides of a call that succeeds, and its arguments."""
        Arr.aligned = True
        for seed in range(100):
            r = random.Random(f"refusals {seed}")
            arguments, _ = cases.arguments(operation, r, t or 0, "integers", **keywords)
            sides = [Call(operation.name, arguments, device, MARGIN) for device in (False, True)]
            if sides[0].run() == 0:
                sides[0].refill()
                return arguments, *sides
        raise SystemExit(f"no valid call of {operation.name}")

    def expect(self, device, status, wanted):
        """What is wrong with the status of a call on the device, and with the memory if it was refused."""
        self.statuses[status] += 1
        if status != wanted:
            yield f"status {status} on the device, not {wanted}"
        if status != 0 and device.bytes() != [block.content for block in device.blocks.values()]:
            yield f"refused with {status}, and yet something was written"

    def both(self, host, device, change):
        """What differs between the sides of a changed call."""
        with changed(host, change), changed(device, change):
            wanted, status = host.run(), device.run(self.execution(CUDA))
        yield from self.expect(device, status, wanted)
        if status == wanted == 0:
            yield from differences(host, device, lambda array: array.index)
        if 0 in (status, wanted):
            host.refill()
            device.refill()

    def one(self, operation, t, keywords):
        """All changes of a call."""
        arguments, host, device = self.valid(operation, t, keywords)
        of = next(argument for argument in arguments if isinstance(argument, Tensor))
        label = f"{operation.name} {named(of.type)}"
        for what, change in changes(operation, arguments):
            self.verdict.compare(f"{label}, {what}", lambda: self.both(host, device, change))
            self.types[named(of.type)] += 1
        for what, where, status, change in of_memory(arguments, host):
            def memory():
                with changed(device, change):
                    yield from self.expect(device, device.run(self.execution(where)), status)
            self.verdict.compare(f"{label}, {what}, device {where}", memory)
        for members in EXECUTIONS:
            def execution():
                wanted = host.run(self.execution(CPU, **members))
                yield from self.expect(device, device.run(self.execution(CUDA, **members)), wanted)
            self.verdict.compare(f"{label}, {members}", execution)

    def many_axes(self):
        """Reductions of integers over more axes than a kernel has loops, which the CPU takes."""
        axes = (ctypes.c_int32 * 9)(*range(0, 18, 2))
        for type in integers.TYPES:
            r = random.Random(str(type))
            x, out = (integers.array(r, type, [2] * rank, rank == 9, plain=True) for rank in (18, 9))
            device = Call("sum", [x, len(axes), axes, out], True)
            wrong = lambda: self.expect(device, device.run(self.execution(CUDA)), UNSUPPORTED)
            self.verdict.compare(f"sum {named(type)} over {len(axes)} axes", wrong)


def main():
    run, is_small = Run(), "small" in sys.argv or REHEARSAL
    call("dpt_cuda_preload", None)
    listed = [(operation, t, keywords) for operation in operations(".") for t in types(operation)
              for keywords in BASES[operation.family]]
    # All types, and functions of all kinds.
    for operation, t, keywords in listed[::7] if is_small else listed:
        run.one(operation, t, keywords)
    run.many_axes()
    run.verdict.finish(rehearsal=bool(REHEARSAL), statuses=run.statuses, types=run.types)


if __name__ == "__main__":
    main()
