"""The targets of the benches on an H200 and what was reached, as a table of ratios within one run."""

OF_COPY = 0.92


def time(entry, name):
    return entry["times"].get(name, {}).get("seconds")


def over(entry, *peers):
    """The speed relative to the fastest of these peers."""
    times = [time(entry, peer) for peer in peers if time(entry, peer)]
    return min(times) / time(entry, "diptych") if times else None


def entries(parts, script, **wanted):
    found = (parts.get(script) or {}).get("found") or {}
    has = lambda entry: all(entry.get(key) == value for key, value in wanted.items())
    return [entry for entry in found.get("results", []) if has(entry)]


def at_bandwidth(parts):
    """Name, target and ratio of operations that should run at the bandwidth of a copy, at the largest size."""
    for script in ("memory", "outer"):
        timed = [entry for entry in entries(parts, script) if "of_copy" in entry]
        largest = max((entry["MiB"] for entry in timed), default=0)
        for entry in (entry for entry in timed if entry["MiB"] > largest / 2):
            yield f"{entry['op']} {entry['type']}, {entry['MiB']:g} MiB, of copy bandwidth", OF_COPY, entry["of_copy"]


def small_outer(parts):
    for entry in entries(parts, "outer", op="batch of outer"):
        yield f"batch of outer {entry['type']}, n = {entry['n']}, over torch.bmm", 2.0, over(entry, "torch.bmm")


def products(parts):
    peaks = ((parts.get("peaks") or {}).get("found") or {}).get("fma_per_second") or {}
    square = entries(parts, "products", name="square")
    largest = max((entry["shape"][0] for entry in square), default=0)
    for entry in square:
        if entry["shape"][0] < largest:
            continue
        kind = entry["type"]
        name = f"gemm {kind} {'x'.join(map(str, entry['shape']))}"
        yield f"{name}, over cublasLt", 0.9, over(entry, "cublasLt")
        if kind == "f64" and kind in peaks:
            rate = entry["flop"] / 2 / time(entry, "diptych")
            yield f"{name}, of the fma peak", 0.9, rate / peaks[kind]
    for entry in entries(parts, "products"):
        if entry["name"] != "square":
            name = f"gemm {entry['type']} {entry['name']}, {entry['shape']}"
            yield f"{name}, of copy bandwidth", OF_COPY, entry["of_copy"]
            yield f"{name}, over cublasLt", 1.5, over(entry, "cublasLt")


def rest(parts):
    step = (parts.get("step") or {}).get("found")
    if step:
        mine = time({"times": step["captured"]}, "diptych")
        eager = min(step["eager_seconds"][name] for name in ("written out", "autograd"))
        yield "network step as a graph, over eager PyTorch", 3.0, eager / mine
    calls = (parts.get("calls") or {}).get("found")
    if calls:
        # Of the same machine's bare launch, which is most of a call.
        launch = calls["driver_seconds"]["cuLaunchKernel"]
        for name, seconds in calls["host_seconds"].items():
            yield f"host cost of a small {name}, bare cuLaunchKernel / cost", 0.9, launch / seconds
        for name, kinds in calls["launches"].items():
            yield f"launches of a small {name}, 1 / count", 1.0, 1 / max(1, len(kinds))


def targets(parts):
    """All targets: name, the ratio to reach, and the ratio reached (None if there is none)."""
    for group in (at_bandwidth, small_outer, products, rest):
        yield from group(parts)


def details(parts):
    """What is no ratio: the costs of loading and of calls, and the fastest product kernels of each shape."""
    found = lambda name: (parts.get(name) or {}).get("found") or {}
    loading, calls, package = found("loading"), found("calls"), found("package")
    if loading:
        times = ", ".join(f"{name} {value}" for name, value in loading["total_ms"].items())
        yield f"loading, ms: {times}; spilled: {loading['spilled'] or 'none'}; refused: {loading['refused'] or 'none'}"
    for key in ("host_seconds", "automatic_seconds", "driver_seconds"):
        if key in calls:
            yield f"{key}, us: " + ", ".join(f"{name} {1e6 * value:.2f}" for name, value in calls[key].items())
    if "host_seconds" in package:
        costs = package["host_seconds"].items()
        yield "calls of the Python package, us: " + ", ".join(f"{name} {1e6 * value:.2f}" for name, value in costs)
    shapes = {}
    for entry in found("tiles").get("results", []):
        key = f"{entry['kernel'].split()[0][-3:]} {'x'.join(map(str, entry['shape']))}"
        shapes.setdefault(key, []).append(entry)
    for shape, tried in shapes.items():
        best = sorted(tried, key=lambda entry: entry["us"])[:4]
        each = (f"{e['kernel'][5:]} {e['tflops']:.2f} ({e.get('regs')} registers, {e.get('blocks')} blocks)" for e in best)
        yield f"product {shape}, TFLOP/s: " + ", ".join(each)
    if found("tiles").get("differing"):
        yield f"product kernels with other bits: {found('tiles')['differing']}"


def table(results):
    """The results as Markdown."""
    machine = results["machine"]
    lines = ["# Diptych on a GPU", ""]
    if machine["rehearsal"]:
        lines += ["**A rehearsal: no GPU, and no figure here was measured.**", ""]
    lines += [f"- {key}: {value}" for key, value in machine.items()]
    lines += [f"- {name}: {part['status']}" for name, part in results["parts"].items()]
    dmma = (results["parts"].get("dmma") or {}).get("found") or {}
    for name, shape in dmma.get("shapes", {}).items():
        orders = "; ".join(shape["same_bits"]) or "no known order"
        found = "rehearsal" if machine["rehearsal"] else f"{shape['flops'] / 1e12:.1f} TFLOP/s, the bits of: {orders}"
        lines += [f"- f64 tensor cores, {name}: {found}"]
    lines += [f"- {line}" for line in details(results["parts"])]
    lines += ["", "| Work | Target | Reached | |", "|---|---|---|---|"]
    for name, wanted, reached in targets(results["parts"]):
        if reached is None or machine["rehearsal"]:
            lines.append(f"| {name} | {wanted} | | {'no peer' if reached is None else 'rehearsal'} |")
        else:
            lines.append(f"| {name} | {wanted} | {reached:.3f} | {'hit' if reached >= wanted else 'miss'} |")
    return "\n".join(lines) + "\n"
