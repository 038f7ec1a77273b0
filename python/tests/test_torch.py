"""diptych.torch beside PyTorch: values, gradients, registration, torch.compile."""

import doctest

import pytest

torch = pytest.importorskip("torch")

import diptych  # noqa: E402
import diptych.torch as dt  # noqa: E402
from conftest import raises  # noqa: E402
from torch_cases import A, CASES, COUNTS, V, W, B, identity, ops, randn  # noqa: E402


@pytest.mark.parametrize("op, args, theirs", CASES, ids=identity)
def test_operations(op, args, theirs):
    torch.testing.assert_close(op(*args), theirs(*args))
    assert torch.autograd.gradcheck(op, args)
    assert torch.autograd.gradgradcheck(op, args)
    torch.library.opcheck(op, args)


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    op = getattr(ops, name)
    torch.library.opcheck(op, (A, [1], False))
    assert not op(A, [1], True).requires_grad
    assert getattr(dt, name)(A, axis=1).tolist() == getattr(diptych, name)(A.detach(), axis=1).tolist()


def test_prod_with_zeros():
    x = torch.tensor([[2.0, 0, 3], [0, 0, 5], [1, 2, 3]], dtype=torch.float64, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    dt.prod(x, axis=1).sum().backward()
    y.prod(1).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_results_keep_the_order_in_memory():
    x = randn(2, 3, 4, 5).detach().to(memory_format=torch.channels_last)
    turned = randn(4, 6).detach().T
    for ours, theirs in [
        (diptych.square(x), x * x),
        (diptych.add(x, x), x + x),
        (diptych.astype(turned, torch.float32), turned.float()),
        (dt.clip(x, 0, None), x.clip(0)),
        (dt.clip(turned[::2], 0, None), turned[::2].clip(0)),
        (dt.normalize(x, axis=1), x / dt.nrm2(x, axis=1, keepdims=True)),
    ]:
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours, theirs)
    for like in [x, turned, turned[::2], x[:, :, :1], x[:, 1:2].expand(2, 3, 4, 5)]:
        torch.library.opcheck(ops.clip, (like, 0, 1))
        torch.library.opcheck(ops.normalize, (like, [0]))
        torch.library.opcheck(ops.clip_backward, (like, like.contiguous(), 0, 1))
        torch.library.opcheck(ops.clip_backward, (like.contiguous(), like, 0, 1))


def test_losses():
    p, t = A, A.detach().flip(0)
    for reduction in ("mean", "sum"):
        ours, theirs = dt.mse_loss(p, t, reduction=reduction), torch.nn.functional.mse_loss(p, t, reduction=reduction)
        torch.testing.assert_close(ours, theirs)
        torch.testing.assert_close(torch.autograd.grad(ours, p), torch.autograd.grad(theirs, p))
    with raises(diptych.ArgumentError, "reduction must be"):
        dt.mse_loss(p, t, reduction="none")
    torch.testing.assert_close(dt.lsq_loss(A, V, W), ((A @ V - W) ** 2).sum())


def test_linear_with_a_packed_weight():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        weight, bias = (torch.randn(*shape).to(dtype) for shape in [(33, 70), (33,)])
        packed = diptych.pack(weight.T)
        for shape in [(70,), (3, 70), (2, 3, 70), (0, 70)]:
            x = torch.randn(*shape).to(dtype)
            for last in (None, bias):
                ours, theirs = dt.linear(x, packed, last), dt.linear(x, weight, last)
                assert ours.dtype is theirs.dtype and torch.equal(ours, theirs)
    x, weight = (torch.randint(-9, 9, shape, dtype=torch.int8) for shape in [(3, 8), (5, 8)])
    assert torch.equal(dt.linear(x, diptych.pack(weight.T)), dt.linear(x, weight))
    with raises(diptych.ShapeError, "the packed b (8, 5): the inner sizes differ"):
        dt.linear(x[:, :7], diptych.pack(weight.T))


