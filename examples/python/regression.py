"""Linear regression: the loop of nn.Linear, the mean squared error and SGD, in four ways.

    python examples/python/regression.py [--quick] [--chart regression.svg]

A step computes predictions, loss and gradients of 1000 samples, and changes weights and bias. PyTorch's loop is
that of its tutorials; `diptych.torch` takes the place of two of its functions; NumPy and Diptych have the
gradients written out.
"""

import common
import diptych
import numpy as np

SAMPLES, RATE = 1000, 1e-3


def with_numpy(x, y, w, b):
    def step():
        error = x @ w.T + b - y
        loss = np.square(error).mean()
        error *= 2 / len(x)
        w[...] -= RATE * (error.T @ x)
        b[...] -= RATE * error.sum(axis=0)
        return loss, w, b

    return step


def with_diptych(x, y, w, b):
    pred = np.empty_like(y)
    gradient_b = np.empty_like(b)
    rate = -RATE / len(x)

    def step():
        diptych.gemm(x, w.T, pred, bias=b)
        # The sum of the squares, and 2 * (pred - y) in the place of pred.
        loss, gradient = diptych.mse_grad(pred, y, out=pred)
        diptych.gemm(gradient.T, x, w, alpha=rate, beta=1)
        diptych.axpy(rate, diptych.sum(gradient, axis=0, out=gradient_b), b)
        return loss / len(x), w, b

    return step


def with_torch(torch, x, y, w, b, linear, mse_loss):
    x, y, w, b = (torch.from_numpy(array) for array in (x, y, w, b))
    model = torch.nn.Linear(x.shape[1], 1, dtype=x.dtype)
    model.weight.data, model.bias.data = w, b
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def step():
        optimizer.zero_grad()
        pred = linear(x, model.weight, model.bias) if linear else model(x)
        loss = mse_loss(pred, y)
        loss.backward()
        optimizer.step()
        return loss, w, b

    return step


def cases(quick, torch):
    random = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        for inputs in (1, 100) if quick else (1, 10, 100, 1000):
            x = random.standard_normal((SAMPLES, inputs)).astype(dtype)
            noise = random.standard_normal((SAMPLES, 1))
            y = (x.sum(axis=1, keepdims=True) + 0.1 * noise).astype(dtype)

            def parameters():
                return np.zeros((1, inputs), dtype), np.zeros(1, dtype)

            calls = {"NumPy": with_numpy(x, y, *parameters())}
            if torch:
                import diptych.torch as dt

                functions = torch.nn.functional
                calls["nn.Linear"] = with_torch(torch, x, y, *parameters(), None, functions.mse_loss)
                calls["diptych.torch"] = with_torch(torch, x, y, *parameters(), dt.linear, dt.mse_loss)
            calls["diptych"] = with_diptych(x, y, *parameters())
            yield common.Case(dtype, inputs, calls, tolerance=1e-4)


def main():
    options = common.arguments(__doc__)
    torch = common.optional("torch")
    common.machine(np, torch, diptych)
    done = common.measure(cases(options.quick, torch), options, 4 if options.quick else 8)
    common.table(done)
    common.chart(done, options, f"A step of linear regression, {SAMPLES} samples, us over the number of inputs")


if __name__ == "__main__":
    main()
