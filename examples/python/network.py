"""A two-layer network with explicit gradients, in NumPy: 1000 inputs, 100 hidden units, 10 outputs, batches of 64.

    python examples/python/network.py [--dtype float32] [--steps 500] [--quick]

Prints the loss, the time of a step, and a hash of the weights. To take the products from Diptych, with the
same weights on every CPU level and with any number of threads:

    python -m diptych.preload examples/python/network.py
"""

import argparse
import hashlib
import time

import numpy as np

SAMPLES, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
RATE = 1e-6


class Network:
    """The data, the weights, and the arrays that every step writes."""

    def __init__(self, dtype):
        random = np.random.default_rng(1)

        def normal(*shape):
            return random.standard_normal(shape).astype(dtype)

        def empty(*shape):
            return np.empty(shape, dtype)

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--quick", action="store_true", help="50 steps")
    options = parser.parse_args()

    network = Network(options.dtype)
    first = network.step()
    times = []
    for _ in range(49 if options.quick else max(options.steps - 1, 1)):
        start = time.perf_counter()
        last = network.step()
        times.append(time.perf_counter() - start)
    print(f"loss {first:.6g} -> {last:.6g}")
    print(f"step {np.median(times) * 1e6:.1f} us")
    print(f"weights {network.weights()}")


if __name__ == "__main__":
    main()
