"""The C library from Python, through ctypes alone.

In a rehearsal (`./run --rehearse FOLDER`) the driver is a stand-in: its device memory is host memory, and the kernel
emulator runs its launches."""
import ctypes
import os

HERE = os.path.dirname(os.path.abspath(__file__))
# The directory of the stand-in: libcuda.so.1 and liblaunches.so.
REHEARSAL = os.environ.get("DIPTYCH_REHEARSAL")
CPU, CUDA, AUTO = 0, 1, 2
BIAS_PER_ROW, BIAS_PER_COLUMN = 1, 2
CLAMP = 1
NOT_PRELOADED = 207
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


class Epilogue(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("flags", ctypes.c_uint32),
        ("bias_kind", ctypes.c_int32),
        ("bias", ctypes.c_void_p),
        ("bias_inc", ctypes.c_int64),
        ("lo", ctypes.c_double),
        ("hi", ctypes.c_double),
    ]


class Advice(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("device", ctypes.c_int32),
        ("measured", ctypes.c_int32),
        ("cpu_seconds", ctypes.c_double),
        ("cuda_seconds", ctypes.c_double),
    ]


class Constants(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("measured", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("cpu_call", ctypes.c_double),
        ("cpu_read", ctypes.c_double * 5),
        ("cpu_written", ctypes.c_double * 5),
        ("cpu_scaling", ctypes.c_double),
        ("cpu_flops", ctypes.c_double * 2),
        ("cpu_exps", ctypes.c_double * 2),
        ("cuda_call", ctypes.c_double),
        ("cuda_bytes", ctypes.c_double),
        ("cuda_flops", ctypes.c_double * 2),
        ("copy_call", ctypes.c_double),
        ("copy_there", ctypes.c_double),
        ("copy_back", ctypes.c_double),
    ]


class Failure(Exception):
    """A status that is not DPT_OK."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


def stand_in():
    """Loads the stand-in for the driver, which must happen before the library loads the driver. It takes all memory for
    device memory."""
    fake = ctypes.CDLL(os.path.join(REHEARSAL, "libcuda.so.1"))
    fake.fake_everything_on_device(1)
    fake.fake_written.restype = ctypes.c_char_p
    fake.launches = ctypes.CDLL(os.path.join(REHEARSAL, "liblaunches.so")).diptych_launch
    return fake


FAKE = stand_in() if REHEARSAL else None
library = ctypes.CDLL(os.environ.get("DIPTYCH_LIBRARY", os.path.join(HERE, "libdiptych.so.0")))
library.dpt_last_error.restype = ctypes.c_char_p
library.dpt_build_info.restype = ctypes.c_char_p


def run_launches(on):
    """Sets whether the stand-in runs the kernels that are launched. No effect on a GPU."""
    if FAKE:
        FAKE.fake_on_launch(FAKE.launches if on else None)


run_launches(True)


def call(name, *arguments):
    """Calls a function by its C name. ints are passed as int64_t; floats must be ctypes values."""
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
