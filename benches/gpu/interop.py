"""PyTorch's memory and streams: results, the current stream, a captured graph. The last line is JSON."""
import ctypes
from contextlib import nullcontext

import machine
import torch
from diptych import call

from machine import here, pointer


def product(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    call("dpt_gemm_f32", here(), m, n, k, one, pointer(a), *a.stride(), pointer(b), *b.stride(), zero, pointer(c), *c.stride())


def close(got, wanted):
    return bool(torch.allclose(got.double().cpu(), wanted.double().cpu(), rtol=1e-4, atol=1e-4))


def captured(work):
    """A function that repeats the work; in a rehearsal the work itself, for there nothing is captured."""
    if machine.REHEARSAL:
        return work
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def main():
    torch.manual_seed(1)
    n, (rows, columns, inner) = machine.pick(100_000, 100_000, 3000), machine.pick((300, 100, 200), (300, 100, 200), (30, 20, 40))
    x, y = machine.random(n), machine.random(n)
    a, b = machine.random(rows, inner), machine.random(columns, inner).t()
    out, c, total = torch.empty_like(x), machine.empty(rows, columns), machine.empty(1)
    found = {"captured": not machine.REHEARSAL}
    call("dpt_cuda_preload", here())
    machine.synchronize()
    with nullcontext() if machine.REHEARSAL else torch.cuda.stream(torch.cuda.Stream()):
        call("dpt_add_f32", here(), n, pointer(x), pointer(y), pointer(out))
        call("dpt_sum_f32", here(), n, pointer(x), 1, pointer(total))
        product(a, b, c)
        call("dpt_cuda_synchronize", here())
    results = {
        "add": close(out, x + y),
        "sum": close(total[0], x.double().sum()),
        "gemm": close(c, a.double() @ b.double()),
    }

    def work():
        product(a, b, c)
        call("dpt_sum_f32", here(), c.numel(), pointer(c), 1, pointer(total))

    replay = captured(work)
    for factor in (2.0, 3.0):
        a.mul_(factor)
        replay()
        machine.synchronize()
        wanted = a.double() @ b.double()
        off = abs(total.item() - wanted.sum().item())
        results[f"graph x{factor}"] = close(c, wanted) and off < 1.0 + 1e-4 * wanted.abs().sum().item()
    machine.finish({**found, **results}, all(results.values()))


if __name__ == "__main__":
    main()
