"""The C library from Python, with nothing but ctypes."""
import ctypes
import os

HERE = os.path.dirname(os.path.abspath(__file__))
CPU, CUDA, AUTO = 0, 1, 2
NO_DEVICE = 200
TYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double}


class Exec(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("flags", ctypes.c_uint32),
        ("stream", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p),
        ("workspace_size", ctypes.c_size_t),
        ("parallel_for", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("max_threads", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class Advice(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("measured", ctypes.c_int32),
        ("cpu_seconds", ctypes.c_double),
        ("cuda_seconds", ctypes.c_double),
    ]


class Failure(Exception):
    """A status that is not DPT_OK."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


library = ctypes.CDLL(os.environ.get("DIPTYCH_LIBRARY", os.path.join(HERE, "libdiptych.so.0")))
library.dpt_last_error.restype = ctypes.c_char_p
library.dpt_build_info.restype = ctypes.c_char_p


def call(name, *arguments):
    """Calls a function by its C name: ints are int64_t, floats come as ctypes values."""
    convert = lambda a: ctypes.c_int64(a) if isinstance(a, int) else a
    status = getattr(library, name)(*map(convert, arguments))
    if status != 0:
        raise Failure(status, library.dpt_last_error().decode())


def available():
    return library.dpt_cuda_available() == 1


def cuda(stream=0, workspace=None, size=0):
    return Exec(ctypes.sizeof(Exec), CUDA, 0, stream, workspace, size, None, None, 0, 0)


class Device:
    """Bytes in device memory."""

    def __init__(self, size):
        self.size, self.pointer = size, ctypes.c_void_p()
        call("dpt_cuda_alloc", ctypes.c_size_t(size), ctypes.byref(self.pointer))

    def upload(self, host):
        call("dpt_copy", ctypes.byref(cuda()), ctypes.c_size_t(ctypes.sizeof(host)), host, self.pointer)
        call("dpt_cuda_synchronize", None)
        return self

    def download(self, host):
        call("dpt_copy", ctypes.byref(cuda()), ctypes.c_size_t(ctypes.sizeof(host)), self.pointer, host)
        call("dpt_cuda_synchronize", None)
        return host

    def __del__(self):
        library.dpt_cuda_free(self.pointer)
