"""Counts the instructions of small calls beside NumPy's, and fails when a call takes more than its share.

    python bench/count.py

Needs valgrind. A count does not depend on what else the machine does. Shares are of NumPy's count for the same work
in the same interpreter.
"""

import os
import re
import shutil
import subprocess
import sys

CALLS = 10000
SETUP = "import numpy as np, diptych as d\nx, y, out = (np.ones(4, np.float32) for _ in range(3))\nm = np.ones((4, 4), 'f')"

# (Diptych's call, NumPy's call, the largest share)
CASES = [
    ("d.add(x, y, out=out)", "np.add(x, y, out=out)", 0.5),
    ("d.add(x, y)", "np.add(x, y)", 1.0),
    ("d.clip(x, 0, 1, out=out)", "np.clip(x, 0, 1, out=out)", 0.25),
    ("d.outer(x, y)", "np.outer(x, y)", 0.25),
    ("d.sum(x)", "np.sum(x)", 0.5),
    ("d.matmul(m, m)", "np.matmul(m, m)", 1.0),
]


def instructions(call):
    """The instructions of a process that makes the call many times."""
    program = f"{SETUP}\nfor _ in range({CALLS}): {call}"
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, "-c", program]
    # The same hashes and no other threads, so that starting takes as many instructions each time.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        sys.exit(result.stderr)
    return int(re.search(r"Collected : (\d+)", result.stderr)[1])


def main():
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    empty = instructions("pass")
    failed = []
    print(f"{'':28} {'diptych':>8} {'NumPy':>8} {'share':>6} {'bound':>6}")
    for ours, theirs, bound in CASES:
        mine, other = ((instructions(call) - empty) / CALLS for call in (ours, theirs))
        print(f"{ours:28} {mine:8.0f} {other:8.0f} {mine / other:6.2f} {bound:6.2f}")
        if mine > bound * other:
            failed.append(ours)
    if failed:
        sys.exit("too many instructions: " + ", ".join(failed))


if __name__ == "__main__":
    main()
