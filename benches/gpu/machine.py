"""What the scripts with PyTorch share: where tensors lie, the clock, sets of arrays. In a rehearsal tensors lie on the CPU."""
import ctypes
import statistics
import time

import torch

from diptych import REHEARSAL, TYPES, call, cuda
from plain import ROUNDS, collect, finish, pick

DEVICE = "cpu" if REHEARSAL else "cuda"
KINDS = [(suffix, {"f32": torch.float32, "f64": torch.float64}[suffix], kind) for suffix, kind in TYPES.items()]
# No TF32 anywhere.
torch.backends.cuda.matmul.allow_tf32 = False
torch.set_grad_enabled(False)


def stream():
    """The stream on which PyTorch works now."""
    return 0 if REHEARSAL else torch.cuda.current_stream().cuda_stream


def here(workspace=None):
    """An exec of that stream."""
    if workspace is None:
        return ctypes.byref(cuda(stream()))
    return ctypes.byref(cuda(stream(), workspace.data_ptr(), workspace.numel()))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


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
    """As many sets of arrays of `size` bytes as exceed the L2 cache four times, but no more than memory allows."""
    if REHEARSAL:
        return [make(), make()]
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    free = torch.cuda.mem_get_info()[0]
    return [make() for _ in range(max(1, min(4 * cache // size + 1, int(free * 0.6) // size, 400)))]


def recorded(calls):
    """The calls as one graph, so that the host's part of each is not in the time; as they are where they cannot be
    captured. Says which."""

    def plain():
        for one in calls:
            one()

    plain()
    if REHEARSAL:
        return plain, False
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            plain()
    except RuntimeError:
        torch.cuda.synchronize()
        return plain, False
    graph.replay()
    return graph.replay, True


def elapsed(work, occupied=False):
    """Seconds that the device spends on it; with `occupied`, without its wait for the host's first launch."""
    if REHEARSAL:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    if occupied and hasattr(torch.cuda, "_sleep"):
        # About 0.2 ms, in which the host gets ahead.
        torch.cuda._sleep(400_000)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def seconds(contenders):
    """The median time of one call of each contender. A contender is a list of calls, one for each set of arrays, or a
    function that makes it; the contenders take turns. One whose call cannot be made has no time, but a reason."""
    ready, found = {}, {}
    call("dpt_cuda_preload", here())
    for name, calls in contenders.items():
        try:
            calls = calls() if callable(calls) else calls
            work, captured = recorded(calls)
        except Exception as error:  # A peer that lacks an operation, or has no memory for it.
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


def turns(body, groups):
    """`body` on each set."""
    return [lambda group=group: body(group) for group in groups]


def bandwidth():
    """Bytes per second of a copy of 1 GiB, read and written."""
    size = pick(2**30, 2**28, 4096)
    groups = [[empty(size, dtype=torch.uint8) for _ in range(2)]]
    found = seconds({"copy": turns(lambda g: g[1].copy_(g[0]), groups)})
    return 2 * size / found["copy"]["seconds"]


def release():
    """Gives memory back between the parts of a script."""
    if not REHEARSAL:
        torch.cuda.empty_cache()
