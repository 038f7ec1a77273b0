"""A call over tensors on the CPU or on the device, as the makers of the PTX simulator's calls describe it."""
import ctypes

from arrays import difference
from diptych import Device, call, library
from matmul import TensorEpilogue
from tensors import Tensor

FILLER = b"\xa5"
MARGIN = 64


class Block:
    """An array in memory, between margins that no call may write to."""

    def __init__(self, array, device, margin):
        # The shift is the distance from an address that is aligned on both sides.
        self.before, self.array = margin + array.shift % 16, array
        self.content = FILLER * self.before + array.content + FILLER * margin
        self.type = ctypes.c_char * len(self.content)
        if device:
            self.memory, self.host = Device(len(self.content)), None
            start = self.memory.pointer.value
        else:
            self.memory = ctypes.create_string_buffer(len(self.content) + 16)
            start = (ctypes.addressof(self.memory) + 15) // 16 * 16
            self.host = self.type.from_address(start)
        self.first = start + self.before + array.first * array.size
        self.fill()

    def fill(self):
        """Writes what it has before a call."""
        if self.host is None:
            self.memory.upload(self.type.from_buffer_copy(self.content))
        else:
            self.host.raw = self.content

    def bytes(self):
        return self.memory.download(self.type()).raw if self.host is None else self.host.raw


class Call:
    """A function and its arguments on one side. `tensors` has the descriptions that it is given."""

    def __init__(self, name, arguments, device, margin=MARGIN):
        self.function, self.device, self.margin = getattr(library, f"dpt_{name}"), device, margin
        self.blocks, self.tensors, self.keep = {}, [], []
        self.values = [self.value(argument) for argument in arguments]

    def value(self, argument):
        if isinstance(argument, Tensor):
            return ctypes.c_void_p(self.described(argument))
        if isinstance(argument, TensorEpilogue):
            self.keep.append(argument.struct(self.described))
            return ctypes.byref(self.keep[-1])
        if isinstance(argument, float):
            return ctypes.c_double(argument)
        return ctypes.c_int64(argument) if isinstance(argument, int) else argument

    def described(self, argument):
        """The address of the description of a tensor. A number stays in memory of the host."""
        array = argument.array
        if array is None:
            self.keep.append(ctypes.create_string_buffer(argument.number, 8))
            address = ctypes.addressof(self.keep[-1])
        else:
            if id(array) not in self.blocks:
                self.blocks[id(array)] = Block(array, self.device, self.margin)
            address = self.blocks[id(array)].first
        tensor, axes = argument.describe(address, self.device)
        self.tensors.append(tensor)
        self.keep.append(axes)
        return ctypes.addressof(tensor)

    def run(self, execution=None):
        """Makes the call, and returns its status."""
        status = self.function(execution and ctypes.byref(execution), *self.values)
        if self.device:
            call("dpt_cuda_synchronize", None)
        return status

    def refill(self):
        """Writes what the arrays have before a call."""
        for block in self.blocks.values():
            block.fill()

    def bytes(self):
        """What the memory of each array has, with its margins."""
        return [block.bytes() for block in self.blocks.values()]


def differences(host, device, is_strict):
    """What the two sides of a call have left in memory that differs. `is_strict` says of an array whether its NaNs must
    have the same bits."""
    for block, cpu, gpu in zip(host.blocks.values(), host.bytes(), device.bytes()):
        array, end = block.array, block.before + len(block.array.content)
        text = difference(array, cpu[block.before:end], gpu[block.before:end], is_strict(array))
        if text:
            yield text
        if cpu[:block.before] != gpu[:block.before] or cpu[end:] != gpu[end:]:
            yield "bytes outside an array were written"
