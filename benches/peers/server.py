"""NumPy and PyTorch for `cargo xtask bench --peers`: reads a JSON request per line and writes a JSON response.

{"do": "hello"}                                         returns the libraries that can be imported
{"do": "prepare", "op", "form", "dtype", "m", ...}      makes the operands; returns which libraries have it
{"do": "time", "library", "iterations", "clock"}        runs it; returns nanoseconds
{"do": "results", "op", "dtype", "files", "shapes"}     returns results for operands from files
"""

import glob
import importlib
import itertools
import json
import os
import sys
import time

THREADS = int(sys.argv[1])
LINE = 64
MODULES = {"NumPy": "numpy", "PyTorch": "torch"}
CLOCKS = {"wall": time.CLOCK_MONOTONIC, "thread": time.CLOCK_THREAD_CPUTIME_ID}


def load():
    """The libraries that can be imported, and why the others cannot."""
    found, missing = {}, {}
    for name, module in MODULES.items():
        try:
            found[name] = importlib.import_module(module)
        except Exception as error:
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing


FOUND, MISSING = load()
np, torch = FOUND.get("NumPy"), FOUND.get("PyTorch")
if torch:
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)


def hello(_):
    """Versions, and the C shared libraries that installed packages contain."""
    libraries = {}
    try:
        import scipy_openblas64 as wheel

        libraries["OpenBLAS"] = os.path.join(wheel.get_lib_dir(), wheel.get_library(True))
    except Exception:
        pass
    for path in glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")):
        libraries["MKL"] = path
    versions = {name: f"{MODULES[name]} {module.__version__}" for name, module in FOUND.items()}
    return {"found": versions, "missing": MISSING, "libraries": libraries}


def aligned(shape, dtype, random):
    """An array aligned to a cache line: any integers, or random magnitudes of 0.7 to 1.4 with either sign."""
    size = int(np.prod(shape))
    memory = np.empty(size * np.dtype(dtype).itemsize + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    array = memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)
    if np.issubdtype(dtype, np.integer):
        ends = np.iinfo(dtype)
        array[:] = random.integers(ends.min, ends.max, size, dtype, endpoint=True)
        return array.reshape(shape)
    random.random(out=array, dtype=dtype)
    array *= 0.7
    array += 0.7
    array *= random.integers(0, 2, size, dtype=np.int8) * 2 - 1
    return array.reshape(shape)


def vectors(op, q, make):
    """Operations on vectors, as functions: (NumPy's, PyTorch's)."""
    n, N, T = q["n"], np, torch
    x, y, out = make(n), make(n), make(n)
    tx, ty, tout = map(tensor, (x, y, out))

    def np_mse():
        np.subtract(x, y, out=out)
        loss = np.dot(out, out)
        np.multiply(out, 2, out=out)
        return loss

    def torch_mse():
        torch.sub(tx, ty, out=tout)
        loss = torch.dot(tout, tout)
        tout.mul_(2)
        return loss

    def np_axpy():
        np.add(out, 1e-6 * x, out=out)

    return {
        "clamp": (lambda: N.clip(x, -1, 1, out=out), lambda: T.clamp(tx, -1, 1, out=tout)),
        "add": (lambda: N.add(x, y, out=out), lambda: T.add(tx, ty, out=tout)),
        "axpy": (np_axpy, lambda: tout.add_(tx, alpha=1e-6)),
        "fill": (lambda: out.fill(1.5), lambda: tout.fill_(1.5)),
        "sum": (lambda: x.sum(), lambda: tx.sum()),
        "asum": (lambda: N.abs(x).sum(), lambda: T.linalg.vector_norm(tx, 1)),
        "nrm2": (lambda: N.linalg.norm(x), lambda: T.linalg.vector_norm(tx)),
        "sumsq": (lambda: N.dot(x, x), lambda: T.dot(tx, tx)),
        "max": (lambda: x.max(), lambda: tx.max()),
        "argmax": (lambda: x.argmax(), lambda: tx.argmax()),
        "var": (lambda: x.var(ddof=1), lambda: tx.var()),
        "dot": (lambda: N.dot(x, y), lambda: T.dot(tx, ty)),
        "mse_grad": (np_mse, torch_mse),
    }.get(op)


