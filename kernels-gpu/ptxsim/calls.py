"""Calls of the C library, on the CPU and on the simulated device."""
import ctypes as C
import math
import random

from arrays import F64, Arr
from matmul import TensorEpilogue
from tensors import Tensor


class Exec(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("device", C.c_int32), ("flags", C.c_uint32), ("stream", C.c_void_p),
                ("workspace", C.c_void_p), ("workspace_size", C.c_size_t), ("parallel_for", C.c_void_p),
                ("pool", C.c_void_p), ("max_threads", C.c_int32), ("reserved", C.c_int32)]


class CEpilogue(C.Structure):
    _fields_ = [("struct_size", C.c_size_t), ("flags", C.c_uint32), ("bias_kind", C.c_int32),
                ("bias", C.c_void_p), ("bias_inc", C.c_int64), ("lo", C.c_double), ("hi", C.c_double)]


class Sides:
    """The two backends: the C library on the CPU, and the same library on the simulated device."""
    def __init__(self, path):
        self.lib = C.CDLL(path)
        self.lib.dpt_last_error.restype = C.c_char_p
        self.sim = C.CDLL("libcuda.so.1")
        for f in ["ptxsim_alloc", "ptxsim_steps", "ptxsim_launches"]: getattr(self.sim, f).restype = C.c_uint64
        self.sim.ptxsim_alloc.argtypes = [C.c_uint64, C.c_uint64]
        self.sim.ptxsim_readonly.argtypes = [C.c_uint64, C.c_int]
        self.sim.cuMemcpyAsync.argtypes = [C.c_uint64, C.c_uint64, C.c_size_t, C.c_void_p]
        self.sim.cuMemFree_v2.argtypes = [C.c_uint64]
        self.sim.ptxsim_seed.argtypes = [C.c_uint64]
        self.plain = Exec(C.sizeof(Exec), 1)
        if self.lib.dpt_cuda_preload(C.byref(self.plain)):
            raise SystemExit("preload: " + self.lib.dpt_last_error().decode())

    def faults(self):
        out, text = [], C.create_string_buffer(2000)
        while self.sim.ptxsim_take_fault(text, 2000): out.append(text.value.decode())
        return out

    def call(self, name, t, args, device, r):
        """Makes a call: its status, its arrays with the bytes after the call, its error text, the faults."""
        arrays, addresses, keep = [], {}, []
        def address(a):
            if a is None: return None
            if id(a) in addresses: return addresses[id(a)]
            arrays.append(a)
            n = len(a.content)
            if device:
                # The addresses before the first element and after the last one are not mapped.
                start = self.sim.ptxsim_alloc(n, a.shift) if n else 0x100000000000
                if n: self.sim.cuMemcpyAsync(start, C.cast(C.c_char_p(a.content), C.c_void_p).value, n, None)
                if n and not a.out: self.sim.ptxsim_readonly(start, 1)
            else:
                buffer = C.create_string_buffer(n + 64)
                start = (C.addressof(buffer) + 15) // 16 * 16 + a.shift % 16
                C.memmove(start, a.content, n)
                keep.append(buffer)
            addresses[id(a)] = start + a.first * a.size
            keep.append(start)
            a.start = start
            return addresses[id(a)]
        over_tensors = any(isinstance(v, Tensor) for v in args)
        types, values = [C.c_void_p], [None]
        execution = None
        workspace = 0
        if device:
            execution = Exec(C.sizeof(Exec), r.choice([1, 1, 2]))
            need = C.c_size_t(0)
            base = name.replace("_batched", "").replace("_fused", "")
            if base in ("gemm", "lsq_grad"):
                f = getattr(self.lib, f"dpt_{base}_{'f64' if t == F64 else 'f32'}_workspace")
                e = Exec(C.sizeof(Exec), 1)
                shape = args[0].shape if over_tensors else args[:3 if base == "gemm" else 2]
                sizes = [C.c_int64(v) for v in shape]
                if f(C.byref(e), *sizes, C.byref(need)): raise SystemExit("workspace query failed")
            size = (327680 + 15) if need.value == 0 or (name == "gemm_batched") else need.value
            if name == "gemm_batched": size = max(size, need.value)
            # Of some reductions the tensor is copied; the library's own memory has no room for long rows.
            inputs = [v for v in args if isinstance(v, Tensor) and v.array and not v.array.out]
            copied = max([math.prod(v.shape) * v.array.size for v in inputs], default=0)
            # Of gradients all of them, and those of 16 bits in twice as many.
            if name in ("mse_grad", "lsq_grad"): copied = 8 * sum(math.prod(v.shape) + 2 for v in inputs)
            size += copied
            if r.random() < 0.6 or copied > 100000 or (name == "lsq_grad" and need.value > 262144):
                workspace = self.sim.ptxsim_alloc(size, r.choice([0, 1, 4, 8, 15, 16]))
                execution.workspace, execution.workspace_size = workspace, size
            values[0] = C.cast(C.byref(execution), C.c_void_p)
        def described(v):
            number = C.create_string_buffer(v.number or b"", 8)
            at = C.addressof(number) if v.array is None else address(v.array)
            tensor, axes = v.describe(at, device)
            keep.extend([number, tensor, axes])
            return C.addressof(tensor)
        for v in args:
            if isinstance(v, Tensor): types.append(C.c_void_p), values.append(described(v))
            elif isinstance(v, TensorEpilogue):
                keep.append(v.struct(described))
                types.append(C.c_void_p), values.append(C.addressof(keep[-1]))
            elif isinstance(v, C.c_double): types.append(C.c_double), values.append(v)
            elif isinstance(v, C.Array): types.append(C.c_void_p), values.append(C.addressof(v))
            elif isinstance(v, Arr) or v is None: types.append(C.c_void_p), values.append(address(v))
            elif isinstance(v, int): types.append(C.c_int64), values.append(v)
            elif isinstance(v, float):
                types.append(C.c_double if t == F64 or over_tensors else C.c_float), values.append(v)
            else:
                e = CEpilogue(C.sizeof(CEpilogue), v.flags, v.kind, address(v.bias), v.inc, v.lo, v.hi)
                keep.append(e)
                types.append(C.c_void_p), values.append(C.cast(C.byref(e), C.c_void_p))
        f = getattr(self.lib, f"dpt_{name}" if over_tensors else f"dpt_{name}_{('f32', 'f64')[t]}")
        f.argtypes = types
        status = f(*values)
        error = self.lib.dpt_last_error().decode() if status else ""
        found, out = [], []
        if device:
            self.lib.dpt_cuda_synchronize(C.byref(self.plain))
            found = self.faults()
        for a in arrays:
            n = len(a.content)
            buffer = C.create_string_buffer(max(n, 1))
            if device and n:
                self.sim.cuMemcpyAsync(C.addressof(buffer), a.start, n, None)
                self.sim.cuMemFree_v2(a.start)
            elif n: C.memmove(buffer, a.start, n)
            out.append((a, buffer.raw[:n]))
        if workspace: self.sim.cuMemFree_v2(workspace)
        return status, out, error, found + (self.faults() if device else [])


