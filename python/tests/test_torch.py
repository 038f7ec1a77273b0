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
    ]:
        assert ours.stride() == theirs.stride()
        torch.testing.assert_close(ours, theirs)
    for like in [x, turned, turned[::2], x[:, :, :1], x[:, 1:2].expand(2, 3, 4, 5)]:
        torch.library.opcheck(ops.clip, (like, 0, 1))
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


def network(x, w1, b1, w2):
    hidden = dt.clip(dt.linear(x, w1, b1), 0, None)
    return dt.mean(dt.nrm2(dt.matmul(hidden, w2), axis=1))


def test_compile():
    args = [randn(6, 3), randn(8, 3), randn(8), randn(8, 2)]
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    eager = torch.autograd.grad(network(*args), args)
    torch.testing.assert_close(torch.autograd.grad(compiled(*args), args), eager, rtol=0, atol=0)


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
