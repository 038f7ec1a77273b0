"""Matrix products beside cublasLt and torch.matmul: square ones, and memory-bound ones."""
import ctypes

import bench
import torch
from cublaslt import CublasLt
from diptych import call

from bench import KINDS, on_stream, pick, pointer


def workspace(suffix, m, n, k):
    """Scratch memory of the size with which the product is fastest."""
    size = ctypes.c_size_t()
    call(f"dpt_gemm_{suffix}_workspace", on_stream(), m, n, k, ctypes.byref(size))
    return bench.empty(max(1, size.value), dtype=torch.uint8)


def gemm(suffix, kind, a, b, c, scratch=None):
    (m, k), n = a.shape, b.shape[1]
    operands = (pointer(a), *a.stride(), pointer(b), *b.stride(), kind(0), pointer(c), *c.stride())
    call(f"dpt_gemm_{suffix}", on_stream(scratch), m, n, k, kind(1), *operands)


def shapes():
    """Name, m, n, k, and whether A is stored transposed, as a k by m matrix."""
    large, medium = pick(4096, 2048, 24), pick(1024, 512, 16)
    yield "square", large, large, large, False
    yield "square", medium, medium, medium, False
    yield "square", pick(256, 256, 8), pick(256, 256, 8), pick(256, 256, 8), False
    for k in (1, 4):
        yield f"K = {k}", pick(8192, 2048, 20), pick(8192, 2048, 20), k, False
    for n in (1, 8):
        yield f"n = {n}", pick(16384, 4096, 20), n, pick(8192, 2048, 20), False
    for d in (pick(1000, 1000, 10), pick(3000, 1000, 60)):
        for n in (1, 8):
            yield f"A'(10d x d), n = {n}", d, n, 10 * d, True


def entries(bandwidth):
    peer = CublasLt()
    for suffix, dtype, kind in KINDS:
        for name, m, n, k, transposed in shapes():
            scratch = workspace(suffix, m, n, k)

            def make():
                a = bench.random(*((k, m) if transposed else (m, k)), dtype=dtype)
                a = a.t() if transposed else a
                return a, bench.random(k, n, dtype=dtype), bench.empty(m, n, dtype=dtype)

            size = (m * k + k * n + m * n) * bench.bytes_of(dtype)
            groups = bench.sets(make, size)
            found = bench.seconds(
                {
                    "diptych": bench.per_set(lambda g: gemm(suffix, kind, *g), groups),
                    # With split-K, the counters are set to 0 before each launch.
                    "diptych, workspace": bench.per_set(lambda g: gemm(suffix, kind, *g, scratch), groups),
                    "cublasLt": lambda: [peer.matmul(*g) for g in groups],
                    "torch.matmul": bench.per_set(lambda g: torch.matmul(g[0], g[1], out=g[2]), groups),
                }
            )
            close = all(check(suffix, kind, groups[0], way) for way in (None, scratch))
            entry = {"op": "gemm", "name": name, "type": suffix, "shape": [m, n, k], "bytes": size}
            of_copy = size / found["diptych"]["seconds"] / bandwidth
            yield {**entry, "flop": 2 * m * n * k, "close": close, "of_copy": of_copy, "times": found}
            del groups
            bench.release()


def measure():
    bandwidth = bench.bandwidth()
    found = bench.collect(entries(bandwidth), bandwidth=bandwidth)
    return found, all(entry["close"] for entry in found["results"])


def check(suffix, kind, group, scratch):
    """Whether the result agrees with PyTorch's in f64, within the error bound of sums of k products."""
    a, b, c = group
    c.fill_(float("nan"))
    gemm(suffix, kind, a, b, c, scratch)
    bench.synchronize()
    wanted = a.double() @ b.double()
    unit = 2.0**-24 if suffix == "f32" else 2.0**-53
    bound = 4 * a.shape[1] * unit * (a.double().abs() @ b.double().abs())
    return bool(((c.double() - wanted).abs() <= bound).all())


if __name__ == "__main__":
    bench.finish(*measure())
