"""Derivatives of diptych.torch in every mode, batches and traces; functions of diptych given tensors in such states."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import diptych  # noqa: E402
import diptych.torch as dt  # noqa: E402
from conftest import raises  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, vmap  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch_cases import A, BATCH, CASES, COUNTS, V, identity, of_tensors, ops, tensors  # noqa: E402

# PyTorch's own modules of forward mode and its tracer warn of their age.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:")

cases = pytest.mark.parametrize("op, args, theirs", CASES, ids=identity)


@cases
def test_forward_mode(op, args, theirs):
    assert torch.autograd.gradcheck(
        op, args, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )
    assert torch.autograd.gradgradcheck(op, args, check_fwd_over_rev=True)


@cases
def test_jacobians(op, args, theirs):
    ours, points = of_tensors(op, args)
    reference, _ = of_tensors(theirs, args)
    places = tuple(i for i, arg in enumerate(tensors(args)) if arg.requires_grad)
    expected = jacrev(reference, places)(*points)
    torch.testing.assert_close(jacrev(ours, places)(*points), expected)
    torch.testing.assert_close(jacfwd(ours, places)(*points), expected)
    twice = jacfwd(jacfwd(ours, places), places)(*points)
    torch.testing.assert_close(twice, jacrev(jacrev(ours, places), places)(*points))


def test_one_tangent_of_several():
    x, y = A.detach(), V.detach()
    expected = jvp(lambda y: x @ y, (y,), (y,))[1]
    torch.testing.assert_close(jvp(lambda y: dt.matmul(x, y), (y,), (y,))[1], expected)
    with forward_ad.dual_level():
        product = dt.matmul(x, forward_ad.make_dual(y, y))
        torch.testing.assert_close(forward_ad.unpack_dual(product).tangent, expected)
        assert forward_ad.unpack_dual(dt.matmul(x, y)).tangent is None
        for name in COUNTS:
            assert forward_ad.unpack_dual(getattr(dt, name)(forward_ad.make_dual(y, y))).tangent is None
    # Two levels of one mode, and a graph around a transform.
    torch.testing.assert_close(hessian(dt.nrm2)(y), hessian(torch.linalg.vector_norm)(y))
    outer = y.clone().requires_grad_()
    (found,) = torch.autograd.grad(jvp(dt.nrm2, (outer,), (x[0],))[1], outer)
    torch.testing.assert_close(found, hessian(torch.linalg.vector_norm)(y) @ x[0])


@cases
@pytest.mark.parametrize("axis", [0, -1])
def test_batches(op, args, theirs, axis):
    ours, points = of_tensors(op, args)
    batches = [torch.stack([point, point.flip(-1), -point], axis) for point in points]
    # Which tensors are batches: all, the first, the last.
    kinds = {(True,) * len(points), (True, *[False] * (len(points) - 1)), (*[False] * (len(points) - 1), True)}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*performance drop")
        for kind in kinds:
            given = [batch if has else point for has, batch, point in zip(kind, batches, points)]
            found = vmap(ours, tuple(axis if has else None for has in kind))(*given)
            single = [ours(*[g.select(axis, i) if has else g for has, g in zip(kind, given)]) for i in range(3)]
            if isinstance(found, torch.Tensor):
                found, single = (found,), [(each,) for each in single]
            for all_at_once, one_by_one in zip(found, zip(*single)):
                torch.testing.assert_close(all_at_once, torch.stack(one_by_one), rtol=0, atol=0)


def test_batches_of_other_kinds():
    x = BATCH.detach()[:, 0]
    for name in COUNTS + ("sum", "nrm2", "std"):
        reduce = getattr(dt, name)
        torch.testing.assert_close(vmap(reduce)(x), torch.stack([reduce(each) for each in x]), rtol=0, atol=0)
        numbers = vmap(reduce)(x[0, 0])
        torch.testing.assert_close(numbers, torch.stack([reduce(each) for each in x[0, 0]]), rtol=0, atol=0)
    torch.testing.assert_close(vmap(dt.normalize)(x[0, 0]), x[0, 0].sign(), rtol=0, atol=0)
    twice = vmap(vmap(dt.outer, (None, 0)), (0, None))(x[0], x[1])
    torch.testing.assert_close(twice, torch.einsum("ij,kl->ikjl", x[0], x[1]))
    torch.testing.assert_close(vmap(grad(dt.nrm2))(x[0]), x[0] / torch.linalg.vector_norm(x[0], dim=1, keepdim=True))
    assert vmap(dt.outer, (0, None))(x[0][:0], x[0, 0]).shape == (0, 3, 3)
    torch.testing.assert_close(vmap(lambda x: ops.clip(x, 0.0))(x), x.clip(0))


@cases
def test_traces(op, args, theirs):
    ours, points = of_tensors(op, args)
    other = tuple(point + 0.25 for point in points)
    expected = ours(*other)
    for mode in ("real", "fake", "symbolic"):
        traced = make_fx(ours, tracing_mode=mode)(*points)
        assert any(node.target is op.default for node in traced.graph.nodes)
        torch.testing.assert_close(traced(*other), expected, rtol=0, atol=0)
    torch.testing.assert_close(torch.jit.trace(ours, points)(*other), expected, rtol=0, atol=0)
    torch.testing.assert_close(functionalize(ours)(*other), expected, rtol=0, atol=0)


def test_transforms_in_graphs():
    x, v = A.detach(), A.detach().flip(0)

    def derivatives(x):
        batch = vmap(grad(dt.logsumexp))(x)
        return jvp(dt.sumsq, (x,), (v,))[1], grad(dt.nrm2)(x), batch

    for traced in (torch.compile(derivatives, fullgraph=True, backend="aot_eager"), make_fx(derivatives)(x)):
        torch.testing.assert_close(traced(x + 1), derivatives(x + 1))


def test_tensors_without_elements_in_memory():
    zero = torch._efficientzerotensor((3,), dtype=torch.float64)
    assert dt.sum(zero) == 0 and dt.matmul(zero, V.detach()) == 0
    imaginary = torch.tensor([1 + 2j, 3j]).conj().imag
    assert dt.sum(imaginary) == -5
    for other in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr(), torch.eye(3).to_mkldnn()):
        with pytest.raises(NotImplementedError):
            dt.sum(other)
    with raises(diptych.ArgumentError, "sum: x has no memory"):
        dt.sum(freed(0))


# Functions of diptych.

FUNCTIONS = {
    "add": lambda x: diptych.add(1, x),
    "divide": lambda x: diptych.divide(x, x),
    "abs": diptych.abs,
    "clip": lambda x: diptych.clip(x, 0, 1),
    "clip_backward": lambda x: diptych.clip_backward(torch.ones(3), x, 0, 1),
    "axpy": lambda x: diptych.axpy(2, x, torch.ones(3)),
    "fill": lambda x: diptych.fill(x, 0),
    "sum": diptych.sum,
    "std": diptych.std,
    "argmax": diptych.argmax,
    "normalize": diptych.normalize,
    "outer": lambda x: diptych.outer(torch.ones(2), x),
    "ger": lambda x: diptych.ger(1, torch.ones(2), x, torch.ones(2, 3)),
    "matmul": lambda x: diptych.matmul(x, torch.ones(3, 2)),
    "dot": lambda x: diptych.dot(torch.ones(3), x),
    "gemm": lambda x: diptych.gemm(torch.ones(2, 3), torch.ones(3, 3), bias=x),
    "mse_grad": lambda x: diptych.mse_grad(torch.ones(3), x),
    "lsq_grad": lambda x: diptych.lsq_grad(torch.ones(2, 3), x, torch.ones(2)),
    "astype": lambda x: diptych.astype(x, "float64"),
    "concatenate": lambda x: diptych.concatenate([torch.ones(3), x]),
    "out": lambda x: diptych.add(torch.ones(3), 1, out=x),
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


def freed(offset):
    """A tensor whose storage was given back."""
    x = torch.arange(6.0)[offset : offset + 3]
    x.untyped_storage().resize_(0)
    return x


@functions
def test_functions_refuse_tangents(function):
    x = torch.ones(3)
    function(x)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, x)
        with raises(diptych.ArgumentError, " has a tangent, which this function would not carry on"):
            function(dual)
        function(forward_ad.unpack_dual(dual).primal)
    batch = torch.ones(2, 3)
    for transform in (lambda: jvp(function, (x,), (x,)), lambda: grad(function)(x), lambda: vmap(function)(batch)):
        # Arrays beside x that a function of the table makes are of the transform, too.
        with pytest.raises(diptych.ArgumentError, match="belongs to a transform of torch.func| tangent| requires grad"):
            transform()


@functions
def test_functions_refuse_traces(function):
    x = torch.ones(3)
    with raises(diptych.ArgumentError, "PyTorch is tracing"):
        torch.jit.trace(lambda x: (x * 1, function(x)), (x,))
    for mode in ("real", "fake"):
        with raises(diptych.ArgumentError, "PyTorch is tracing"):
            make_fx(lambda y: (y, function(y)), tracing_mode=mode)(x)
        # The result would be a constant, or without memory.
        with raises(diptych.ArgumentError, "PyTorch is tracing"):
            make_fx(lambda y: (y, function(x)), tracing_mode=mode)(torch.ones(3))


@functions
def test_functions_refuse_tensors_without_memory(function):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        others = [FakeTensorMode().from_tensor(torch.ones(3)), torch._to_functional_tensor(torch.ones(3))]
    for other in [freed(0), freed(2), torch._efficientzerotensor((3,)), *others]:
        with raises(diptych.ArgumentError, "has no memory"):
            function(other)
    function(torch.ones(3))


def test_functions_refuse_other_layouts():
    square = torch.eye(3)
    for other in (square.to_sparse(), square.to_sparse_csr(), square.to_mkldnn(), square.to("meta")):
        with raises(diptych.ArgumentError, "sum: x cannot be read"):
            diptych.sum(other)
    with raises(diptych.ArgumentError, "x is a lazily negated view"):
        diptych.sum(torch.tensor([1 + 2j, 3j]).conj().imag)
    assert diptych.sum(torch.zeros(3, 0)) == 0


def test_functions_beside_transforms():
    """Constants are fine where their results can be made."""
    x, w = torch.ones(3), torch.ones(4)
    torch.testing.assert_close(vmap(lambda x: x * diptych.sum(w))(x), x * w.sum())
    with raises(diptych.ArgumentError, "sum: the result belongs to a transform of torch.func"):
        grad(lambda x: (x * diptych.sum(w)).sum())(x)
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        assert diptych.sum(x) == 3
    assert torch.compile(lambda x: diptych.add(x, 1) * 2, backend="eager")(x).tolist() == [4, 4, 4]
