"""Arrays in CUDA memory, without a GPU: a stand-in for the driver, whose memory is that of the host and whose launches
the emulator of the kernels runs. The folder of both is named in DIPTYCH_STAND_IN (`cargo xtask python` does so)."""

import ctypes as C
import os
import weakref
from types import SimpleNamespace

import numpy as np

CUDA = 2
CODES = {"f": 2, "i": 0, "u": 1, "b": 6}
FOLDER = os.environ.get("DIPTYCH_STAND_IN")
# What arrays with the exchange API share: their current stream, a handle that the stand-in does not follow, and the number
# of arrays that it has made.
current = SimpleNamespace(stream=0x5700, allocations=0)
# The launches so far: the name of the kernel and the stream.
launches = []

if FOLDER:
    # Loaded first, it is the libcuda.so.1 that the package finds.
    driver = C.CDLL(os.path.join(FOLDER, "libcuda.so.1"))
    _run = C.CDLL(os.path.join(FOLDER, "liblaunches.so")).diptych_launch
    _run.argtypes = [C.c_char_p, C.c_void_p, C.c_void_p, C.c_void_p]

    @C.CFUNCTYPE(None, C.c_char_p, C.c_void_p, C.c_void_p, C.c_void_p)
    def _launch(name, shape, stream, arguments):
        launches.append((name.decode(), stream or 0))
        _run(name, shape, stream, arguments)

    driver.fake_on_launch(_launch)


def allocate(shape, dtype):
    """A NumPy array in memory of the device."""
    dtype = np.dtype(dtype)
    size = max(int(np.prod(shape)) * dtype.itemsize, 1)
    address, context = C.c_uint64(), C.c_void_p()
    # Memory is allocated in the current context, as the CUDA runtime makes it current.
    assert driver.cuDevicePrimaryCtxRetain(C.byref(context), 0) == driver.cuCtxSetCurrent(context) == 0
    assert driver.cuMemAlloc_v2(C.byref(address), C.c_size_t(size)) == 0
    bytes_ = (C.c_char * size).from_address(address.value)
    weakref.finalize(bytes_, driver.cuMemFree_v2, C.c_uint64(address.value))
    return np.frombuffer(bytes_, dtype, count=int(np.prod(shape))).reshape(shape)


class DLTensor(C.Structure):
    _fields_ = [("data", C.c_void_p), ("device_type", C.c_int32), ("device_id", C.c_int32), ("ndim", C.c_int32),
                ("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16), ("shape", C.POINTER(C.c_int64)),
                ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Managed(C.Structure):
    pass


Deleter = C.CFUNCTYPE(None, C.POINTER(Managed))
Managed._fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p), ("deleter", Deleter),
                    ("flags", C.c_uint64), ("tensor", DLTensor)]
# What managed tensors that are in use point to, by their addresses.
_in_use = {}


@Deleter
def _delete(managed):
    del _in_use[C.addressof(managed.contents)]


def managed(x):
    """A managed tensor of a NumPy array in memory of the device."""
    axes = C.c_int64 * x.ndim
    shape, strides = axes(*x.shape), axes(*(stride // x.itemsize for stride in x.strides))
    tensor = DLTensor(x.ctypes.data, CUDA, 0, x.ndim, CODES[x.dtype.kind], 8 * x.itemsize, 1, shape, strides, 0)
    made = Managed(1, 3, None, _delete, 0, tensor)
    _in_use[C.addressof(made)] = made, x, shape, strides
    return made


class Array:
    """An array of a framework with DLPack's exchange API. `host` is the same memory as a NumPy array."""

    def __init__(self, host):
        self.host = host


class Exchange(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("previous", C.c_void_p), ("allocate", C.c_void_p),
                ("managed_from_object", C.c_void_p), ("managed_to_object", C.c_void_p), ("borrow", C.c_void_p),
                ("current_stream", C.c_void_p)]


def _dtype(tensor):
    kind = next(kind for kind, code in CODES.items() if code == tensor.code)
    return np.dtype(f"{kind}{tensor.bits // 8}")


@C.CFUNCTYPE(C.c_int, C.POINTER(DLTensor), C.POINTER(C.c_void_p), C.c_void_p, C.c_void_p)
def _allocate(prototype, out, _context, _set_error):
    like = prototype.contents
    assert like.device_type == CUDA
    current.allocations += 1
    made = managed(allocate(tuple(like.shape[:like.ndim]), _dtype(like)))
    out[0] = C.addressof(made)
    return 0


@C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(C.c_void_p))
def _managed_from_object(array, out):
    out[0] = C.addressof(managed(C.cast(array, C.py_object).value.host))
    return 0


@C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(C.c_void_p))
def _managed_to_object(address, out):
    made = Managed.from_address(address)
    tensor, dtype = made.tensor, _dtype(made.tensor)
    shape = tensor.shape[:tensor.ndim]
    strides = [stride * dtype.itemsize for stride in tensor.strides[:tensor.ndim]]
    last = sum((size - 1) * stride for size, stride in zip(shape, strides))
    memory = (C.c_char * max(last + dtype.itemsize, 1)).from_address(tensor.data)
    weakref.finalize(memory, made.deleter, C.pointer(made))
    array = Array(np.ndarray(shape, dtype, memory, strides=strides))
    C.pythonapi.Py_IncRef(C.py_object(array))
    out[0] = id(array)
    return 0


@C.CFUNCTYPE(C.c_int, C.c_int32, C.c_int32, C.POINTER(C.c_void_p))
def _current_stream(_type, _device, out):
    out[0] = current.stream
    return 0


_pointer = lambda function: C.cast(function, C.c_void_p)
_table = Exchange(1, 3, None, _pointer(_allocate), _pointer(_managed_from_object), _pointer(_managed_to_object), None,
                  _pointer(_current_stream))
_capsule = C.pythonapi.PyCapsule_New
_capsule.restype, _capsule.argtypes = C.py_object, [C.c_void_p, C.c_char_p, C.c_void_p]
# A capsule does not copy its name.
EXCHANGE_API, VERSIONED = b"dlpack_exchange_api", b"dltensor_versioned"
Array.__dlpack_c_exchange_api__ = _capsule(C.addressof(_table), EXCHANGE_API, None)


class Dlpack:
    """An array of a framework with `__dlpack__` alone."""

    def __init__(self, host):
        self.host, self.stream = host, None

    def __dlpack_device__(self):
        return CUDA, 0

    def __dlpack__(self, *, stream=None, max_version=None):
        self.stream = stream
        return _capsule(C.addressof(managed(self.host)), VERSIONED, None)


class Interface:
    """An array with `__cuda_array_interface__` alone."""

    def __init__(self, host, stream=None):
        self.host = host
        self.__cuda_array_interface__ = {
            "shape": host.shape, "strides": host.strides, "typestr": host.dtype.str, "version": 3,
            "data": (host.ctypes.data, False), "stream": stream,
        }


def put(x, kind=Array):
    """Copies a NumPy array to the device; the strides are those of a contiguous array."""
    host = allocate(np.shape(x), np.asarray(x).dtype)
    host[...] = x
    return kind(host)
