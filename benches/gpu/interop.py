"""PyTorch's memory and streams: results, the current stream, a captured graph. The last line is JSON."""
import ctypes
import json
import sys

import torch

from diptych import call, cuda


def here():
    return ctypes.byref(cuda(torch.cuda.current_stream().cuda_stream))


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


def product(a, b, c):
    (m, k), n = a.shape, b.shape[1]
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)
    call("dpt_gemm_f32", here(), m, n, k, one, pointer(a), *a.stride(), pointer(b), *b.stride(), zero, pointer(c), *c.stride())


def close(got, wanted):
    return bool(torch.allclose(got.double().cpu(), wanted.double().cpu(), rtol=1e-4, atol=1e-4))


def main():
    torch.manual_seed(1)
    x, y = torch.randn(100_000, device="cuda"), torch.randn(100_000, device="cuda")
    a, b = torch.randn(300, 200, device="cuda"), torch.randn(100, 200, device="cuda").t()
    out, c = torch.empty_like(x), torch.empty(300, 100, device="cuda")
    total = torch.empty(1, device="cuda")
    found = {}
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        call("dpt_add_f32", here(), x.numel(), pointer(x), pointer(y), pointer(out))
        call("dpt_sum_f32", here(), x.numel(), pointer(x), 1, pointer(total))
        product(a, b, c)
        torch.cuda.current_stream().synchronize()
    found["add"] = close(out, x + y)
    found["sum"] = close(total[0], x.double().sum())
    found["gemm"] = close(c, a.double() @ b.double())
    call("dpt_cuda_preload", here())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product(a, b, c)
        call("dpt_sum_f32", here(), c.numel(), pointer(c), 1, pointer(total))
    for factor in (2.0, 3.0):
        a.mul_(factor)
        graph.replay()
        torch.cuda.synchronize()
        wanted = a.double() @ b.double()
        found[f"graph x{factor}"] = close(c, wanted) and bool(abs(total.item() - wanted.sum().item()) < 1.0 + 1e-4 * wanted.abs().sum().item())
    print(json.dumps(found))
    sys.exit(0 if all(found.values()) else 1)


if __name__ == "__main__":
    main()
