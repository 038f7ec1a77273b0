#!/usr/bin/env python3
"""Merges the coverage files that PTXSIM_COVERAGE asks for: which kernels were launched, and how many of their
instructions were executed. Fails if a kernel of the manifest was not launched, or if there were faults.

    coverage.py FOLDER MANIFEST.toml
"""
import collections
import glob
import re
import sys


def main():
    manifest = open(sys.argv[2]).read().split("[entries]")[1]
    entries = re.findall(r"^(\w+) = ", manifest, re.M)
    launches, total = collections.Counter(), collections.Counter()
    seen, guarded = {}, {}
    for path in glob.glob(sys.argv[1] + "/*.cov"):
        for line in open(path):
            if line[0] == "#":
                words = line[1:].split()
                for key, value in zip(words[::2], words[1::2]): total[key] += int(value)
                continue
            name, count, _, text = line.split()
            launches[name] += int(count)
            guarded[name] = [c >= "a" for c in text]
            bits = [ord(c) - (97 if g else 65) for c, g in zip(text, guarded[name])]
            seen[name] = [a | b for a, b in zip(seen.get(name, bits), bits)]
    executed = sum(v & 1 for bits in seen.values() for v in bits[:-1])
    instructions = sum(len(bits) - 1 for bits in seen.values())
    taken = sum((v >> 1 & 1) + (v >> 2 & 1) for n, bits in seen.items() for v, g in zip(bits, guarded[n]) if g)
    branches = sum(flags.count(True) for flags in guarded.values())
    print(f"{sum(1 for n in entries if launches[n])} of {len(entries)} entries launched, {executed} of {instructions} "
          f"instructions executed ({100 * executed / instructions:.2f} %), {taken} of {2 * branches} directions of "
          f"conditional branches taken")
    print("  " + ", ".join(f"{value:,} {key}" for key, value in total.items()))
    shares = sorted((100 * sum(v & 1 for v in bits[:-1]) / (len(bits) - 1), name) for name, bits in seen.items())
    print("  least executed: " + ", ".join(f"{name} {share:.1f} %" for share, name in shares[:8]))
    missing = [n for n in entries if not launches[n]]
    if missing: print(f"NOT LAUNCHED by any case: {', '.join(missing)}")
    return 1 if missing or total["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
