"""The host's cost of small calls, the launches that each makes, and the results of dpt_advise_measure."""
import ctypes
import json
import os
import subprocess
import time

import driver
import common
from diptych import CPU, HERE, REHEARSAL, Advice, Constants, Device, call, cuda, library, run_launches


def host_seconds():
    """The host's cost of each call, and of the driver's functions that it calls, from the C program `calls`."""
    environment = dict(os.environ, LD_LIBRARY_PATH=REHEARSAL) if REHEARSAL else None
    program = os.path.join(HERE, "calls")
    done = subprocess.run([program], capture_output=True, text=True, timeout=60, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def launches():
    """What each small call adds to a stream."""
    n, side = 1024, 32
    arrays = [common.upload(ctypes.c_float, [0.5] * n) for _ in range(2)] + [Device(4 * n)]
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    p = [array.pointer for array in arrays]
    small = {
        "add": lambda e: call("dpt_add_f32", e, n, *p),
        "clamp": lambda e: call("dpt_clamp_f32", e, n, p[0], zero, one, p[2]),
        "outer": lambda e: call("dpt_outer_f32", e, side, side, p[0], 1, p[1], 1, p[2], side, 1),
        "sum": lambda e: call("dpt_sum_f32", e, n, p[0], 1, p[2]),
        "argmax": lambda e: call("dpt_argmax_f32", e, n, p[0], 1, p[2]),
        "var": lambda e: call("dpt_var_f32", e, n, p[0], 1, 1, p[2]),
        "sum_rows": lambda e: call("dpt_sum_rows_f32", e, side, side, p[0], side, 1, p[2], 1),
        "dot": lambda e: call("dpt_dot_f32", e, n, p[0], 1, p[1], 1, p[2]),
        "mse_grad": lambda e: call("dpt_mse_grad_f32", e, n, p[0], p[0], p[1], p[2]),
        "gemm": lambda e: call("dpt_gemm_f32", e, side, side, side, one, p[0], side, 1, p[1], side, 1, zero, p[2], side, 1),
    }
    call("dpt_cuda_preload", None)
    return {name: driver.launches(lambda stream: body(ctypes.byref(cuda(stream)))) for name, body in small.items()}


def constants():
    """The current constants of the estimates."""
    found = Constants(ctypes.sizeof(Constants))
    call("dpt_advise_constants", ctypes.byref(found))
    values = {name: getattr(found, name) for name, *_ in Constants._fields_ if name not in ("struct_size", "reserved")}
    return {name: list(value) if isinstance(value, ctypes.Array) else value for name, value in values.items()}


def advice():
    """The estimates for products in host memory, before and after measuring this machine, and the new constants."""

    def products():
        found = {}
        for side in (64, 256, 1024, 4096):
            answer = Advice(ctypes.sizeof(Advice))
            size = [ctypes.c_int64(side)] * 3
            arguments = (None, b"gemm", *size, ctypes.c_int32(CPU), ctypes.byref(answer))
            call("dpt_advise_f32", *arguments)
            found[side] = {"cpu_seconds": answer.cpu_seconds, "cuda_seconds": answer.cuda_seconds}
        return found

    guessed = products()
    # The emulator would take minutes for the launches of the measurement.
    run_launches(False)
    start = time.perf_counter()
    status = library.dpt_advise_measure(None)
    took = time.perf_counter() - start
    run_launches(True)
    found = {"guessed": guessed, "measured": products(), "status": status, "took_seconds": took}
    return {**found, "constants": constants()}


def measure():
    found = {**host_seconds(), "launches": launches(), "advice": advice()}
    return found, found["advice"]["status"] == 0


if __name__ == "__main__":
    common.finish(*measure())
