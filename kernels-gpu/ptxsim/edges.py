"""The fixed lists of cases: edge cases that random cases may miss, and large sizes."""
from arrays import BF16, F16
from matmul import TYPES

SHAPES = [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (2, 2, 1), (16, 16, 16), (17, 15, 33), (15, 17, 257),
          (32, 32, 64), (33, 31, 65), (64, 64, 32), (63, 65, 31), (128, 16, 40), (129, 15, 41), (127, 17, 300),
          (128, 64, 64), (127, 66, 65), (130, 63, 63), (128, 128, 32), (129, 127, 33), (256, 128, 17), (131, 257, 40),
          (256, 256, 24), (300, 260, 12), (16, 16, 2048), (33, 20, 3000), (64, 64, 1100), (10, 64, 784),
          (40, 5, 1030), (16, 3, 8460),
          (100, 64, 300), (128, 10, 513), (100, 16, 1000), (2, 2, 9000), (48, 44, 900), (63, 49, 816), (72, 35, 520),
          (60, 60, 2100), (1, 300, 300), (300, 1, 300), (1, 1, 70000), (2, 1, 70000), (1, 9, 33000), (9, 1, 33000),
          (1, 64, 17), (1, 7, 0)]
# Around tiles of 16, 32 and 64, blocks of 32 steps and segments of 1024.
MATMUL = [(0, 2, 3), (3, 2, 0), (1, 1, 1), (1, 33, 64), (64, 1, 31), (16, 16, 2048), (17, 15, 1025), (3, 18, 4100),
          (32, 33, 32), (64, 64, 64), (65, 63, 33), (33, 70, 40), (24, 72, 1032), (128, 20, 16)]
# Enough tiles of 64 by 64 for the multiprocessors of a fixed run: fewer take smaller tiles.
TILED = (130, 130, 20)
LENGTHS = [0, 1, 2, 3, 4, 5, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 12288, 40001]
VECTORS = [0, 1, 2, 63, 64, 65, 1023, 1024, 1025, 2047, 2048, 2049, 16384, 16385, 32768, 32769, 70001, 262144, 262145,
           300001, 540000]
OUTER = [(0, 3), (3, 0), (1, 1), (1, 129), (129, 1), (16, 128), (17, 127), (33, 257), (257, 33), (100, 512),
         (1500, 132), (700, 64), (130, 1500), (64, 3000)]
ROWS = [(0, 5), (5, 0), (1, 1), (1, 2049), (7, 2048), (8, 2), (8, 1), (9, 33), (16, 64), (17, 65), (31, 100),
        (64, 16), (257, 7), (3, 33000), (2, 140000), (1200, 3)]
COLUMNS = [(8, 33000), (8, 60000), (40, 4100), (16, 9000), (9, 140000)]
# More results than the library's own scratch memory has room for.
MANY_ROWS = [(70000, 2)]
TENSORS = [[], [0], [1], [7], [4096], [40001], [3, 1000], [1000, 3], [257, 257], [64, 1, 64], [5, 33, 100], [2, 3, 4, 5],
           [2, 70, 2, 70], [3, 2, 2, 2, 300]]
AXES = [[], [0], [7], [3, 1000], [1000, 3], [40, 33, 20], [2, 3, 4, 5], [9, 100, 40], [3, 2, 2, 2, 300],
        [30, 11, 9, 8], [2, 5, 9000], [6, 3, 2, 3, 4, 2, 5]]
LSQ = [(0, 4), (4, 0), (1, 1), (2, 2), (31, 64), (32, 65), (33, 127), (33, 256), (64, 257), (65, 128), (97, 1),
       (100, 512), (100, 513), (40, 1023), (33, 2049), (70, 4100), (33, 8200), (2000, 10), (3000, 33), (1056, 130),
       (1, 3000), (3000, 1)]


