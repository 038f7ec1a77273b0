"""What loading the kernels costs: each as its own module, as the library loads them, from PTX without and with the driver's
disk cache, and from its cubin; then the resources of each as this driver compiled it. Must run first, in a process of its
own and with an empty CUDA_CACHE_PATH: `cold` is the compiler's time, `warm` that of the disk cache, `cubin` that without a
compiler, and `preload` the library's own for all kernels. A kernel that does not load is reported with the compiler's
log."""
import ctypes
import gzip
import json
import os
import re
import sys
import time

import driver
from diptych import HERE, REHEARSAL, Device, call

with open(os.path.join(HERE, "sm_75.ptx"), encoding="utf-8") as file:
    HEADER, *PARTS = file.read().split(".visible .entry ")
KERNELS = {part.split("(")[0]: ".visible .entry " + part for part in PARTS}
# The file with the cubins for a device of this compute capability.
CUBINS = {(8, 0): "sm_80", (8, 6): "sm_80", (8, 9): "sm_80", (9, 0): "sm_90", (10, 0): "sm_100", (10, 3): "sm_100"}
# CU_JIT_ERROR_LOG_BUFFER and its size.
ERROR_LOG, ERROR_LOG_BYTES = 5, 6


class NotLoaded(Exception):
    """A module was refused; the text has the compiler's log."""


def cubins():
    """The cubin of each kernel for this device; none if the device runs none of those in the folder."""
    architecture = CUBINS.get(driver.capability())
    if architecture is None:
        return {}
    with gzip.open(os.path.join(HERE, f"{architecture}.cubins.gz")) as file:
        head, _, code = file.read().partition(b"\n\n")
    found, start = {}, 0
    for line in head.decode().splitlines()[2:]:
        name, size = line.split()
        found[name] = code[start : start + int(size)]
        start += int(size)
    return found


def load(name, blocks=None):
    """The module and the function of a kernel's PTX; with `blocks`, compiled for that many resident blocks."""
    text = KERNELS[name]
    if blocks:
        text = re.sub(r"\.minnctapersm \d+", f".minnctapersm {blocks}", text, count=1)
    return load_image(name, (HEADER + text).encode() + b"\0")


def load_image(name, image):
    """The module and the function of a kernel, from PTX or a cubin."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    log = ctypes.create_string_buffer(8192)
    options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
    try:
        driver.check("cuModuleLoadDataEx", ctypes.byref(module), image, 2, options, values)
        driver.check("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if hasattr(driver.cu, "cuFuncLoad"):
            driver.check("cuFuncLoad", function)
    except driver.DriverError as error:
        raise NotLoaded(f"{name}: {error}; {log.value.decode(errors='replace')}") from error
    return module, function


def threads(name):
    """Threads of a block."""
    return int(re.search(r"\.maxntid (\d+)", KERNELS[name]).group(1))


def resources(function, of_block, shared=0):
    """Registers of a thread, bytes of local memory (spills) and resident blocks, as the driver compiled it."""
    if REHEARSAL:
        return {}
    value, blocks = ctypes.c_int(), ctypes.c_int()
    found = {}
    for key, number in (("regs", 4), ("local", 3)):
        driver.check("cuFuncGetAttribute", ctypes.byref(value), number, function)
        found[key] = value.value
    arguments = (ctypes.byref(blocks), function, of_block, ctypes.c_size_t(shared))
    driver.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", *arguments)
    return {**found, "blocks": blocks.value}


def main():
    Device(16)  # Makes the primary context current.
    compiled = cubins()
    turns = ("cold", "warm", "cubin") if compiled else ("cold", "warm")
    found, refused = {}, []
    for turn in turns:
        for name in KERNELS:
            start = time.perf_counter()
            try:
                module, function = load_image(name, compiled[name]) if turn == "cubin" else load(name)
            except NotLoaded as error:
                refused.append(str(error))
                continue
            entry = found.setdefault(name, {})
            entry[turn] = round(1e3 * (time.perf_counter() - start), 2)
            if turn == "cold":
                entry.update(resources(function, threads(name)))
            driver.check("cuModuleUnload", module)
        if refused:
            break
    start = time.perf_counter()
    call("dpt_cuda_preload", None)
    totals = {turn: round(sum(entry.get(turn, 0) for entry in found.values())) for turn in turns}
    totals["preload"] = round(1e3 * (time.perf_counter() - start))
    spilled = [name for name, entry in found.items() if entry.get("local")]
    print(json.dumps({"total_ms": totals, "spilled": spilled, "refused": refused, "kernels": found}))
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
