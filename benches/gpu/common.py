"""Shared code of the scripts that need only the driver: sizes, arrays, timing, graphs, and the output of a script.

In a rehearsal, times are those of the host and nothing is captured: all code runs, but no figure means anything.
`DIPTYCH_QUICK` selects small sizes and few rounds."""
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
    """A device array with these values."""
    host = (kind * len(values))(*values)
    return Device(ctypes.sizeof(host)).upload(host)


class Stream:
    """A non-blocking stream in the library's context."""

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
        """Captures the work as a graph; returns a function that launches it, or in a rehearsal the work itself."""
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
        """Seconds that the device spends on the work. An untimed run comes first, during which the host queues the
        timed one."""
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
        """The median of the times of all rounds."""
        return statistics.median(self.elapsed(work) for _ in range(ROUNDS))


def collect(entries, **more):
    """Collects the entries in a list, and prints it after each, so that a script that fails or is stopped does not lose
    what it has measured."""
    results = []
    for entry in entries:
        results.append(entry)
        print(json.dumps({**more, "results": results}), flush=True)
    return {**more, "results": results}


def finish(found, passed=True):
    """Ends a script: prints the result as its last line, in JSON."""
    print(json.dumps(found), flush=True)
    sys.exit(0 if passed else 1)
