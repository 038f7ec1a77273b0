"""Shared code of the scripts that use PyTorch: tensors, timing, sets of arrays. In a rehearsal, tensors are on the
CPU."""
import ctypes
import statistics
import time

import torch

from common import ROUNDS, collect, finish, pick
from diptych import REHEARSAL, TYPES, call, cuda
from tensors import DLTensor

DEVICE = "cpu" if REHEARSAL else "cuda"
KINDS = [(suffix, {"f32": torch.float32, "f64": torch.float64}[suffix], kind) for suffix, kind in TYPES.items()]
# f32 without TF32.
torch.backends.cuda.matmul.allow_tf32 = False
torch.set_grad_enabled(False)


def stream():
    """PyTorch's current stream."""
    return 0 if REHEARSAL else torch.cuda.current_stream().cuda_stream


def on_stream(workspace=None):
    """An exec for PyTorch's current stream."""
    if workspace is None:
        return ctypes.byref(cuda(stream()))
    return ctypes.byref(cuda(stream(), workspace.data_ptr(), workspace.numel()))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def tensor(x):
    """The dpt_tensor of a tensor."""
    axes = ctypes.c_int64 * x.dim()
    code, bits = {torch.uint8: (1, 8), torch.float32: (2, 32), torch.float64: (2, 64)}[x.dtype]
    return ctypes.byref(DLTensor(x.data_ptr(), 2, 0, x.dim(), code, bits, 1, axes(*x.shape), axes(*x.stride()), 0))


def synchronize():
    call("dpt_cuda_synchronize", None)
    if not REHEARSAL:
        torch.cuda.synchronize()


def bytes_of(dtype):
    return torch.empty(0, dtype=dtype).element_size()


def random(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype, device=DEVICE)


def empty(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device=DEVICE)


def sets(make, size):
    """Sets of arrays of `size` bytes each: enough to exceed the L2 cache four times, as far as memory allows."""
    if REHEARSAL:
        return [make(), make()]
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    free = torch.cuda.mem_get_info()[0]
    return [make() for _ in range(max(1, min(4 * cache // size + 1, int(free * 0.6) // size, 400)))]


def recorded(calls):
    """Returns a function that makes the calls, and whether they were captured as one graph. A graph keeps the host's
    cost of each call out of the time; calls that cannot be captured are made one by one."""

    def run_all():
        for one in calls:
            one()

    run_all()
    if REHEARSAL:
        return run_all, False
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            run_all()
    except RuntimeError:
        torch.cuda.synchronize()
        return run_all, False
    graph.replay()
    return graph.replay, True


def elapsed(work, occupied=False):
    """Seconds that the device spends on the work. With `occupied`, the device is kept busy first, so that the time does
    not include its wait for the host's first launch."""
    if REHEARSAL:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if occupied and hasattr(torch.cuda, "_sleep"):
        # About 0.2 ms, in which the host queues launches.
        torch.cuda._sleep(400_000)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def seconds(contenders):
    """The median time of one call of each contender, measured in turn. A contender is a list of calls, one for each set
    of arrays, or a function that returns such a list. If a peer's calls fail, its entry has the reason and no time."""
    ready, found = {}, {}
    call("dpt_cuda_preload", on_stream())
    for name, calls in contenders.items():
        try:
            calls = calls() if callable(calls) else calls
            work, captured = recorded(calls)
        except Exception as error:  # A peer may lack the operation, or the memory for it.
            if REHEARSAL or name.startswith(("diptych", "copy")):
                raise
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:200]}
            continue
        ready[name] = (work, len(calls), [])
        found[name] = {"captured": captured}
    for _ in range(ROUNDS):
        for work, count, times in ready.values():
            times.append(elapsed(work, occupied=True) / count)
    for name, (_, _, times) in ready.items():
        found[name]["seconds"] = statistics.median(times)
    return found


def per_set(body, groups):
    """A list of calls: `body` for each set of arrays."""
    return [lambda group=group: body(group) for group in groups]


def bandwidth():
    """Bytes per second, read and written, of a copy of 1 GiB."""
    size = pick(2**30, 2**28, 4096)
    groups = [[empty(size, dtype=torch.uint8) for _ in range(2)]]
    found = seconds({"copy": per_set(lambda g: g[1].copy_(g[0]), groups)})
    return 2 * size / found["copy"]["seconds"]


def release():
    """Returns PyTorch's cached memory to the device between the parts of a script."""
    if not REHEARSAL:
        torch.cuda.empty_cache()
