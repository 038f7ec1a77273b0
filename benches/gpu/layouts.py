"""Checks that the functions over tensors have the same bits on the device and on the CPU: random ranks, strides,
broadcast axes and types, made by the modules that make the calls of the PTX simulator. The last line is JSON."""
import collections
import ctypes
import os
import random
import time

import common
import header
import tensors
from arrays import MODES, Arr, difference
from diptych import HERE, REHEARSAL, Device, call, cuda, library

MAKERS = {"tensors": tensors.elementwise, "axes": tensors.axes, "row_maps_over_axes": tensors.row_map,
          "convert": tensors.convert}
# For the copies that some calls make, and for what else they need.
WORKSPACE = (32 << 20) + (320 << 10)
SECONDS = common.pick(30, 8, 3)


def on_host(array):
    """A copy of an array in memory of the host: the buffer and the address of its first element, aligned as asked."""
    buffer = ctypes.create_string_buffer(len(array.content) + 64)
    start = (ctypes.addressof(buffer) + 15) // 16 * 16 + array.shift % 16
    ctypes.memmove(start, array.content, len(array.content))
    return buffer, start


def on_device(array):
    """The same in memory of the device."""
    memory = Device(len(array.content) + 64)
    start = memory.pointer.value + array.shift % 16
    host = (ctypes.c_char * len(array.content)).from_buffer_copy(array.content)
    call("dpt_copy", ctypes.byref(cuda()), ctypes.c_size_t(len(host)), host, ctypes.c_void_p(start))
    call("dpt_cuda_synchronize", None)
    return memory, start


def content(array, start, device):
    """The bytes of an array after a call."""
    host = (ctypes.c_char * len(array.content))()
    if device:
        size = ctypes.c_size_t(len(host))
        call("dpt_copy", ctypes.byref(cuda()), size, ctypes.c_void_p(start), host)
        call("dpt_cuda_synchronize", None)
    else:
        ctypes.memmove(host, start, len(host))
    return host.raw


def run(name, arguments, workspace=None):
    """Calls a function on the CPU or, with a workspace, on the device: its status, and its outputs with their bytes."""
    device = workspace is not None
    places, keep, values = {}, [], []
    for argument in arguments:
        if isinstance(argument, tensors.Tensor):
            array = argument.array
            if array is None:
                number = ctypes.create_string_buffer(argument.number, 8)
                address = ctypes.addressof(number)
                keep.append(number)
            else:
                if id(array) not in places:
                    memory, start = on_device(array) if device else on_host(array)
                    places[id(array)] = array, memory, start
                address = places[id(array)][2] + array.first * array.size
            tensor, axes = argument.describe(address, device)
            keep += [tensor, axes]
            values.append(ctypes.byref(tensor))
        elif isinstance(argument, ctypes.Array):
            values.append(argument)
        else:
            values.append(ctypes.c_int64(argument))
    execution = cuda(0, workspace.pointer.value, workspace.size) if device else None
    status = getattr(library, f"dpt_{name}")(ctypes.byref(execution) if device else None, *values)
    if device:
        call("dpt_cuda_synchronize", None)
    outputs = [(array, content(array, start, device)) for array, _, start in places.values() if array.out]
    return status, outputs


def check():
    """Makes calls on both backends for some seconds. Returns the number of each function's calls, and what differs."""
    found = header.operations(os.path.join(HERE, "diptych.h"))
    operations = [operation for operation in found.values() if operation.family in MAKERS]
    workspace, calls, wrong = Device(WORKSPACE), collections.Counter(), []
    call("dpt_cuda_preload", None)
    end, index = time.monotonic() + SECONDS, 0
    while time.monotonic() < end and len(wrong) < 20:
        source = random.Random(f"layouts {index}")
        operation, mode = operations[index % len(operations)], source.choice(MODES)
        Arr.aligned = source.random() < 0.4
        arguments, exact = MAKERS[operation.family](operation, source, source.randrange(2), mode)
        (status, cpu), (other, gpu) = run(operation.name, arguments), run(operation.name, arguments, workspace)
        if status != other:
            wrong.append(f"{operation.name}, case {index}: status {status} on the CPU, {other} on the device")
        for (array, c), (_, g) in zip(cpu, gpu):
            text = difference(array, c, g, array.index or exact is True)
            if text:
                wrong.append(f"{operation.name}, case {index}: {text}")
        calls[operation.name] += 1
        index += 1
    return calls, wrong


if __name__ == "__main__":
    made, differing = check()
    result = {"calls": dict(made), "cases": sum(made.values()), "rehearsal": bool(REHEARSAL), "differing": differing}
    common.finish(result, bool(made) and not differing)
