"""What the examples share: options, timing in turn, tables, charts. To be imported before NumPy."""

import argparse
import datetime
import importlib
import os
import platform
import statistics
import time
from dataclasses import dataclass, field

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

LIBRARIES = {"torch": "PyTorch", "autograd": "HIPS autograd", "matplotlib": "matplotlib", "diptych": "Diptych"}


@dataclass
class Case:
    """Calls that compute the same: the group and the size are its row, the calls' names the columns."""

    group: str
    size: int | str
    calls: dict
    tolerance: float = 1e-5
    times: dict = field(default_factory=dict)


def optional(name):
    """Imports a module. Where it is not installed, says what is left out and returns None."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        print(f"Left out: {LIBRARIES.get(name, name)} is not installed.")
        return None
    if name == "torch":
        module.set_num_threads(1)
    return module


def arguments(doc, *more):
    """Reads the options; `more` are further ones, each a name and what add_argument takes."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few seconds: fewer sizes and rounds")
    parser.add_argument("--chart", metavar="FILE.svg", help="draw the times with matplotlib")
    for name, options in more:
        parser.add_argument(name, **options)
    return parser.parse_args()


def machine(*modules):
    """Says where the times come from."""
    processor = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            processor = next((line.split(": ")[1].strip() for line in file if line.startswith("model name")), processor)
    versions = [
        f"{LIBRARIES.get(m.__name__, 'NumPy')} {m.__version__.split('+')[0]}"
        for m in modules
        if hasattr(m, "__version__")
    ]
    print(f"{processor}, Python {platform.python_version()}, {', '.join(versions)}, {datetime.date.today()}")


def progress(items, total=None):
    """Shows how far a loop is on stderr, if it takes more than two seconds and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    return tqdm(items, total=total, delay=2, leave=False)


def values(result):
    """Returns what a call has computed, as arrays of NumPy."""
    results = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(r.detach() if hasattr(r, "detach") else r).astype(np.float64) for r in results]


def check(case):
    """Stops unless all calls of a case have the same results."""
    expected = None
    for name, call in case.calls.items():
        found = values(call())
        expected = expected or found
        for one, other in zip(expected, found, strict=True):
            off = np.abs(one - other).max(initial=0) / max(np.abs(one).max(initial=0), 1e-30)
            if one.shape != other.shape or not off <= case.tolerance:
                raise SystemExit(f"{case.group} {case.size}: {name} is off by {off:.1e}")


def per_call(call, seconds, first=1):
    """Returns the time of a call in us, and how many calls fill the given time."""
    count = first
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - begin
        if took > seconds / 2:
            return took / count * 1e6, count
        count = max(count * 2, int(count * seconds / max(took, 1e-7)))


def measure(cases, options, total=None):
    """Checks and times the cases, their calls in turn; a time is the median of the rounds."""
    rounds, seconds = (3, 0.001) if options.quick else (11, 0.006)
    done = []
    for case in progress(cases, total):
        check(case)
        counts = {name: per_call(call, seconds)[1] for name, call in case.calls.items()}
        samples = {name: [] for name in case.calls}
        for _ in range(rounds):
            for name, call in case.calls.items():
                samples[name].append(per_call(call, seconds, counts[name])[0])
        case.times = {name: statistics.median(times) for name, times in samples.items()}
        case.calls = {}
        done.append(case)
    return done


def table(cases):
    """Prints the times in us, and the best time of the others over the best of Diptych."""
    names = list(dict.fromkeys(name for case in cases for name in case.times))
    rows = [["us", *names, "times faster"]]
    for case in cases:
        mine = [t for name, t in case.times.items() if "diptych" in name]
        others = [t for name, t in case.times.items() if "diptych" not in name]
        ratio = f"{min(others) / min(mine):.2f}" if mine and others else ""
        row = [f"{case.group} {case.size}".strip()]
        rows.append([*row, *(f"{case.times[name]:.4g}" if name in case.times else "" for name in names), ratio])
    print_rows(rows)


def print_rows(rows):
    """Prints a table in Markdown, whose first row is the head and whose first column has names."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    for row in rows:
        cells = [text.ljust(width) if i == 0 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths))]
        print(f"| {' | '.join(cells)} |")


def chart(cases, options, title):
    """Draws the times, a panel for each group: lines over the size, or bars if there is one size."""
    if not options.chart or not optional("matplotlib"):
        return
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "diptych", "font.size": 9})
    import matplotlib.pyplot as plt

    groups = list(dict.fromkeys(case.group for case in cases))
    names = list(dict.fromkeys(name for case in cases for name in case.times))
    over_sizes = not isinstance(cases[0].size, str)
    height = 3.6 if over_sizes else 1.2 + 0.22 * len(names)
    figure, panels = plt.subplots(1, len(groups), figsize=(1.4 + 3.5 * len(groups), height), sharey=True, squeeze=False)
    for panel, group in zip(panels[0], groups):
        members = [case for case in cases if case.group == group]
        if over_sizes:
            for name in names:
                points = [(case.size, case.times[name]) for case in members if name in case.times]
                panel.loglog(*zip(*points), marker=".", label=name)
        else:
            times = {name: t for case in members for name, t in case.times.items()}
            panel.barh(list(times), list(times.values()), color=["C2" if "diptych" in name else "C0" for name in times])
            panel.set_xscale("log" if max(times.values()) > 100 * min(times.values()) else "linear")
            panel.set_xlabel("us")
        panel.set_title(group)
        panel.grid(alpha=0.3)
    if over_sizes:
        panels[0][0].set_ylabel("us")
        panels[0][0].legend(frameon=False)
    else:
        panels[0][0].invert_yaxis()
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(options.chart, metadata={"Date": None})
    print(f"Chart: {options.chart}")
