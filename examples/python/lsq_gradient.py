"""The gradient of least squares, 2 A^T (A x - y), by hand and by automatic differentiation; A is 10 d by d.

    python examples/python/lsq_gradient.py [--quick] [--chart lsq_gradient.svg]

NumPy and PyTorch by hand read A twice, and so do PyTorch's and HIPS autograd's automatic gradients of
sum((A x - y)^2). diptych.lsq_grad reads it once.
"""

import common
import diptych
import numpy as np


def case(a, x, y, torch, autograd):
    calls = {"NumPy": lambda: 2 * (a.T @ (a @ x - y))}
    if autograd:
        import autograd.numpy as anp

        gradient = autograd.grad(lambda x: anp.sum((a @ x - y) ** 2))
        calls["HIPS autograd"] = lambda: gradient(x)
    if torch:
        ta, tx, ty = (torch.from_numpy(array) for array in (a, x, y))
        variable = tx.clone().requires_grad_()

        def automatic():
            loss = ((ta @ variable - ty) ** 2).sum()
            return torch.autograd.grad(loss, variable)[0]

        calls["torch by hand"] = lambda: 2 * (ta.T @ (ta @ tx - ty))
        calls["torch autograd"] = automatic
    calls["diptych.lsq_grad"] = lambda: diptych.lsq_grad(a, x, y)
    return common.Case(str(a.dtype), a.shape[1], calls, tolerance=1e-4)


def cases(quick, torch, autograd):
    random = np.random.default_rng(1)
    for dtype in ("float32", "float64"):
        for d in (3, 30, 100) if quick else (3, 10, 30, 100, 300, 1000):
            a, x, y = (random.standard_normal(shape).astype(dtype) for shape in ((10 * d, d), d, 10 * d))
            yield case(a, x, y, torch, autograd)


def main():
    options = common.arguments(__doc__)
    torch, autograd = common.optional("torch"), common.optional("autograd")
    common.machine(np, torch, diptych)
    done = common.measure(cases(options.quick, torch, autograd), options, 6 if options.quick else 12)
    common.table(done)
    common.chart(done, options, "2 A^T (A x - y), A of 10 d by d, us over d")


if __name__ == "__main__":
    main()