def axes(op, q, make):
    """Reductions of the rows or the columns of a row-major matrix."""
    axis, m, n = (1 if q["form"] == "rows" else 0), q["m"], q["n"]
    x, out = make((m, n)), make(m if axis else n)
    tx, tout = tensor(x), tensor(out)

    def np_logsumexp():
        top = x.max(axis, keepdims=True)
        np.log(np.exp(x - top).sum(axis), out=out)
        np.add(out, top.reshape(-1), out=out)

    return {
        "sum": (lambda: x.sum(axis, out=out), lambda: torch.sum(tx, axis, out=tout)),
        "max": (lambda: x.max(axis, out=out), lambda: torch.amax(tx, axis, out=tout)),
        "argmax": (lambda: x.argmax(axis), lambda: tx.argmax(axis)),
        "var": (lambda: x.var(axis, ddof=1, out=out), lambda: tx.var(axis)),
        "logsumexp": (np_logsumexp, lambda: torch.logsumexp(tx, axis, out=tout)),
    }.get(op)


def matrices(op, q, make):
    """Outer products and least squares."""
    m, n = q["m"], q["n"]
    if op == "lsq_grad":
        a, x, y = make((m, n)), make(n), make(m)
        ta, tx, ty = map(tensor, (a, x, y))
        return lambda: 2 * (a.T @ (a @ x - y)), lambda: 2 * (ta.t() @ (ta @ tx - ty))
    x, y, out = make(m), make(n), make((m, n))
    tx, ty, tout = map(tensor, (x, y, out))

    def np_ger():
        np.add(out, np.outer(1e-6 * x, y), out=out)

    return {
        "outer": (lambda: np.outer(x, y, out=out), lambda: torch.outer(tx, ty, out=tout)),
        "ger": (np_ger, lambda: tout.addr_(tx, ty, alpha=1e-6)),
    }.get(op)


def products(op, q, make):
    """Matrix products; B is passed as a vector if n is 1, A if m is 1."""
    m, n, k, form = q["m"], q["n"], q["k"], q["form"]
    if op == "gemm_batched":
        a, b, c = (make((q["batch"], *s)) for s in ((m, k), (k, n), (m, n)))
        ta, tb, tc = map(tensor, (a, b, c))
        return lambda: np.matmul(a, b, out=c), lambda: torch.bmm(ta, tb, out=tc)
    if op not in ("gemm", "matmul"):
        return None
    a = make((k, m)).T if form.endswith("_a") else make((m, k))
    b = make((n, k)).T if form.endswith("_b") else make((k, n))
    c = make((m, n))
    if n == 1:
        b, c = b[:, 0], c[:, 0]
    ta, tb, tc = map(tensor, (a, b, c))
    if m == 1:
        # Only for NumPy: PyTorch cannot write a vector times a matrix to a given vector.
        a, c = a[0], c[0] if n > 1 else c.reshape(())
    return lambda: np.dot(a, b, out=c), lambda: torch.matmul(ta, tb, out=tc)


