"""A two-layer network with explicit gradients: 1000 inputs, 100 hidden units, 10 outputs, batches of 64.

    python examples/python/network.py [--quick] [--chart network.svg]

Compares a step in NumPy, PyTorch and Diptych, and in NumPy whose products come from Diptych (diptych.preload).
The network in NumPy runs alone too, and prints the loss, the time of a step, and a hash of the weights, which
under diptych.preload is the same on every CPU level and with any number of threads:

    python -m diptych.preload examples/python/network.py --only numpy [--dtype float32] [--steps 500]
"""

import hashlib
import os
import statistics
import subprocess
import sys
import time

import common
import numpy as np

SAMPLES, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
RATE = 1e-6


class Network:
    """The data, the weights, and the arrays that every step writes; its step is NumPy's."""

    def __init__(self, dtype, convert=lambda array: array):
        random = np.random.default_rng(1)

        def normal(*shape):
            return convert(random.standard_normal(shape).astype(dtype))

        def empty(*shape):
            return convert(np.empty(shape, dtype))

        self.x, self.y = normal(SAMPLES, INPUTS), normal(SAMPLES, OUTPUTS)
        self.w1, self.w2 = normal(INPUTS, HIDDEN), normal(HIDDEN, OUTPUTS)
        self.hidden, self.relu = empty(SAMPLES, HIDDEN), empty(SAMPLES, HIDDEN)
        self.error = empty(SAMPLES, OUTPUTS)
        self.grad_w1, self.grad_w2 = empty(INPUTS, HIDDEN), empty(HIDDEN, OUTPUTS)
        self.grad_hidden = empty(SAMPLES, HIDDEN)

    def step(self):
        """Makes a step of gradient descent, in place; returns the loss."""
        np.matmul(self.x, self.w1, out=self.hidden)
        np.maximum(self.hidden, 0, out=self.relu)
        np.matmul(self.relu, self.w2, out=self.error)
        self.error -= self.y
        loss = np.square(self.error).sum()

        self.error *= 2
        np.matmul(self.relu.T, self.error, out=self.grad_w2)
        np.matmul(self.error, self.w2.T, out=self.grad_hidden)
        self.grad_hidden *= self.hidden > 0
        np.matmul(self.x.T, self.grad_hidden, out=self.grad_w1)

        self.grad_w1 *= RATE
        self.grad_w2 *= RATE
        self.w1 -= self.grad_w1
        self.w2 -= self.grad_w2
        return loss

    def weights(self):
        """Returns a hash of the weights, which differs if one bit does."""
        digest = hashlib.sha256(self.w1.tobytes() + self.w2.tobytes())
        return digest.hexdigest()[:16]


def step_of_diptych(net):
    """A step of the same network on Diptych's functions, in fewer passes."""
    import diptych

    diptych.matmul(net.x, net.w1, out=net.hidden)
    diptych.clip(net.hidden, 0, out=net.relu)
    diptych.matmul(net.relu, net.w2, out=net.error)
    # The loss, and 2 * (error - y) in the place of error.
    loss, _ = diptych.mse_grad(net.error, net.y, out=net.error)

    diptych.matmul(net.error, net.w2.T, out=net.grad_hidden)
    diptych.clip_backward(net.hidden, net.grad_hidden, 0, out=net.grad_hidden)
    # w -= RATE * gradient, without the gradient in between.
    diptych.gemm(net.relu.T, net.error, net.w2, alpha=-RATE, beta=1)
    diptych.gemm(net.x.T, net.grad_hidden, net.w1, alpha=-RATE, beta=1)
    return loss


def step_of_torch(torch, net):
    """A step of the same network on tensors, with PyTorch's functions."""
    torch.mm(net.x, net.w1, out=net.hidden)
    torch.clamp(net.hidden, min=0, out=net.relu)
    torch.mm(net.relu, net.w2, out=net.error)
    net.error -= net.y
    loss = net.error.square().sum()

    net.error *= 2
    torch.mm(net.relu.T, net.error, out=net.grad_w2)
    torch.mm(net.error, net.w2.T, out=net.grad_hidden)
    net.grad_hidden *= net.hidden > 0
    torch.mm(net.x.T, net.grad_hidden, out=net.grad_w1)

    net.w1.sub_(net.grad_w1, alpha=RATE)
    net.w2.sub_(net.grad_w2, alpha=RATE)
    return loss


def case(dtype, torch, diptych):
    numpy = Network(dtype)
    calls = {"NumPy": lambda: (numpy.step(), numpy.w1, numpy.w2)}
    if torch:
        theirs = Network(dtype, torch.from_numpy)
        calls["PyTorch"] = lambda: (step_of_torch(torch, theirs), theirs.w1, theirs.w2)
    if diptych:
        ours = Network(dtype)
        calls["diptych"] = lambda: (step_of_diptych(ours), ours.w1, ours.w2)
    return common.Case(dtype, "", calls, tolerance=1e-4)


def preloaded(dtype, options):
    """Returns the time of a step in another process, whose NumPy takes its products from Diptych."""
    steps = "50" if options.quick else "500"
    command = [sys.executable, "-m", "diptych.preload", __file__, "--only", "numpy", "--dtype", dtype, "--steps", steps]
    run = subprocess.run(command, env={**os.environ, "DIPTYCH_THREADS": "1"}, capture_output=True, text=True)
    for line in run.stdout.splitlines():
        if line.startswith("step "):
            return float(line.split()[1])
    print(f"Left out: NumPy on Diptych ({run.stderr.strip().splitlines()[-1]})")
    return None


def train(dtype, steps):
    """Trains the network in NumPy alone."""
    network = Network(dtype)
    first = network.step()
    times = []
    for _ in range(max(steps - 1, 1)):
        begin = time.perf_counter()
        last = network.step()
        times.append(time.perf_counter() - begin)
    print(f"loss {first:.6g} -> {last:.6g}")
    print(f"step {statistics.median(times) * 1e6:.1f} us")
    print(f"weights {network.weights()}")


def main():
    options = common.arguments(
        __doc__,
        ("--only", {"choices": ["numpy"], "help": "train the network in NumPy, and compare nothing"}),
        ("--dtype", {"choices": ["float32", "float64"], "default": "float32", "help": "with --only"}),
        ("--steps", {"type": int, "default": 500, "help": "with --only"}),
    )
    if options.only:
        return train(options.dtype, options.steps)
    torch, diptych = common.optional("torch"), common.optional("diptych")
    common.machine(np, torch, diptych)
    done = common.measure((case(dtype, torch, diptych) for dtype in ("float32", "float64")), options, 2)
    for one in done if diptych else []:
        times = [preloaded(one.group, options) for _ in range(1 if options.quick else 5)]
        if None not in times:
            one.times["NumPy on diptych"] = statistics.median(times)
    common.table(done)
    common.chart(done, options, "A step of a two-layer network, us")


if __name__ == "__main__":
    main()
