"""What the scripts share that need the driver and nothing else: sizes, arrays, the clock, graphs, what a script says at
its end.

In a rehearsal time is the host's and nothing is captured: every line runs, and no figure means anything.
`DIPTYCH_QUICK` makes sizes and rounds small."""
import ctypes
import json
import os
import statistics
import sys
import time

import driver
from diptych import REHEARSAL, Device, call

QUICK = "DIPTYCH_QUICK" in os.environ
ROUNDS = 1 if REHEARSAL else 5 if QUICK else 15


def pick(full, quick, rehearsal):
    """The size for this run."""
    return rehearsal if REHEARSAL else quick if QUICK else full


def upload(kind, values):
    """A device array of these values."""
    host = (kind * len(values))(*values)
    return Device(ctypes.sizeof(host)).upload(host)


class Stream:
    """A stream of the library's context, which waits for no other."""

    def __init__(self):
        call("dpt_cuda_preload", None)
        self.handle = ctypes.c_void_p()
        driver.check("cuStreamCreate", ctypes.byref(self.handle), 1)

    @property
    def value(self):
        return self.handle.value

    def synchronize(self):
        driver.check("cuStreamSynchronize", self.handle)

    def captured(self, work):
        """A function that puts the work into the stream again; in a rehearsal the work itself."""
        if REHEARSAL:
            return work
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        driver.check("cuStreamBeginCapture_v2", self.handle, 2)
        try:
            work()
        finally:
            driver.check("cuStreamEndCapture", self.handle, ctypes.byref(graph))
        driver.check("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        return lambda: driver.check("cuGraphLaunch", ready, self.handle)

    def elapsed(self, work):
        """Seconds that the device spends on it, after one run that does not count: while that runs, the host launches
        the next."""
        if REHEARSAL:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        events = [ctypes.c_void_p() for _ in range(2)]
        milliseconds = ctypes.c_float()
        for event in events:
            driver.check("cuEventCreate", ctypes.byref(event), 0)
        work()
        driver.check("cuEventRecord", events[0], self.handle)
        work()
        driver.check("cuEventRecord", events[1], self.handle)
        driver.check("cuEventSynchronize", events[1])
        driver.check("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        for event in events:
            driver.check("cuEventDestroy_v2", event)
        return milliseconds.value / 1e3

    def seconds(self, work):
        """The median time."""
        return statistics.median(self.elapsed(work) for _ in range(ROUNDS))


def collect(entries, **more):
    """The entries as a list, which is printed after each: what was measured before a script fails, or is stopped, is
    not lost."""
    results = []
    for entry in entries:
        results.append(entry)
        print(json.dumps({**more, "results": results}), flush=True)
    return {**more, "results": results}


def finish(found, passed=True):
    """Ends a script: the last line is JSON."""
    print(json.dumps(found), flush=True)
    sys.exit(0 if passed else 1)
