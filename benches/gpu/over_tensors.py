"""Checks that the functions over tensors have the same bits on the device and on the CPU, for every type of elements
that they take: the fixed cases of the PTX simulator, arrays of more than 2^24 elements, and random ranks, strides and
broadcast axes. Arguments: `small` for a short run (under a sanitizer), in which every call has a workspace and only the
kernels that run are loaded. The last line is JSON."""
import argparse
import collections
import ctypes
import os
import random
import re
import time

import cases
import common
import edges
import header
import matmul
from arrays import BFLOAT, BOOL, FLOAT, INT, MODES, UINT, Arr
from diptych import AUTO, HERE, REHEARSAL, Device, call, cuda
from sides import Call, differences
from tensors import Tensor
from verdict import Verdict

# The seconds of random cases, and of those of a rehearsal, whose emulator is slow.
SECONDS = common.pick(25, 8, 4)
# For the copies that some calls make of the largest tensors, and for what else they need.
WORKSPACE = common.pick(512, 512, 32) << 20
TOO_SMALL = 11
LETTERS = {INT: "i", UINT: "u", FLOAT: "f", BFLOAT: "bf", BOOL: "bool"}
# Products of each list of types with enough tiles of 64 by 64 for 200 multiprocessors: fewer would be smaller ones.
TILED = [dict(shape=(450, 390, 70), types=i) for i in range(len(matmul.TYPES))]
# More elements than a float has whole numbers: vectors, matrices, rows that many blocks share, and axes that cannot be
# merged.
LARGE = {
    "tensors": [dict(shape=[2**24 + 3]), dict(shape=[4099, 4097])],
    "axes": [dict(shape=[2**24 + 5], over=[0]), dict(shape=[3, 5592407], over=[1]), dict(shape=[5592407, 3], over=[0]),
             dict(shape=[4099, 4097], over=[0]), dict(shape=[70, 300, 2, 401], over=[0, 2])],
    "row_maps_over_axes": [dict(shape=[4099, 4097], over=[1]), dict(shape=[4099, 4097], over=[0])],
    "products_over_tensors": [dict(shape=(4099, 4097)), dict(shape=(3, 5592407))],
    "convert": [dict(shape=[2**24 + 3])],
    "matmul": [*TILED, dict(shape=(1030, 515, 4100)), dict(shape=(4099, 4097, 5))],
}


def operations(pattern):
    found = header.operations(os.path.join(HERE, "diptych.h")).values()
    return [one for one in found if header.is_over_tensors(one) and re.search(pattern, one.name)]


def types(operation):
    """The types of elements of an operation. The makers of products and conversions choose several."""
    return [None] if operation.family in ("convert", "matmul") else header.types(operation)


def fixed(chosen):
    """Operation, type, and keywords for its maker."""
    for operation in chosen:
        for keywords in edges.of_family(operation.family):
            for t in types(operation):
                yield operation, t, keywords


def large(chosen):
    """Each shape with one operation and type, which have their turn: most of the time goes into making the elements."""
    turn = 0
    for family, shapes in LARGE.items():
        of_family = [operation for operation in chosen if operation.family == family]
        for keywords in shapes if of_family else ():
            operation = of_family[3 * turn % len(of_family)]
            every = types(operation)
            yield operation, every[5 * turn % len(every)], keywords
            turn += 1


def endless(chosen):
    """Random shapes."""
    index = 0
    while True:
        operation = chosen[index % len(chosen)]
        every = types(operation)
        yield operation, every[index // len(chosen) % len(every)], {}
        index += 1


def small(chosen):
    """Each operation with each of its types, in an order that begins with some of each kind."""
    found = [(operation, t, {}) for operation in chosen for t in types(operation)]
    products = [operation for operation in chosen if operation.family == "matmul"]
    shapes = [dict(types=i) for i in range(len(matmul.TYPES))] + ([] if REHEARSAL else TILED)
    found += [(operation, None, keywords) for operation in products for keywords in shapes]
    random.Random(1).shuffle(found)
    return found


def named(type):
    return LETTERS[type[0]] + str(type[1])


class Run:
    def __init__(self, chosen, is_small):
        self.verdict, self.is_small = Verdict(), is_small
        self.counts = {name: collections.Counter() for name in ("functions", "types", "kinds")}
        self.workspace = Device(WORKSPACE)
        self.kinds = {"small": small(chosen)} if is_small else {
            "fixed": fixed(chosen), "large": large(chosen), "random": endless(chosen)}

    def execution(self, has_workspace, is_automatic=False):
        execution = cuda(0, self.workspace.pointer.value, self.workspace.size) if has_workspace else cuda()
        execution.device = AUTO if is_automatic else execution.device
        return execution

    def both(self, operation, r, arguments, exact):
        """Makes a call on both sides, and yields what differs."""
        host, device = (Call(operation.name, arguments, side) for side in (False, True))
        wanted = host.run()
        if self.is_small:
            status = device.run(self.execution(True))
        else:
            has_workspace, is_automatic = r.random() < 0.5, r.random() < 0.3
            status = device.run(self.execution(has_workspace, is_automatic))
            if status == TOO_SMALL and not has_workspace:
                # The library's own scratch memory has no room for copies of this size.
                status = device.run(self.execution(True, is_automatic))
        if status != wanted:
            yield f"status {wanted} on the CPU, {status} on the device"
        last = getattr(arguments[-1], "array", None)
        is_strict = lambda array: array.index or exact is True or (exact == "last" and array is last)
        yield from differences(host, device, is_strict)

    def one(self, kind, index, operation, t, keywords):
        r = random.Random(f"{kind} {index}")
        mode, Arr.aligned = r.choice(MODES), r.random() < 0.4
        arguments, exact = cases.arguments(operation, r, t or 0, mode, **keywords)
        # As in `tensors`, so that products and conversions are counted for what they were given.
        of = next(argument for argument in arguments if isinstance(argument, Tensor))
        what = " ".join(str(argument) for argument in arguments if isinstance(argument, Tensor))
        self.verdict.compare(
            f"{kind}:{index} {operation.name} {what}"[:500], lambda: self.both(operation, r, arguments, exact))
        self.counts["functions"][operation.name] += 1
        self.counts["types"][named(of.type)] += 1
        self.counts["kinds"][kind] += 1

    def every(self, only):
        for kind, listed in self.kinds.items():
            end = time.monotonic() + SECONDS
            for index, case in enumerate(listed):
                is_over = time.monotonic() > end and (kind == "random" or REHEARSAL)
                if is_over or self.verdict.wrong > Verdict.SHOWN:
                    break
                if only in (None, f"{kind}:{index}"):
                    self.one(kind, index, *case)
            self.verdict.say(**self.counts)
        self.verdict.finish(rehearsal=bool(REHEARSAL), **self.counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=["small"])
    parser.add_argument("--ops", default=".", metavar="REGEX", help="only these functions, which changes the indices")
    parser.add_argument("--only", metavar="KIND:INDEX", help="only this case, as a message names it")
    chosen = parser.parse_args()
    is_small = bool(chosen.part or REHEARSAL)
    if not is_small:
        call("dpt_cuda_preload", None)
    Run(operations(chosen.ops), is_small).every(chosen.only)


if __name__ == "__main__":
    main()
