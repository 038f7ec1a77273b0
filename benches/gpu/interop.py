"""Calls on PyTorch's memory and streams: their results, on the current stream and in a captured graph. The last line is
JSON."""
import ctypes
from contextlib import nullcontext

import bench
import torch
from diptych import call

from bench import on_stream, pointer


def product(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    operands = (one, pointer(a), *a.stride(), pointer(b), *b.stride(), zero, pointer(c), *c.stride())
    call("dpt_gemm_f32", on_stream(), m, n, k, *operands)


def close(got, wanted):
    return bool(torch.allclose(got.double().cpu(), wanted.double().cpu(), rtol=1e-4, atol=1e-4))


def captured(work):
    """Captures the work as a graph; returns a function that replays it. In a rehearsal, returns the work itself."""
    if bench.REHEARSAL:
        return work
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def main():
    torch.manual_seed(1)
    n, (rows, columns, inner) = bench.pick(100_000, 100_000, 3000), bench.pick((300, 100, 200), (300, 100, 200), (30, 20, 40))
    x, y = bench.random(n), bench.random(n)
    a, b = bench.random(rows, inner), bench.random(columns, inner).t()
    out, c, total = torch.empty_like(x), bench.empty(rows, columns), bench.empty(1)
    found = {"captured": not bench.REHEARSAL}
    call("dpt_cuda_preload", on_stream())
    bench.synchronize()
    with nullcontext() if bench.REHEARSAL else torch.cuda.stream(torch.cuda.Stream()):
        call("dpt_add_f32", on_stream(), n, pointer(x), pointer(y), pointer(out))
        call("dpt_sum_f32", on_stream(), n, pointer(x), 1, pointer(total))
        product(a, b, c)
        call("dpt_cuda_synchronize", on_stream())
    results = {
        "add": close(out, x + y),
        "sum": close(total[0], x.double().sum()),
        "gemm": close(c, a.double() @ b.double()),
    }

    def work():
        product(a, b, c)
        call("dpt_sum_f32", on_stream(), c.numel(), pointer(c), 1, pointer(total))

    replay = captured(work)
    for factor in (2.0, 3.0):
        a.mul_(factor)
        replay()
        bench.synchronize()
        wanted = a.double() @ b.double()
        off = abs(total.item() - wanted.sum().item())
        results[f"graph x{factor}"] = close(c, wanted) and off < 1.0 + 1e-4 * wanted.abs().sum().item()
    bench.finish({**found, **results}, all(results.values()))


if __name__ == "__main__":
    main()
