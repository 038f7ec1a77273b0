"""Captured calls, with the driver alone. Before a preload, a call in a capture fails and adds nothing to the graph.
After it, each replay computes with the arrays' current contents, and has the bits of the CPU. The last line is JSON."""
import ctypes

import driver
import common
from diptych import NOT_PRELOADED, REHEARSAL, TYPES, Device, call, cuda, library

# Rows and columns of the matrices; elements of the vectors.
SIDE, N = common.pick(300, 300, 20), common.pick(300_000, 300_000, 40_000)


def refused():
    """Whether a call in a capture fails before a preload, and adds nothing to the graph."""
    out = Device(16)
    statuses = []

    def body(stream):
        statuses.append(library.dpt_fill_f32(ctypes.byref(cuda(stream)), ctypes.c_int64(4), ctypes.c_float(1), out.pointer))

    nodes = driver.launches(body)
    return statuses == [NOT_PRELOADED] and nodes == []


def calls(suffix, kind, arguments):
    """Adds two vectors, sums the result, multiplies square matrices and sums the product, on one backend."""
    exec, x, y, c, totals = arguments
    second = ctypes.c_void_p(totals.value + ctypes.sizeof(kind))
    call(f"dpt_add_{suffix}", exec, N, x, y, y)
    call(f"dpt_sum_{suffix}", exec, N, y, 1, totals)
    call(f"dpt_gemm_{suffix}", exec, SIDE, SIDE, SIDE, kind(1), x, SIDE, 1, y, SIDE, 1, kind(0), c, SIDE, 1)
    call(f"dpt_sum_{suffix}", exec, SIDE * SIDE, c, 1, second)


def replays(suffix, kind, stream):
    """Whether three replays, each from the results of the one before, have the same bits as the CPU."""
    size = max(N, SIDE * SIDE)
    values = [(i * 37 % 1009) / 1009 - 0.5 for i in range(size)]
    host = [(kind * count)(*values[:count]) for count in (size, size, SIDE * SIDE, 2)]
    device = [Device(ctypes.sizeof(array)).upload(array) for array in host]
    pointers = [ctypes.cast(array, ctypes.c_void_p) for array in host]
    exec = ctypes.byref(cuda(stream.value))
    replay = stream.captured(lambda: calls(suffix, kind, [exec] + [array.pointer for array in device]))
    same = []
    for _ in range(3):
        calls(suffix, kind, [None] + pointers)
        replay()
        stream.synchronize()
        same.append(all(bytes(array) == bytes(copy.download(type(array)())) for array, copy in zip(host, device)))
    return all(same)


def main():
    # The stand-in can only refuse all captures or none, so a rehearsal skips this.
    found = {"captured": not REHEARSAL}
    if not REHEARSAL:
        found["refused before a preload"] = refused()
    stream = common.Stream()
    for suffix, kind in TYPES.items():
        found[f"replays {suffix}"] = replays(suffix, kind, stream)
    common.finish(found, all(value for name, value in found.items() if name != "captured"))


if __name__ == "__main__":
    main()