def test_a_packed_weight_has_no_gradients():
    x, bias = randn(3, 4).detach(), randn(2).detach()
    packed = diptych.pack(randn(4, 2).detach())
    for name in ("x", "bias"):
        args = {"x": x, "bias": bias, name: {"x": x, "bias": bias}[name].clone().requires_grad_()}
        with raises(diptych.ArgumentError, f"linear: weight is packed, and {name} records gradients"):
            dt.linear(weight=packed, **args)
        with torch.no_grad():
            assert torch.equal(dt.linear(weight=packed, **args), dt.linear(x, packed, bias))
    with torch.autograd.forward_ad.dual_level(), raises(diptych.ArgumentError, "linear: weight is packed"):
        dt.linear(torch.autograd.forward_ad.make_dual(x, x), packed)
    with raises(diptych.ArgumentError):
        torch.func.grad(lambda x: dt.linear(x, packed).sum())(x)


def network(x, w1, b1, w2):
    hidden = dt.clip(dt.linear(x, w1, b1), 0, None)
    return dt.mean(dt.nrm2(dt.matmul(hidden, w2), axis=1))


def test_compile():
    args = [randn(6, 3), randn(8, 3), randn(8), randn(8, 2)]
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    eager = torch.autograd.grad(network(*args), args)
    torch.testing.assert_close(torch.autograd.grad(compiled(*args), args), eager, rtol=0, atol=0)


def test_cuda_tensors(monkeypatch):
    from torch._subclasses import FakeTensorMode

    # The kernels for CUDA tensors are given those of the CPU, which are at hand: the device of the first one is current.
    current = []

    class Device:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            current.append(self.device)

        def __exit__(self, *error):
            current.append(None)

    monkeypatch.setattr(torch.cuda, "device", Device)
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    x, y, z = A.detach(), V.detach(), W.detach()
    for op, inputs in [(ops.sum, (x, [1], False)), (ops.matmul, (x, y)), (ops.linear, (x, x, None)), (ops.lsq, (x, y, z))]:
        current.clear()
        found, expected = op.default.redispatch(keys, *inputs), op(*inputs)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert current == [x.device, None]
    for name in torch._C._dispatch_get_all_op_names():
        if name.startswith("diptych::"):
            assert torch._C._dispatch_has_kernel_for_dispatch_key(name, "CUDA"), name
    # Results of tensors without memory are on their device, too.
    with FakeTensorMode():
        args = [torch.empty(shape, device="cuda:1") for shape in [(6, 3), (8, 3), (8,), (8, 2)]]
        assert network(*args).device == dt.mse_loss(args[0], args[0]).device == torch.device("cuda:1")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    x, weight, bias = randn(6, 3).float(), randn(8, 3).float(), randn(8).float()
    low = x.detach().to(dtype).requires_grad_()
    with pytest.raises(diptych.DtypeError):
        dt.linear(low, weight, bias)
    with torch.autocast("cpu", dtype):
        found = dt.nrm2(dt.linear(low, weight, bias))
        assert dt.sum(x.double()).dtype == torch.float64
    wide = low.detach().float().requires_grad_()
    expected = dt.nrm2(dt.linear(wide, weight, bias))
    assert found.dtype == torch.float32 and found.item() == expected.item()
    found.backward()
    expected.backward()
    assert low.grad.dtype == dtype
    torch.testing.assert_close(low.grad, wide.grad.to(dtype), rtol=0, atol=0)


def test_the_module_is_imported_when_it_is_used():
    import subprocess
    import sys

    code = "import sys, diptych; assert 'torch' not in sys.modules; diptych.torch.matmul; assert 'torch' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'jax'"):
        diptych.jax


def test_errors_are_those_of_the_package():
    with raises(diptych.ShapeError, "the inner sizes differ"):
        dt.matmul(A, A)
    with raises(diptych.DtypeError, "x has the type float64, y has float32"):
        dt.matmul(A, B.float())


def test_documentation():
    assert doctest.testmod(dt).failed == 0
    for name in dt.__all__:
        assert getattr(dt, name).__doc__