def of_family(family):
    """Yields the keywords for the family's maker in cases.py, with the type `t` where a case has one of its own."""
    if family == "elementwise":
        for n in LENGTHS: yield dict(n=n)
    elif family in ("axes", "row_maps_over_axes"):
        for shape in AXES: yield dict(shape=shape)
        # Columns and rows, which have kernels of their own for 16-bit floats.
        for over in [0], [1]:
            for t in F16, BF16: yield dict(shape=[300, 40], over=over, t=t)
    elif family == "tensors":
        for shape in TENSORS: yield dict(shape=shape)
    elif family == "products_over_tensors":
        for shape in [(0, 3), (3, 0), (1, 1), (33, 70), (5, 4097), (2, 17001), (300, 9)]: yield dict(shape=shape)
    elif family == "convert":
        for shape in 20 * TENSORS: yield dict(shape=shape)
    elif family == "matmul":
        for i, shape in enumerate(MATMUL):
            for types in range(i % 3, len(TYPES), 3): yield dict(shape=shape, types=types)
        for types in range(len(TYPES)): yield dict(shape=TILED, types=types)
    elif family == "outer":
        for shape in OUTER: yield dict(shape=shape)
        for m, n in [(3000, 64), (5000, 16)]:
            for aligned in (True, False):
                yield dict(shape=(m, n), strides=(n, 1), aligned=aligned)
                yield dict(shape=(m, n), strides=(1, m), aligned=aligned)
    elif family == "reduce":
        for n in VECTORS: yield dict(n=n)
        for n in [40000, 150000, 290000]: yield dict(n=n, inc=-2)
    elif family == "rows":
        for m, n in ROWS:
            yield dict(shape=(m, n), strides=(n, 1))
            yield dict(shape=(m, n), strides=(1, m))
        for m, n in COLUMNS: yield dict(shape=(m, n), strides=(1, m))
    elif family == "row_maps":
        for m, n in ROWS + MANY_ROWS:
            yield dict(shape=(m, n), strides=(n, 1))
            yield dict(shape=(m, n), strides=(1, m))
        for m, n in COLUMNS: yield dict(shape=(m, n), strides=(1, m))
    elif family == "lsq":
        for m, n in LSQ:
            yield dict(shape=(m, n), strides=(n, 1))
            yield dict(shape=(m, n), strides=(1, m))
            yield dict(shape=(m, n))
    else:
        for shape in SHAPES:
            yield dict(shape=shape, plain=True)
            yield dict(shape=shape)


def fixed(operations):
    """Yields all edge cases as (operation, keywords)."""
    for op in operations.values():
        for keywords in of_family(op.family): yield op, keywords
        # Elementwise operations with a second output (mse_grad) are divided like reductions: the same edges.
        if op.family == "elementwise" and len([p for p in op.parameters if p.kind == "output"]) > 1:
            for n in VECTORS: yield op, dict(n=n)


def large(operations):
    """Yields cases whose grids would need more blocks than they may have, so that blocks loop, and cases with many
    parts per row."""
    for name, keywords in large_calls(): yield operations[name], keywords


def large_calls():
    for name in ["sum", "argmax", "var"]:
        yield name + "_rows", dict(shape=(1100000, 1), strides=(1, 1))
        yield name + "_rows", dict(shape=(1100000, 2), strides=(1, 1100000))
    for name in ["var", "nrm2", "logsumexp"]:
        yield name + "_rows", dict(shape=(8, 262200), strides=(1, 8))
        yield name + "_rows", dict(shape=(8, 300000), strides=(1, 9), mode="specials")
        yield name + "_rows", dict(shape=(9, 270000), strides=(1, 9), mode="tiny")
        yield name + "_rows", dict(shape=(8, 265000), strides=(1, 8), mode="wild")
        yield name + "_rows", dict(shape=(2, 400001), strides=(400001, 1), mode="tiny")
        yield name + "_rows", dict(shape=(2, 300001), strides=(1, 2), mode="normal")
    for name in ["sum", "logsumexp", "nrm2", "argmin"]:
        yield name, dict(n=2500000, inc=1)
        yield name + "_rows", dict(shape=(20, 150000), strides=(1, 20))
        yield name + "_rows", dict(shape=(3, 600000), strides=(600000, 1))
    yield "dot", dict(n=2500000)
    yield "mse_grad", dict(n=2500000)
    for n in [600000, 2500001]:
        for name in ["add", "clamp_backward", "fill"]: yield name, dict(n=n)
    yield "outer", dict(shape=(1500, 700))
    yield "ger", dict(shape=(40000, 3))
    yield "lsq_grad", dict(shape=(30000, 20), strides=(20, 1))
    yield "lsq_grad", dict(shape=(30000, 20), strides=(1, 30000))
    yield "lsq_grad", dict(shape=(9000, 300), strides=(300, 1))
    for name in ["gemm", "gemm_fused"]:
        for s in [(512, 512, 520), (300, 1025, 300), (64, 64, 20000), (33, 17, 60000), (128, 16, 12000),
                  (1000, 10, 1000), (1, 3000, 700), (3000, 1, 700), (4096, 128, 16)]:
            yield name, dict(shape=s, plain=True, mode="normal")
    for s in [(2, 2, 2), (2, 2, 0), (1, 3, 2), (17, 1, 3)]:
        yield "gemm_batched", dict(shape=s, plain=True, batch=70000)