def network(q, make):
    """A training step of a two-layer network with explicit gradients."""
    samples, inputs, hidden, outputs = q["m"], q["k"], q["n"], q["batch"]
    shapes = (samples, inputs), (samples, outputs), (inputs, hidden), (hidden, outputs)
    x, y, w1, w2 = map(make, shapes)
    tx, ty, tw1, tw2 = (torch.from_numpy(v.copy()) if torch else None for v in (x, y, w1, w2))
    rate = 1e-6

    def np_step():
        nonlocal w1, w2
        h = x.dot(w1)
        relu = np.maximum(h, 0)
        prediction = relu.dot(w2)
        loss = np.square(prediction - y).sum()
        grad_prediction = 2.0 * (prediction - y)
        grad_w2 = relu.T.dot(grad_prediction)
        grad_h = grad_prediction.dot(w2.T)
        grad_h[h < 0] = 0
        grad_w1 = x.T.dot(grad_h)
        w1 -= rate * grad_w1
        w2 -= rate * grad_w2
        return loss

    def torch_step():
        nonlocal tw1, tw2
        h = tx.mm(tw1)
        relu = h.clamp(min=0)
        prediction = relu.mm(tw2)
        loss = (prediction - ty).pow(2).sum()
        grad_prediction = 2.0 * (prediction - ty)
        grad_w2 = relu.t().mm(grad_prediction)
        grad_h = grad_prediction.mm(tw2.t())
        grad_h[h < 0] = 0
        grad_w1 = tx.t().mm(grad_h)
        tw1 -= rate * grad_w1
        tw2 -= rate * grad_w2
        return loss

    return np_step, torch_step


def tensor(array):
    """A PyTorch tensor on the same memory."""
    return torch.from_numpy(array) if torch else None


READY = {}
DTYPES = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64} if np else {}


def prepare(q):
    """Makes the operands and the functions to be timed."""
    READY.clear()
    dtype = DTYPES.get(q["dtype"])
    if not dtype:
        return {"ready": []}
    random = np.random.default_rng(1)

    def make(shape):
        return aligned(shape, dtype, random)

    form = q["form"]
    if form == "network":
        pair = network(q, make)
    elif form == "vector":
        pair = vectors(q["op"], q, make)
    elif form in ("rows", "columns"):
        pair = axes(q["op"], q, make)
    elif form in ("matrix", "tall"):
        pair = matrices(q["op"], q, make)
    else:
        pair = products(q["op"], q, make)
    if pair:
        READY.update((name, run) for name, run in zip(MODULES, pair) if name in FOUND)
    return {"ready": list(READY)}


def timed(q):
    """Times the prepared function, after one untimed run."""
    run, clock = READY[q["library"]], CLOCKS[q["clock"]]
    if q["iterations"] > 1:
        run()
    start = time.clock_gettime_ns(clock)
    for _ in itertools.repeat(None, q["iterations"]):
        run()
    return {"nanoseconds": time.clock_gettime_ns(clock) - start}


def results(q):
    """The results of each library, as float64."""
    if not np:
        return {"results": {}}
    dtype = DTYPES[q["dtype"]]
    files = zip(q["files"], q["shapes"])
    arrays = [np.fromfile(path, dtype).reshape(shape) for path, shape in files]
    operations = {
        "sum": (lambda x: x.sum(), lambda x: x.sum()),
        "dot": (lambda x, y: np.dot(x, y), lambda x, y: torch.dot(x, y)),
        "var": (lambda x: x.var(ddof=1), lambda x: x.var()),
        "std": (lambda x: x.std(ddof=1), lambda x: x.std()),
        "gemm": (lambda a, b: a.dot(b), lambda a, b: a.mm(b)),
    }
    by_numpy, by_torch = operations[q["op"]]
    answers = {"NumPy": np.asarray(by_numpy(*arrays))}
    if torch:
        answers["PyTorch"] = by_torch(*map(torch.from_numpy, arrays)).numpy()
    values = {name: a.astype(np.float64).ravel().tolist() for name, a in answers.items()}
    return {"results": values}


HANDLERS = {"hello": hello, "prepare": prepare, "time": timed, "results": results}


def main():
    # Libraries may print to stdout: redirect it to stderr, and keep the original for responses.
    responses = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            response = HANDLERS[request["do"]](request)
        except Exception as error:
            response = {"error": f"{type(error).__name__}: {error}"}
        responses.write(json.dumps(response) + "\n")


main()
