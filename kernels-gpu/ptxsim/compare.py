#!/usr/bin/env python3
"""Calls every operation of libdiptych on the CPU and on the device that ptxsim simulates, and compares the bits.

    LD_LIBRARY_PATH=SIMULATOR python3 compare.py --library libdiptych.so --header diptych.h [--seed 1]
        [--seconds 60 | --fixed [--part 0/2] | --large] [--ops REGEX] [--only INDEX]

`cargo xtask ptx --run` runs this. A case depends only on the seed and its index: `--seed S --only I` repeats it, given
the same PTXSIM_* variables. `--fixed` runs a list of edge cases, `--large` a few large ones, which take long; otherwise
cases are random, until as many seconds of CPU time have passed as `--seconds` says.
"""
import argparse
import collections
import ctypes
import os
import random
import re
import sys
import time

import calls
import edges
import header
from arrays import MODES, Arr, difference
from cases import WEIGHTS, Epilogue, arguments
from tensors import Tensor


def describe(name, t, args):
    """A call as text. Of arrays it has the elements, * for outputs, and the shift."""
    parts = []
    for v in args:
        if isinstance(v, Arr): parts.append(f"[{v.span}{'*' if v.out else ''} shift {v.shift}]")
        elif isinstance(v, Epilogue): parts.append(f"(flags {v.flags} bias {v.kind} inc {v.inc} lo {v.lo} hi {v.hi})")
        elif isinstance(v, ctypes.Array): parts.append(str(list(v)))
        else: parts.append(str(v))
    suffix = "" if any(isinstance(v, Tensor) for v in args) else ("_f32", "_f64")[t]
    return f"dpt_{name}{suffix}({', '.join(parts)})"


class Run:
    def __init__(self, options):
        self.options = options
        self.sides = calls.Sides(options.library)
        operations = header.operations(options.header)
        self.operations = {n: op for n, op in operations.items() if re.search(options.ops, n)}
        self.statuses = collections.Counter()
        self.calls = self.elements = 0
        self.bad, self.slow = [], []
        listed = edges.fixed(operations) if options.fixed else edges.large(operations) if options.large else None
        self.cases = listed and [(op, k, t) for i, (op, k) in enumerate(listed) for t in self.types(op, k, i)]

    def types(self, op, keywords, i):
        """The types of case i of a list: its own; or f32, f64, and of the 16-bit floats and the integers, which share
        kernels, one in turn."""
        if op not in self.operations.values(): return ()
        if "t" in keywords: return keywords["t"],
        every = header.types(op)
        halves, whole = every[2:4], every[4:]
        others = [t for pair in zip(2 * halves, whole) for t in pair] or halves
        return *every[:2], *others[i % max(len(others), 1):][:1]

    def indices(self):
        o = self.options
        if o.only is not None: return [o.only]
        if self.cases is None: return range(1 << 60)
        part, parts = map(int, o.part.split("/"))
        return range(part, len(self.cases), parts)

    def case(self, r, index):
        """The operation, the keywords for its maker, and the type."""
        if self.cases is not None: return self.cases[index]
        operations = list(self.operations.values())
        op = r.choices(operations, [WEIGHTS.get(op.family, 1) for op in operations])[0]
        return op, {}, r.choice(header.types(op))

    def one(self, index):
        """Makes a call on both backends, and returns a list of failures."""
        o = self.options
        r = random.Random(f"{o.seed}:{index}")
        op, keywords, t = self.case(r, index)
        mode = keywords.get("mode", r.choice(MODES))
        Arr.aligned = keywords.get("aligned", r.random() < 0.4)
        keywords = {k: v for k, v in keywords.items() if k not in ("mode", "aligned", "t")}
        args, exact = arguments(op, r, t, mode, **keywords)
        self.sides.sim.ptxsim_seed(o.seed * 1000003 + index)
        began = time.process_time()
        cpu = self.sides.call(op.name, t, args, False, r)
        gpu = self.sides.call(op.name, t, args, True, r)
        text = describe(op.name, t, args)
        self.slow = max(self.slow, [time.process_time() - began, text])
        self.calls += 1
        self.statuses[cpu[0]] += 1
        wrong = list(gpu[3])
        if cpu[0] != gpu[0]: wrong.append(f"status {cpu[0]} ({cpu[2]}) on the CPU, {gpu[0]} ({gpu[2]}) on the device")
        for (a, c), (_, g) in zip(cpu[1], gpu[1]):
            if not a.out: continue
            self.elements += a.span
            strict = a.index or exact is True or (exact == "last" and a is args[-1])
            found = difference(a, c, g, strict)
            if found: wrong.append(found)
        if wrong:
            option = " --fixed" if o.fixed else " --large" if o.large else ""
            print(f"DIFFERS --seed {o.seed} --only {index}{option}, mode {mode}: {text}")
            for w in wrong[:4]: print("   ", w)
            sys.stdout.flush()
        return wrong

    def all(self):
        o = self.options
        if o.fixed and o.only is None:
            for wrong in calls.others(self.sides):
                print("DIFFERS", wrong)
                self.bad.append(-1)
        for index in self.indices():
            if self.cases is None and o.only is None and time.process_time() > o.seconds: break
            if self.one(index): self.bad.append(index)
            if len(self.bad) > 40:
                print("too many failures")
                break


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--library", required=True)
    p.add_argument("--header", required=True)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--ops", default=".")
    p.add_argument("--only", type=int)
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--large", action="store_true")
    p.add_argument("--part", default="0/1")
    run = Run(p.parse_args())
    run.all()
    sim, variable = run.sides.sim, lambda name, default: os.environ.get("PTXSIM_" + name, default)
    print(f"{variable('SMS', 'all')} multiprocessors, {variable('SCHEDULE', 'random')}, seed {run.options.seed}: "
          f"{run.calls} calls, {run.elements} elements, {len(run.bad)} calls differ; statuses {dict(run.statuses)}; "
          f"{sim.ptxsim_launches()} launches, {sim.ptxsim_steps() / 1e6:.0f} M instructions, "
          f"{time.process_time():.0f} s")
    if not run.calls: print("no case calls these operations")
    if run.slow: print(f"  slowest call, {run.slow[0]:.1f} s: {run.slow[1]}")
    return 1 if run.bad or not run.calls else 0


if __name__ == "__main__":
    sys.exit(main())
