"""Each product kernel on each shape, forced: what the estimates of the plan need. Some kernels are also compiled for
more resident blocks. Operands are row-major and aligned; the results of all kernels are compared bit for bit."""
import ctypes

import common
import driver
from diptych import TYPES, Device
from loading import KERNELS, load, resources, threads

# Rows and columns of the tile, steps of k of a slice.
TILES = {"gemm_128x128": (128, 128, 8), "gemm_128x64": (128, 64, 8), "gemm_64x64": (64, 64, 8),
         "gemm_128x16": (128, 16, 8), "gemm_32x32": (32, 32, 8), "gemm_16x16": (16, 16, 16)}
# Kernel and resident blocks.
VARIANTS = [("gemm_128x64_f32", 4), ("gemm_64x64_f32", 5)]
# The bits of `flags` in kernels-gpu/device/src/ops/gemm/mod.rs.
A_ALONG_K, A_PACKS, B_PACKS, C_PACKS = 1, 2, 8, 16
# m, n, k.
SHAPES = common.pick([(4096,) * 3, (2048,) * 3, (1024,) * 3, (512,) * 3, (256,) * 3, (4096, 4096, 256), (1000, 16, 10000)],
                     [(1024,) * 3], [(64,) * 3])
# Elements of a result that are compared.
COMPARED = 2**20


def launcher(kind, suffix, function, name, shape, arrays, stream):
    """Returns a function that launches a kernel for a product, and the bytes of shared memory of a block."""
    (m, n, k), (rows, columns, depth) = shape, TILES[name]
    size = ctypes.sizeof(kind)
    shared = 2 * depth * (rows + columns + 2 * (16 // size)) * size
    i, u = ctypes.c_int64, ctypes.c_uint64
    a, b, c = (array.pointer for array in arrays)
    arguments = [u(m), u(n), u(k), kind(1), a, i(k), i(1), i(0), b, i(n), i(1), i(0), kind(0), c, i(n), i(1), i(0),
                 ctypes.c_void_p(), i(0), i(0), kind(0), kind(0), u(1),
                 ctypes.c_uint32(A_ALONG_K | A_PACKS | B_PACKS | C_PACKS)]
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
    numbers = (-(-m // rows) * -(-n // columns), 1, 1, threads(f"{name}_{suffix}"), 1, 1, shared)
    # `arguments` owns what the pointers point to.
    return lambda arguments=arguments: driver.check("cuLaunchKernel", function, *numbers, stream.handle, pointers, None), shared


def inputs(kind, shapes):
    """A, B and C for the largest of the shapes; smaller products use their beginnings."""
    period = (kind * 4099)(*((j * 37 % 1009) / 1009 - 0.5 for j in range(4099)))
    sizes = [max(size) for size in zip(*((m * k, k * n, m * n) for m, n, k in shapes))]
    arrays = []
    for count in sizes:
        host = (kind * count).from_buffer_copy(bytes(period) * (count // 4099 + 1))
        arrays.append(Device(ctypes.sizeof(host)).upload(host))
    return arrays


def functions(suffix):
    """Label, tile and function of each kernel and variant."""
    for name in TILES:
        full = f"{name}_{suffix}"
        if full in KERNELS:
            yield full, name, load(full)[1]
    for full, blocks in VARIANTS:
        if full.endswith(suffix):
            yield f"{full} x{blocks}", full[: -len(suffix) - 1], load(full, blocks)[1]


def entries(differing):
    stream = common.Stream()
    for suffix, kind in TYPES.items():
        arrays, kernels = inputs(kind, SHAPES), list(functions(suffix))
        for shape in SHAPES:
            m, n, k = shape
            wanted = None
            for label, name, function in kernels:
                launch, shared = launcher(kind, suffix, function, name, shape, arrays, stream)
                seconds = stream.seconds(launch)
                stream.synchronize()
                got = bytes(arrays[2].download((kind * min(m * n, COMPARED))()))
                wanted = wanted or got
                if got != wanted:
                    differing.append([label, shape])
                more = resources(function, threads(f"{name}_{suffix}"), shared)
                yield {"kernel": label, "shape": shape, "us": 1e6 * seconds, "tflops": 2e-12 * m * n * k / seconds, **more}


def main():
    differing = []
    found = common.collect(entries(differing))
    common.finish({**found, "differing": differing}, not differing)


if __name__ == "__main__":
    main()
