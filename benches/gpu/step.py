"""One step of training a two-layer network on 64 samples, (1000, 100, 10), f32: the library's calls captured as one
graph, beside eager PyTorch with the same steps written out, with autograd, and captured."""
import ctypes

import machine
import torch
from diptych import BIAS_PER_COLUMN, Epilogue, call

from machine import here, pick, pointer

# Small: the bench makes thousands of steps.
RATE = 1e-5


class Network:
    """Parameters and gradients, each one array: one axpy updates all of them."""

    def __init__(self, samples, inputs, hidden, outputs):
        shapes = [(inputs, hidden), (hidden,), (hidden, outputs), (outputs,)]
        counts = [torch.Size(shape).numel() for shape in shapes]
        self.parameters = machine.random(sum(counts)) * 0.05
        self.gradients = machine.empty(sum(counts))
        split = lambda flat: [part.view(shape) for part, shape in zip(flat.split(counts), shapes)]
        self.w1, self.b1, self.w2, self.b2 = split(self.parameters)
        self.d_w1, self.d_b1, self.d_w2, self.d_b2 = split(self.gradients)
        self.x, self.target = machine.random(samples, inputs), machine.random(samples, outputs)
        self.z, self.h, self.d_h = (machine.empty(samples, hidden) for _ in range(3))
        self.scores, self.d_scores = (machine.empty(samples, outputs) for _ in range(2))
        self.loss = machine.empty(1)


def gemm(a, b, c, bias=None):
    (m, k), n = a.shape, b.shape[1]
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    arguments = (m, n, k, one, pointer(a), *a.stride(), pointer(b), *b.stride(), zero, pointer(c), *c.stride())
    if bias is None:
        call("dpt_gemm_f32", here(), *arguments)
        return
    epilogue = Epilogue(ctypes.sizeof(Epilogue), 0, BIAS_PER_COLUMN, bias.data_ptr(), 1, 0.0, 0.0)
    call("dpt_gemm_fused_f32", here(), *arguments, ctypes.byref(epilogue))


def column_sums(x, out):
    rows, columns = x.shape
    call("dpt_sum_rows_f32", here(), columns, rows, pointer(x), 1, columns, pointer(out), 1)


def ours(net):
    low, high = ctypes.c_float(0), ctypes.c_float(float("inf"))
    n, hidden = net.scores.numel(), net.z.numel()
    gemm(net.x, net.w1, net.z, net.b1)
    call("dpt_clamp_f32", here(), hidden, pointer(net.z), low, high, pointer(net.h))
    gemm(net.h, net.w2, net.scores, net.b2)
    places = (pointer(net.scores), pointer(net.target), pointer(net.d_scores), pointer(net.loss))
    call("dpt_mse_grad_f32", here(), n, *places)
    gemm(net.h.t(), net.d_scores, net.d_w2)
    column_sums(net.d_scores, net.d_b2)
    gemm(net.d_scores, net.w2.t(), net.d_h)
    through = (pointer(net.z), pointer(net.d_h), low, high, pointer(net.d_h))
    call("dpt_clamp_backward_f32", here(), hidden, *through)
    gemm(net.x.t(), net.d_h, net.d_w1)
    column_sums(net.d_h, net.d_b1)
    update = (ctypes.c_float(-RATE), pointer(net.gradients), pointer(net.parameters))
    call("dpt_axpy_f32", here(), net.parameters.numel(), *update)


def written_out(net):
    """The same steps, in PyTorch, into the same arrays."""
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
    """What a program with PyTorch says."""
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
    call("dpt_cuda_preload", here())
    for step in (ours, written_out):
        net.parameters.copy_(start)
        net.gradients.fill_(float("nan"))
        step(net)
        machine.synchronize()
        gradients.append(net.gradients.clone())
    close = bool(torch.allclose(*gradients, rtol=1e-3, atol=1e-3))
    repeats = pick(50, 10, 1)
    captured = machine.seconds({"diptych": [lambda: ours(net)] * repeats, "torch": [lambda: written_out(net)] * repeats})
    eager = {}
    for name, step in (("written out", lambda: written_out(net)), ("autograd", autograd(net)), ("diptych", lambda: ours(net))):
        run = lambda: [step() for _ in range(repeats)]
        run()
        eager[name] = sorted(machine.elapsed(run) / repeats for _ in range(machine.ROUNDS))[machine.ROUNDS // 2]
    return {"shape": sizes, "close": close, "captured": captured, "eager_seconds": eager}, close


if __name__ == "__main__":
    machine.finish(*measure())
