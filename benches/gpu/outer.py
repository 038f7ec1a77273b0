"""outer and ger on one large matrix, and outer on many small ones, one by one beside torch.outer and batched beside
torch.bmm."""
import bench
import torch
from diptych import call

from bench import KINDS, on_stream, pick, pointer


def large(suffix, dtype, kind):
    """A matrix of 1 GiB beside a copy: outer writes the matrix, ger reads and writes it."""
    element = bench.bytes_of(dtype)
    n = pick(2**15, 2**13, 40)
    m = pick(2**30, 2**28, 2**14) // (n * element)
    x, y = bench.random(m, dtype=dtype), bench.random(n, dtype=dtype)
    groups = [(bench.random(m, n, dtype=dtype), bench.random(m, n, dtype=dtype))]
    vectors = (pointer(x), 1, pointer(y), 1)
    bodies = {
        "outer": (1, lambda g: call(f"dpt_outer_{suffix}", on_stream(), m, n, *vectors, pointer(g[0]), n, 1)),
        "ger": (2, lambda g: call(f"dpt_ger_{suffix}", on_stream(), m, n, kind(0.5), *vectors, pointer(g[0]), n, 1)),
    }
    theirs = {
        "outer": lambda g: torch.outer(x, y, out=g[0]),
        "ger": lambda g: g[0].addr_(x, y, alpha=0.5),
    }
    for name, (passes, body) in bodies.items():
        contenders = {"diptych": bench.per_set(body, groups), "torch": bench.per_set(theirs[name], groups)}
        found = bench.seconds({**contenders, "copy": bench.per_set(lambda g: g[1].copy_(g[0]), groups)})
        of_copy = passes * found["copy"]["seconds"] / (2 * found["diptych"]["seconds"])
        mebibytes = m * n * element / 2**20
        yield {"op": name, "type": suffix, "MiB": mebibytes, "of_copy": of_copy, "times": found}


def small(suffix, dtype, kind, n):
    """Outer products of n by n: one per call, and as many as take 64 MiB in one call."""
    element = bench.bytes_of(dtype)
    batch = max(1, pick(2**26, 2**24, 2**12) // (n * n * element))

    def make():
        x, y = (bench.random(batch, n, dtype=dtype) for _ in range(2))
        return x, y, bench.empty(batch, n, n, dtype=dtype)

    def one(item):
        x, y, out = item
        call(f"dpt_outer_{suffix}", on_stream(), n, n, pointer(x), 1, pointer(y), 1, pointer(out), n, 1)

    def many(g):
        places = (pointer(g[0]), 1, 1, pointer(g[1]), n, 1, kind(0), pointer(g[2]), n, 1)
        call(f"dpt_gemm_batched_{suffix}", on_stream(), n, n, 1, kind(1), *places, batch, n, n, n * n)

    groups = bench.sets(make, batch * n * n * element)
    items = [[part[i] for part in g] for g in groups for i in range(min(batch, 64))]
    single = bench.seconds(
        {
            "diptych": bench.per_set(one, items),
            "torch.outer": bench.per_set(lambda item: torch.outer(item[0], item[1], out=item[2]), items),
        }
    )
    found = bench.seconds(
        {
            "diptych": bench.per_set(many, groups),
            "torch.bmm": bench.per_set(lambda g: torch.bmm(g[0][:, :, None], g[1][:, None, :], out=g[2]), groups),
            "torch.mul": bench.per_set(lambda g: torch.mul(g[0][:, :, None], g[1][:, None, :], out=g[2]), groups),
        }
    )
    yield {"op": "outer", "type": suffix, "n": n, "times": single}
    yield {"op": "batch of outer", "type": suffix, "n": n, "batch": batch, "times": found}


def entries():
    for suffix, dtype, kind in KINDS:
        yield from large(suffix, dtype, kind)
        bench.release()
        for n in pick((64, 128, 256, 512), (64, 512), (8,)):
            yield from small(suffix, dtype, kind, n)
            bench.release()


if __name__ == "__main__":
    bench.finish(bench.collect(entries()))
