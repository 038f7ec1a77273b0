"""Times beside PyTorch (cuBLAS, without TF32) and beside the copy bandwidth measured in the same run, with
device events over several sets of arrays that together are larger than the L2 cache. The last line is JSON."""
import ctypes
import json
import statistics

import torch

from diptych import call, cuda
from interop import pointer

torch.backends.cuda.matmul.allow_tf32 = False


def here():
    return ctypes.byref(cuda(torch.cuda.current_stream().cuda_stream))


def seconds(calls, rounds=15):
    """The median of the time of one call; `calls` take turns over sets of arrays."""
    for one in calls:
        one()
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for one in calls:
            one()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / len(calls))
    return statistics.median(times)


def sets(make, size):
    """As many sets of arrays as exceed the cache four times, but no more than memory allows."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    free = torch.cuda.mem_get_info()[0]
    count = max(1, min(4 * cache // size + 1, int(free * 0.6) // size, 64))
    return [make() for _ in range(count)]


def arrays(n, count, dtype):
    return [torch.randn(n, dtype=dtype, device="cuda") for _ in range(count)]


def bandwidth(results):
    for suffix, dtype, kind in (("f32", torch.float32, ctypes.c_float), ("f64", torch.float64, ctypes.c_double)):
        element = torch.empty(0, dtype=dtype).element_size()
        for megabytes in (1, 32, 1024):
            n = megabytes * 2**20 // element
            groups = sets(lambda: arrays(n, 3, dtype), 3 * n * element)
            total = torch.empty(1, dtype=dtype, device="cuda")
            copy = 2 * n * element / seconds([lambda g=g: g[1].copy_(g[0]) for g in groups])
            ours = {
                "clamp": (2, lambda g: call(f"dpt_clamp_{suffix}", here(), n, pointer(g[0]), kind(-1), kind(1), pointer(g[1]))),
                "add": (3, lambda g: call(f"dpt_add_{suffix}", here(), n, pointer(g[0]), pointer(g[1]), pointer(g[2]))),
                "axpy": (3, lambda g: call(f"dpt_axpy_{suffix}", here(), n, kind(0.5), pointer(g[0]), pointer(g[1]))),
                "square": (2, lambda g: call(f"dpt_square_{suffix}", here(), n, pointer(g[0]), pointer(g[1]))),
                "mse_grad": (3, lambda g: call(f"dpt_mse_grad_{suffix}", here(), n, pointer(g[0]), pointer(g[1]), pointer(g[2]), pointer(total))),
                "sum": (1, lambda g: call(f"dpt_sum_{suffix}", here(), n, pointer(g[0]), 1, pointer(total))),
                "max": (1, lambda g: call(f"dpt_max_{suffix}", here(), n, pointer(g[0]), 1, pointer(total))),
                "dot": (2, lambda g: call(f"dpt_dot_{suffix}", here(), n, pointer(g[0]), 1, pointer(g[1]), 1, pointer(total))),
            }
            theirs = {
                "clamp": lambda g: torch.clamp(g[0], -1, 1, out=g[1]),
                "add": lambda g: torch.add(g[0], g[1], out=g[2]),
                "axpy": lambda g: g[1].add_(g[0], alpha=0.5),
                "square": lambda g: torch.mul(g[0], g[0], out=g[1]),
                "sum": lambda g: g[0].sum(),
                "max": lambda g: g[0].max(),
                "dot": lambda g: torch.dot(g[0], g[1]),
            }
            for name, (streams, body) in ours.items():
                mine = seconds([lambda g=g: body(g) for g in groups])
                entry = {"op": name, "type": suffix, "MiB": megabytes, "seconds": mine, "of_copy": streams * n * element / mine / copy}
                if name in theirs:
                    entry["torch_seconds"] = seconds([lambda g=g: theirs[name](g) for g in groups])
                results.append(entry)
            del groups
            torch.cuda.empty_cache()


def products(results):
    shapes = [(4096, 4096, 4096), (1024, 1024, 1024), (256, 256, 256), (4096, 4096, 1), (4096, 4096, 4), (4096, 1, 4096), (4096, 8, 4096), (10240, 1024, 1024)]
    for suffix, dtype, kind in (("f32", torch.float32, ctypes.c_float), ("f64", torch.float64, ctypes.c_double)):
        for m, n, k in shapes:
            make = lambda: (torch.randn(m, k, dtype=dtype, device="cuda"), torch.randn(k, n, dtype=dtype, device="cuda"), torch.empty(m, n, dtype=dtype, device="cuda"))
            groups = sets(make, (m * k + k * n + m * n) * torch.empty(0, dtype=dtype).element_size())[:8]

            def mine(group):
                a, b, c = group
                call(f"dpt_gemm_{suffix}", here(), m, n, k, kind(1), pointer(a), k, 1, pointer(b), n, 1, kind(0), pointer(c), n, 1)

            own = seconds([lambda g=g: mine(g) for g in groups])
            other = seconds([lambda g=g: torch.matmul(g[0], g[1], out=g[2]) for g in groups])
            results.append({"op": "gemm", "type": suffix, "shape": [m, n, k], "seconds": own, "gflops": 2e-9 * m * n * k / own, "torch_seconds": other})


def main():
    results = []
    bandwidth(results)
    products(results)
    print(json.dumps({"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "results": results}))


if __name__ == "__main__":
    main()
