"""A training step of a two-layer network, (1000, 100, 10) on 64 samples, f32. The library's calls, captured as one
graph, are compared with PyTorch: eager with explicit gradients, eager with autograd, and captured."""
import ctypes

import bench
import torch
from diptych import BIAS_PER_COLUMN, Epilogue, call

from bench import on_stream, pick, pointer

# The learning rate is small, since the bench makes thousands of steps.
RATE = 1e-5


class Network:
    """All parameters in one array and all gradients in another, so that one axpy updates all parameters."""

    def __init__(self, samples, inputs, hidden, outputs):
        shapes = [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]
        counts = [torch.Size(shape).numel() for shape in shapes]
        self.parameters = bench.random(sum(counts)) * 0.05
        self.gradients = bench.empty(sum(counts))
        split = lambda flat: [part.view(shape) for part, shape in zip(flat.split(counts), shapes)]
        self.w1, self.b1, self.w2, self.b2 = split(self.parameters)
        self.d_w1, self.d_b1, self.d_w2, self.d_b2 = split(self.gradients)
        self.x, self.target = bench.random(samples, inputs), bench.random(samples, outputs)
        self.z, self.h, self.d_h = (bench.empty(samples, hidden) for _ in range(3))
        self.scores, self.d_scores = (bench.empty(samples, outputs) for _ in range(2))
        self.loss = bench.empty(1)


def gemm(a, b, c, bias=None):
    (m, k), n = a.shape, b.shape[1]
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    arguments = (m, n, k, one, pointer(a), *a.stride(), pointer(b), *b.stride(), zero, pointer(c), *c.stride())
    if bias is None:
        call("dpt_gemm_f32", on_stream(), *arguments)
        return
    epilogue = Epilogue(ctypes.sizeof(Epilogue), 0, BIAS_PER_COLUMN, bias.data_ptr(), 1, 0.0, 0.0)
    call("dpt_gemm_fused_f32", on_stream(), *arguments, ctypes.byref(epilogue))


def column_sums(x, out):
    rows, columns = x.shape
    call("dpt_sum_rows_f32", on_stream(), columns, rows, pointer(x), 1, columns, pointer(out), 1)


def ours(net):
    low, high = ctypes.c_float(0), ctypes.c_float(float("inf"))
    n, hidden = net.scores.numel(), net.z.numel()
    gemm(net.x, net.w1, net.z, net.b1)
    call("dpt_clamp_f32", on_stream(), hidden, pointer(net.z), low, high, pointer(net.h))
    gemm(net.h, net.w2, net.scores, net.b2)
    places = (pointer(net.scores), pointer(net.target), pointer(net.d_scores), pointer(net.loss))
    call("dpt_mse_grad_f32", on_stream(), n, *places)
    gemm(net.h.t(), net.d_scores, net.d_w2)
    column_sums(net.d_scores, net.d_b2)
    gemm(net.d_scores, net.w2.t(), net.d_h)
    through = (pointer(net.z), pointer(net.d_h), low, high, pointer(net.d_h))
    call("dpt_clamp_backward_f32", on_stream(), hidden, *through)
    gemm(net.x.t(), net.d_h, net.d_w1)
    column_sums(net.d_h, net.d_b1)
    update = (ctypes.c_float(-RATE), pointer(net.gradients), pointer(net.parameters))
    call("dpt_axpy_f32", on_stream(), net.parameters.numel(), *update)


def written_out(net):
    """The same step in PyTorch, with explicit gradients and the same arrays."""
    torch.addmm(net.b1, net.x, net.w1, out=net.z)
    torch.clamp(net.z, min=0, out=net.h)
    torch.addmm(net.b2, net.h, net.w2, out=net.scores)
    torch.sub(net.scores, net.target, out=net.d_scores)
    net.loss.copy_(net.d_scores.square().sum())
    net.d_scores.mul_(2)
    torch.mm(net.h.t(), net.d_scores, out=net.d_w2)
    torch.sum(net.d_scores, 0, out=net.d_b2)
    torch.mm(net.d_scores, net.w2.t(), out=net.d_h)
    net.d_h.mul_(net.z >= 0)
    torch.mm(net.x.t(), net.d_h, out=net.d_w1)
    torch.sum(net.d_h, 0, out=net.d_b1)
    net.parameters.add_(net.gradients, alpha=-RATE)


def autograd(net):
    """The step as PyTorch programs usually write it."""
    leaves = [part.detach().requires_grad_() for part in (net.w1, net.b1, net.w2, net.b2)]
    optimizer = torch.optim.SGD(leaves, lr=RATE)

    def step():
        with torch.enable_grad():
            optimizer.zero_grad(set_to_none=True)
            h = torch.relu(torch.addmm(leaves[1], net.x, leaves[0]))
            loss = (torch.addmm(leaves[3], h, leaves[2]) - net.target).square().sum()
            loss.backward()
            optimizer.step()

    return step


def measure():
    sizes = pick((64, 1000, 100, 10), (64, 1000, 100, 10), (8, 20, 12, 5))
    torch.manual_seed(3)
    net = Network(*sizes)
    gradients, start = [], net.parameters.clone()
    call("dpt_cuda_preload", on_stream())
    for step in (ours, written_out):
        net.parameters.copy_(start)
        net.gradients.fill_(float("nan"))
        step(net)
        bench.synchronize()
        gradients.append(net.gradients.clone())
    close = bool(torch.allclose(*gradients, rtol=1e-3, atol=1e-3))
    repeats = pick(50, 10, 1)
    captured = bench.seconds({"diptych": [lambda: ours(net)] * repeats, "torch": [lambda: written_out(net)] * repeats})
    eager = {}
    for name, step in (("written out", lambda: written_out(net)), ("autograd", autograd(net)), ("diptych", lambda: ours(net))):
        run = lambda: [step() for _ in range(repeats)]
        run()
        eager[name] = sorted(bench.elapsed(run) / repeats for _ in range(bench.ROUNDS))[bench.ROUNDS // 2]
    return {"shape": sizes, "close": close, "captured": captured, "eager_seconds": eager}, close


if __name__ == "__main__":
    bench.finish(*measure())