def others(sides):
    """Tests the functions that are not operations (memory, copies, scratch blocks), and pointers to the wrong memory.
    Returns a list of failures."""
    lib, e, wrong = sides.lib, C.byref(sides.plain), []
    lib.dpt_copy.argtypes = [C.c_void_p, C.c_size_t, C.c_void_p, C.c_void_p]
    lib.dpt_cuda_free.argtypes = lib.dpt_cuda_free_pinned.argtypes = [C.c_void_p]
    def check(what, status, want=0):
        if status != want: wrong.append(f"{what}: {status}, {lib.dpt_last_error().decode()}")
    for n in (0, 1, 3, 1000, 70001):
        a, b, pinned = C.c_void_p(), C.c_void_p(), C.c_void_p()
        check("alloc", lib.dpt_cuda_alloc(C.c_size_t(n), C.byref(a)))
        check("alloc", lib.dpt_cuda_alloc(C.c_size_t(n), C.byref(b)))
        check("pinned", lib.dpt_cuda_alloc_pinned(C.c_size_t(n), C.byref(pinned)))
        content = random.Random(n).randbytes(n)
        C.memmove(pinned, content, n)
        check("copy to", lib.dpt_copy(e, n, pinned, a))
        check("copy within", lib.dpt_copy(e, n, a, b))
        back = C.create_string_buffer(max(n, 1))
        check("copy back", lib.dpt_copy(e, n, b, back))
        check("synchronize", lib.dpt_cuda_synchronize(e))
        if back.raw[:n] != content: wrong.append(f"copies of {n} bytes")
        for p in (a, b): check("free", lib.dpt_cuda_free(p))
        check("free pinned", lib.dpt_cuda_free_pinned(pinned))
    check("release", lib.dpt_cuda_release(e))
    # A host pointer in a call on the device, and a mix of device and host memory.
    host, device = C.create_string_buffer(64), sides.sim.ptxsim_alloc(64, 0)
    lib.dpt_square_f32.argtypes = [C.c_void_p, C.c_int64, C.c_void_p, C.c_void_p]
    check("host pointer", lib.dpt_square_f32(e, 4, host, device), 204)
    check("host pointer", lib.dpt_square_f32(e, 4, device, host), 204)
    check("mixed", lib.dpt_square_f32(C.byref(Exec(C.sizeof(Exec), 2)), 4, device, host), 205)
    return wrong + sides.faults()
