"""The Python package on PyTorch's CUDA tensors: the bits of the CPU on the default and on another stream, in a new thread
and in a captured graph; host tensors in a forked child; the host's cost of calls beside PyTorch's. The package, not the
module `diptych` of this folder, must come first on the path. In a rehearsal, tensors are on the CPU."""
import json
import os
import sys
import threading
import time

import diptych
import torch

DEVICE = "cpu" if "DIPTYCH_REHEARSAL" in os.environ else "cuda"


def bits(x):
    return torch.as_tensor(x).detach().cpu().contiguous().numpy().tobytes()


def cases(dtype):
    """Name, function, arguments, named arguments."""
    x, y, row = (torch.randn(*s, dtype=dtype) for s in ((300, 128), (300, 128), (128,)))
    long, a = torch.randn(200_000, dtype=dtype), torch.randn(500, 300, dtype=dtype)
    yield "add", diptych.add, (x, row), {}
    yield "add transposed", diptych.add, (x.T, y.T), {}
    yield "clip", lambda t: diptych.clip(t, -1, 1), (x,), {}
    for name in ("sum", "mean", "max", "argmax", "nrm2", "logsumexp"):
        for axis in (None, 0, 1):
            yield f"{name} {axis}", getattr(diptych, name), (x,), {"axis": axis}
        yield f"{name} long", getattr(diptych, name), (long,), {}
    yield "var", diptych.var, (long,), {"ddof": 1}
    yield "matmul", diptych.matmul, (x, y.T), {}
    yield "matmul vector", diptych.matmul, (x, row), {}
    yield "gemm bias", diptych.gemm, (x, y.T), {"bias": torch.randn(300, dtype=dtype)}
    yield "outer", diptych.outer, (row, row), {}
    yield "mse_grad", diptych.mse_grad, (x, y), {}
    yield "lsq_grad", diptych.lsq_grad, (a, torch.randn(300, dtype=dtype), torch.randn(500, dtype=dtype)), {}
    yield "astype", diptych.astype, (x, "float16"), {}


def there(value):
    return value.to(DEVICE) if torch.is_tensor(value) else value


def compare(where, wrong):
    """Makes each call on the CPU and on the device."""
    for dtype in (torch.float32, torch.float64):
        for name, function, arguments, more in cases(dtype):
            try:
                want = function(*arguments, **more)
                got = function(*map(there, arguments), **{key: there(value) for key, value in more.items()})
                pairs = zip(got, want) if isinstance(got, tuple) else [(got, want)]
                if any(bits(g) != bits(w) for g, w in pairs):
                    wrong.append(f"{name} {dtype}, {where}: other bits")
            except Exception as error:
                wrong.append(f"{name} {dtype}, {where}: {type(error).__name__}: {error}"[:300])


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def host_seconds(body, n=2000):
    """The host's time of a call."""
    body()
    synchronize()
    start = time.perf_counter()
    for _ in range(n):
        body()
    took = (time.perf_counter() - start) / n
    synchronize()
    return took


def costs():
    x, y = (there(torch.randn(64, 64)) for _ in range(2))
    out = torch.empty_like(x)
    return {
        "diptych.add": host_seconds(lambda: diptych.add(x, y, out=out)),
        "torch.add": host_seconds(lambda: torch.add(x, y, out=out)),
        "diptych.matmul": host_seconds(lambda: diptych.matmul(x, y)),
        "torch.matmul": host_seconds(lambda: torch.matmul(x, y)),
        "diptych.sum": host_seconds(lambda: diptych.sum(x)),
        "torch.sum": host_seconds(lambda: torch.sum(x)),
    }


def graph(wrong):
    """Captures two calls, and replays them on other values."""
    x, y = (torch.randn(64, 64, device=DEVICE) for _ in range(2))
    diptych.sum(diptych.matmul(x, y))  # Loads the kernels, which a capture must not.
    captured = torch.cuda.CUDAGraph()
    synchronize()
    with torch.cuda.graph(captured):
        total = diptych.sum(diptych.matmul(x, y))
    x.mul_(2)
    captured.replay()
    if bits(total) != bits(diptych.sum(diptych.matmul(x.cpu(), y.cpu()))):
        wrong.append("graph: other bits")


def forked(wrong):
    """Calls on host tensors must work in a forked child, as in a worker of a DataLoader."""
    child = os.fork()
    if child == 0:
        try:
            ones = torch.ones(3)
            os._exit(0 if bits(diptych.add(ones, ones)) == bits(ones + ones) else 1)
        except BaseException as error:
            print(f"forked child: {type(error).__name__}: {error}", flush=True)
            os._exit(2)
    if os.waitpid(child, 0)[1] != 0:
        wrong.append("host tensors in a forked child")


def main():
    torch.manual_seed(1)
    wrong = []
    found = {"torch": torch.__version__, "exchange": hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), "wrong": wrong}
    steps = [("default stream", lambda: compare("default stream", wrong)), ("costs", lambda: found.update(host_seconds=costs()))]
    thread = threading.Thread(target=compare, args=("a new thread", wrong))
    steps.append(("thread", lambda: (thread.start(), thread.join())))
    if DEVICE == "cuda":
        other = torch.cuda.Stream()

        def on_stream():
            with torch.cuda.stream(other):
                compare("another stream", wrong)

        steps += [("stream", on_stream), ("graph", lambda: graph(wrong))]
    steps.append(("fork", lambda: forked(wrong)))
    with torch.no_grad():
        for name, step in steps:
            try:
                step()
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}"[:300])
            print(json.dumps(found), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
