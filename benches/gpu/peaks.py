"""The peak rate of fused multiply-adds in f32 and f64: a loop with sixteen independent chains per thread, and nothing
else. The factor is close to 1/2, so that the values stay ordinary numbers."""
import ctypes
import struct

import driver
import common
from diptych import TYPES, Device

CHAINS, STEPS, THREADS = 16, 16, 256


def source(dtype):
    """The kernel `peak`, with the parameters `out` and `rounds`, the iterations of the loop."""
    chains = [f"%x{i}" for i in range(CHAINS)]
    step = "\n".join(f"fma.rn.{dtype} {x}, {x}, %a, %b;" for x in chains)
    start = "\n".join(f"add.rn.{dtype} {x}, %a, {number(i + 1, dtype)};" for i, x in enumerate(chains))
    total = "\n".join(f"add.rn.{dtype} %x0, %x0, {x};" for x in chains[1:])
    size = 4 if dtype == "f32" else 8
    return f"""
.visible .entry peak(.param .u64 out, .param .u32 rounds)
{{
.reg .{dtype} %x<{CHAINS}>, %a, %b;
.reg .b32 %left, %thread, %block, %threads;
.reg .b64 %at, %index;
.reg .pred %more;
ld.param.u64 %at, [out];
ld.param.u32 %left, [rounds];
cvta.to.global.u64 %at, %at;
mov.u32 %thread, %tid.x;
mov.u32 %block, %ctaid.x;
mov.u32 %threads, %ntid.x;
mad.lo.u32 %thread, %block, %threads, %thread;
cvt.rn.{dtype}.u32 %a, %thread;
mov.{dtype} %b, {number(0.5, dtype)};
fma.rn.{dtype} %a, %a, {number(2**-30, dtype)}, %b;
{start}
again:
{chr(10).join([step] * STEPS)}
sub.u32 %left, %left, 1;
setp.ne.u32 %more, %left, 0;
@%more bra again;
{total}
mul.wide.u32 %index, %thread, {size};
add.u64 %at, %at, %index;
st.global.{dtype} [%at], %x0;
ret;
}}
"""


def number(value, dtype):
    """A constant as PTX writes it."""
    letter, form = {"f32": ("f", ">f"), "f64": ("d", ">d")}[dtype]
    return f"0{letter}{struct.pack(form, value).hex().upper()}"


def peak(suffix, kind):
    """Fused multiply-adds per second."""
    kernel, stream = driver.Kernel(source(suffix), "peak"), common.Stream()
    blocks, rounds = driver.attribute(16) * 8, common.pick(4000, 400, 1)
    out = Device(blocks * THREADS * ctypes.sizeof(kind))
    arguments = (ctypes.c_uint64(out.pointer.value), ctypes.c_uint32(rounds))
    seconds = stream.seconds(lambda: kernel.launch(stream.value, blocks, THREADS, *arguments))
    return blocks * THREADS * CHAINS * STEPS * rounds / seconds


def measure():
    before = driver.clocks()
    peaks = {suffix: peak(suffix, kind) for suffix, kind in TYPES.items()}
    return {"fma_per_second": peaks, "clocks_before": before, "clocks_after": driver.clocks()}, True


if __name__ == "__main__":
    common.finish(*measure())
