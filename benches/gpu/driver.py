"""The CUDA driver through ctypes: facts about the machine, the benches' own kernels, and the launches of a call."""
import ctypes
import shutil
import subprocess
from datetime import datetime, timezone

from diptych import FAKE, REHEARSAL, call

cu = FAKE or ctypes.CDLL("libcuda.so.1")
KERNEL_NODE = 0


class DriverError(Exception):
    """A function of the driver failed."""


def check(name, *arguments):
    code = getattr(cu, name)(*arguments)
    if code != 0:
        raise DriverError(f"{name} failed with CUDA error {code}")


def attribute(number, device=0):
    value = ctypes.c_int()
    check("cuDeviceGetAttribute", ctypes.byref(value), number, device)
    return value.value


def capability():
    return attribute(75), attribute(76)


def clocks():
    """Current and maximum clocks in MHz, the power limit in W and the temperature, from nvidia-smi."""
    names = "clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,temperature.gpu"
    program = shutil.which("nvidia-smi")
    if not program:
        return None
    command = [program, f"--query-gpu={names}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return dict(zip(names.split(","), values)) if done.returncode == 0 else None


def facts():
    """The device, the driver and the date of a run."""
    check("cuInit", 0)
    name, version = ctypes.create_string_buffer(256), ctypes.c_int()
    check("cuDeviceGetName", name, len(name), 0)
    check("cuDriverGetVersion", ctypes.byref(version))
    return {
        "rehearsal": bool(REHEARSAL),
        "device": name.value.decode(),
        "capability": list(capability()),
        "multiprocessors": attribute(16),
        "driver": version.value,
        "clocks": clocks(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def header():
    """The first lines of PTX for this device: sm_90a on sm_90, else sm_80, which newer devices also run."""
    exact = capability() == (9, 0)
    return ".version {}\n.target {}\n.address_size 64\n".format(*(("8.0", "sm_90a") if exact else ("7.0", "sm_80")))


class Kernel:
    """A kernel from PTX text, in the context that the library shares with PyTorch."""

    def __init__(self, text, name):
        call("dpt_cuda_preload", None)
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        image = (header() + text).encode() + b"\0"
        check("cuModuleLoadDataEx", ctypes.byref(module), image, 0, None, None)
        check("cuModuleGetFunction", ctypes.byref(self.function), module, name.encode())

    def launch(self, stream, blocks, threads, *arguments):
        """Launches the kernel; `arguments` are ctypes values."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        sizes = (blocks, 1, 1, threads, 1, 1, 0)
        check("cuLaunchKernel", self.function, *sizes, ctypes.c_void_p(stream), pointers, None)


def node_kinds(graph):
    """The kinds of a graph's nodes: "kernel", or the driver's number of another kind."""
    count = ctypes.c_size_t()
    check("cuGraphGetNodes", graph, None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    if count.value:
        check("cuGraphGetNodes", graph, nodes, ctypes.byref(count))
    kinds = []
    for node in nodes:
        kind = ctypes.c_int()
        check("cuGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(kind))
        kinds.append("kernel" if kind.value == KERNEL_NODE else str(kind.value))
    return kinds


def launches(body):
    """The kinds of nodes that `body` adds to a stream, which is its argument; see `node_kinds`."""
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    check("cuStreamCreate", ctypes.byref(stream), 1)
    try:
        if REHEARSAL:
            FAKE.fake_forget()
            body(stream.value)
            return ["kernel" for word in FAKE.fake_written().decode().split() if word == "cuLaunchKernel"]
        check("cuStreamBeginCapture_v2", stream, 2)
        try:
            body(stream.value)
        finally:
            check("cuStreamEndCapture", stream, ctypes.byref(graph))
        return node_kinds(graph)
    finally:
        if graph:
            check("cuGraphDestroy", graph)
        check("cuStreamDestroy_v2", stream)
