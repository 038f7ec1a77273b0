"""Check that this machine gives the bits that Diptych promises: ``python -m diptych.verify``.

Makes a fixed set of calls of every operation, at every CPU level of the machine or on a CUDA device,
and compares a hash of the results with a constant. Prints what ran; on a difference it also prints
the operations that differ, and the exit status is 1. Please put the output into a bug report.
"""

import argparse
import os
import platform
import sys
import time

import diptych

from . import _native

__all__ = ["FINGERPRINT", "NUMERICS_VERSION", "differences", "main"]

FINGERPRINT = _native._FINGERPRINT
"""What ``diptych.fingerprint()`` returns on every machine."""

NUMERICS_VERSION = _native._NUMERICS_VERSION
"""Raised when the result bits of an operation change."""

LEVELS = ("portable", "avx2", "avx512", "neon")


def differences(device="cpu"):
    """Return the operations with other bits than promised: names, hashes, and what those should be.

    >>> import diptych.verify
    >>> diptych.verify.differences()
    []
    """
    return [row for row in _native._fingerprint_of_operations(device) if row[1] != row[2]]


def main(arguments=None) -> int:
    """Run the checks of the command line, print the results, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m diptych.verify", description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--level", choices=LEVELS, help="a CPU level; default: each that this machine has")
    parser.add_argument("--threads", type=int, metavar="N", help="default: one, then one for each CPU")
    options = parser.parse_args(arguments)
    print(f"diptych {diptych.__version__}, numerics version {NUMERICS_VERSION}")
    print(f"  cpu        {_cpu()}")
    print(f"  system     {platform.platform()}, Python {platform.python_version()}")
    print(f"  expected   {FINGERPRINT:016x}")
    if options.device == "cuda":
        right = _check("cuda", "cuda")
    else:
        right = _check_cpu(options)
    print("all bits are right" if right else "WRONG BITS: please report this output")
    return 0 if right else 1


def _check_cpu(options) -> bool:
    before, right = diptych.cpu_level(), True
    counts = [options.threads] if options.threads else sorted({1, os.cpu_count() or 1})
    try:
        for level in [options.level] if options.level else LEVELS:
            try:
                diptych.force_cpu_level(level)
            except diptych.ArgumentError:
                if options.level:
                    raise
                continue  # The machine lacks it.
            for count in counts:
                with diptych.threads(count):
                    right &= _check("cpu", f"{level}, {count} thread(s)")
    finally:
        diptych.force_cpu_level(before)
    return right


def _check(device: str, what: str) -> bool:
    start = time.perf_counter()
    found = diptych.fingerprint(device=device)
    seconds = time.perf_counter() - start
    right = found == FINGERPRINT
    print(f"  {found:016x}   {'right' if right else 'WRONG'}: {what}, {seconds:.2f} s")
    if not right:
        for name, got, expected in differences(device):
            print(f"    {name}: {got:016x} instead of {expected:016x}")
    return right


def _cpu() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
