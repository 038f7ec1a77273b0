"""cublasLt itself, through ctypes on the library that PyTorch ships: full precision (f32 without TF32), the first
algorithm of its heuristics, 32 MiB of workspace."""
import ctypes

import machine
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
    """In a rehearsal: a library whose functions succeed and do nothing. The heuristics' find one algorithm."""

    def __getattr__(self, name):
        def function(*arguments):
            if name == "cublasLtMatmulAlgoGetHeuristic":
                arguments[-1]._obj.value = 1
            return 0

        return function


def library():
    """The copy that this process has loaded."""
    if machine.REHEARSAL:
        return Nothing()
    torch.matmul(machine.random(8, 8), machine.random(8, 8))
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
        self.workspace = machine.empty(WORKSPACE, dtype=torch.uint8)
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} failed with status {status}")

    def layout(self, kind, matrix):
        """A row-major matrix is a column-major one of its transpose. Gives the layout, and whether the matrix is
        stored transposed."""
        (rows, cols), (rs, cs) = matrix.shape, matrix.stride()
        # The stride of a dimension of 1 says nothing.
        plain = cs == 1 or cols == 1
        fast, slow, step = (cols, rows, rs) if plain else (rows, cols, cs)
        out, size = ctypes.c_void_p(), ctypes.c_uint64
        step = max(step, fast)
        self.call("cublasLtMatrixLayoutCreate", ctypes.byref(out), kind, size(fast), size(slow), ctypes.c_int64(step))
        return out, not plain

    def matmul(self, a, b, c):
        """A function that computes c = a b, for row-major `c`: to cublasLt, c' = b' a'."""
        double = c.dtype == torch.float64
        kind, compute = (REAL_64F, COMPUTE_64F) if double else (REAL_32F, COMPUTE_32F)
        scalar = ctypes.c_double if double else ctypes.c_float
        one, zero = scalar(1), scalar(0)
        description, preference = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cublasLtMatmulDescCreate", ctypes.byref(description), compute, kind)
        (first, first_turned), (second, second_turned) = self.layout(kind, b), self.layout(kind, a)
        for name, turned in ((DESC_TRANSA, first_turned), (DESC_TRANSB, second_turned)):
            flag = ctypes.c_int32(int(turned))
            self.call("cublasLtMatmulDescSetAttribute", description, name, ctypes.byref(flag), ctypes.c_size_t(4))
        out, _ = self.layout(kind, c)
        self.call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        room = ctypes.c_size_t(WORKSPACE)
        attribute = (preference, PREF_MAX_WORKSPACE_BYTES, ctypes.byref(room), ctypes.c_size_t(8))
        self.call("cublasLtMatmulPreferenceSetAttribute", *attribute)
        best, found = Heuristic(), ctypes.c_int()
        question = (self.handle, description, first, second, out, out, preference, 1)
        self.call("cublasLtMatmulAlgoGetHeuristic", *question, ctypes.byref(best), ctypes.byref(found))
        if found.value == 0 or best.state != 0:
            raise RuntimeError("the heuristics of cublasLt found no algorithm")
        scratch = (machine.pointer(self.workspace), ctypes.c_size_t(WORKSPACE))

        def run():
            operands = (machine.pointer(b), first, machine.pointer(a), second, ctypes.byref(zero), machine.pointer(c))
            # D is C. The structure begins with the algorithm.
            target = (out, machine.pointer(c), out, ctypes.byref(best), *scratch, ctypes.c_void_p(machine.stream()))
            self.call("cublasLtMatmul", self.handle, description, ctypes.byref(one), *operands, *target)

        return run
