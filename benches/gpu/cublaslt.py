"""cublasLt, called with ctypes in the copy that PyTorch ships: full precision (f32 without TF32), the first algorithm
of its heuristics, 32 MiB of workspace."""
import ctypes

import bench
import torch

WORKSPACE = 32 << 20
COMPUTE_32F, COMPUTE_64F = 68, 70
REAL_32F, REAL_64F = 0, 1
DESC_TRANSA, DESC_TRANSB = 3, 4
PREF_MAX_WORKSPACE_BYTES = 1


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    ]


class Nothing:
    """The library of a rehearsal: its functions succeed and do nothing; the heuristics report one algorithm."""

    def __getattr__(self, name):
        def function(*arguments):
            if name == "cublasLtMatmulAlgoGetHeuristic":
                arguments[-1]._obj.value = 1
            return 0

        return function


def library():
    """The copy of cublasLt that this process has loaded."""
    if bench.REHEARSAL:
        return Nothing()
    torch.matmul(bench.random(8, 8), bench.random(8, 8))
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if "libcublasLt.so" in line}
    if not paths:
        raise OSError("PyTorch has not loaded libcublasLt")
    return ctypes.CDLL(paths.pop())


class CublasLt:
    """A handle and its workspace."""

    def __init__(self):
        self.library = library()
        self.handle = ctypes.c_void_p()
        self.workspace = bench.empty(WORKSPACE, dtype=torch.uint8)
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with status {status}")

    def layout(self, kind, matrix):
        """Returns cublasLt's layout of a matrix, and whether the matrix is stored transposed. A row-major matrix is the
        column-major matrix of its transpose."""
        (rows, cols), (rs, cs) = matrix.shape, matrix.stride()
        # The stride of a dimension of extent 1 is meaningless.
        row_major = cs == 1 or cols == 1
        fast, slow, step = (cols, rows, rs) if row_major else (rows, cols, cs)
        out, size = ctypes.c_void_p(), ctypes.c_uint64
        step = max(step, fast)
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(out), kind, size(fast), size(slow), ctypes.c_int64(step))
        return out, not row_major

    def matmul(self, a, b, c):
        """Returns a function that computes c = a b for row-major `c`; cublasLt sees c' = b' a'."""
        double = c.dtype == torch.float64
        kind, compute = (REAL_64F, COMPUTE_64F) if double else (REAL_32F, COMPUTE_32F)
        scalar = ctypes.c_double if double else ctypes.c_float
        one, zero = scalar(1), scalar(0)
        description, preference = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cublasLtMatmulDescCreate", ctypes.byref(description), compute, kind)
        (first, first_transposed), (second, second_transposed) = self.layout(kind, b), self.layout(kind, a)
        for name, transposed in ((DESC_TRANSA, first_transposed), (DESC_TRANSB, second_transposed)):
            flag = ctypes.c_int32(int(transposed))
            self.call("cublasLtMatmulDescSetAttribute", description, name, ctypes.byref(flag), ctypes.c_size_t(4))
        out, _ = self.layout(kind, c)
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        workspace_size = ctypes.c_size_t(WORKSPACE)
        attribute = (preference, PREF_MAX_WORKSPACE_BYTES, ctypes.byref(workspace_size), ctypes.c_size_t(8))
        self.call("cublasLtMatmulPreferenceSetAttribute", *attribute)
        best, found = Heuristic(), ctypes.c_int()
        question = (self.handle, description, first, second, out, out, preference, 1)
        self.call("cublasLtMatmulAlgoGetHeuristic", *question, ctypes.byref(best), ctypes.byref(found))
        if found.value == 0 or best.state != 0:
            raise RuntimeError("the heuristics of cublasLt found no algorithm")
        scratch = (bench.pointer(self.workspace), ctypes.c_size_t(WORKSPACE))

        def run():
            operands = (bench.pointer(b), first, bench.pointer(a), second, ctypes.byref(zero), bench.pointer(c))
            # The output D is C. `Heuristic` begins with the algorithm.
            target = (out, bench.pointer(c), out, ctypes.byref(best), *scratch, ctypes.c_void_p(bench.stream()))
            self.call("cublasLtMatmul", self.handle, description, ctypes.byref(one), *operands, *target)

        return run
