"""Products of integers and of 16-bit floats that are refused: matmul, dot, gemm."""

import numpy as np
import pytest

import diptych
from conftest import raises
from test_mixed_products import BYTES, INTEGERS

TYPES = ["int8", "uint8", "int16", "uint32", "int32", "int64", "float16", "float32", "bool"]
PAIRS = [("int8", "int32"), ("uint8", "float32"), ("float16", "float32"), ("float32", "float16"), ("int32", "int64")]


@pytest.mark.parametrize("function", ["matmul", "dot", "gemm"])
def test_refused_factors(function):
    call = getattr(diptych, function)
    first, second = "ab" if function == "gemm" else "xy"
    ones = {name: np.ones((2, 2), name) for name in TYPES}
    bytes_ = [("int8", "uint8"), ("uint8", "uint8")]
    for x, y in bytes_ + PAIRS:
        advice = "of bytes, int8 and int8" if (x, y) in bytes_ else "diptych.astype converts"
        with raises(diptych.DtypeError, f"{function}: {first} has the type {x}, {second} has {y}; {advice}"):
            call(ones[x], ones[y])
    for x in ("int16", "uint32", "bool"):
        with raises(diptych.DtypeError, f"{function}: arrays of type {x} are not supported"):
            call(ones[x], ones[x])
    for x in ("int8", "int64", "float16"):
        with raises(diptych.ShapeError, f"{function}: {first} (2, 2) and {second} (3, 2)"):
            call(ones[x], np.ones((3, 2), x))


@pytest.mark.parametrize("x, y, result", [*BYTES, ("float16", "float16", "float16")])
def test_refused_results(x, y, result):
    a, b = np.ones((2, 2), x), np.ones((2, 2), y)
    for wrong in {"float64", "float16", "int32", "int64", x} - {result}:
        out = np.zeros((2, 2), wrong)
        text = f"has the type {wrong}; a product of {{}} {x} has {result} or float32"
        with raises(diptych.DtypeError, "matmul: out " + text.format("x")):
            diptych.matmul(a, b, out=out)
        with raises(diptych.DtypeError, "gemm: c " + text.format("a")):
            diptych.gemm(a, b, out)
        assert not out.any()
    for dtype in (result, "float32"):
        with raises(diptych.ShapeError, "matmul: out has the shape (2, 3), the result (2, 2)"):
            diptych.matmul(a, b, out=np.zeros((2, 3), dtype))
        with raises(diptych.ShapeError, "c does not have the shape of the product"):
            diptych.gemm(a, b, np.zeros((2, 3), dtype))
    memory = np.zeros(16, np.float32)
    out, inside = memory[:4].reshape(2, 2), memory[:4].view(x)[:4].reshape(2, 2)
    with raises(diptych.ArgumentError, "overlaps"):
        diptych.matmul(inside, b, out=out)
    out.flags.writeable = False
    with raises(diptych.ArgumentError, "out is read-only"):
        diptych.matmul(a, b, out=out)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_refused_results_of_wide_integers(dtype):
    a = np.ones((2, 2), dtype)
    for wrong in {"float32", "int64", "int32"} - {dtype}:
        with raises(diptych.DtypeError, f"matmul: out has the type {wrong}, the result {dtype}"):
            diptych.matmul(a, a, out=np.zeros((2, 2), wrong))
        with raises(diptych.DtypeError, f"gemm: a has the type {dtype}, c has {wrong}"):
            diptych.gemm(a, a, np.zeros((2, 2), wrong))
    with raises(diptych.DtypeError, f"gemm: a has the type {dtype}, bias has float32"):
        diptych.gemm(a, a, bias=np.ones(2, np.float32))
    with raises(diptych.DtypeError, f"gemm: bias cannot be added where the result has the type {dtype}"):
        diptych.gemm(a, a, bias=np.ones(2, dtype))
    with raises(diptych.DtypeError, f"gemm: row_scale is for products of int8 and uint8, and a has the type {dtype}"):
        diptych.gemm(a, a, row_scale=np.ones(2, np.float32))


@pytest.mark.parametrize("x, y, result", INTEGERS)
def test_refused_numbers_of_integers(x, y, result):
    a, b = np.ones((2, 2), x), np.ones((2, 2), y)
    where = f"where the result has the type {result}"
    for c in (None, np.full((2, 2), 7, result)):
        for alpha in (2, 0, 0.5, float("nan")):
            with raises(diptych.ArgumentError, f"gemm: alpha must be 1 {where}"):
                diptych.gemm(a, b, c, alpha=alpha)
        with raises(diptych.DtypeError, f"gemm: clip cannot be applied {where}"):
            diptych.gemm(a, b, c, clip=(0, None))
    for beta in (-1, 2, 0.5, float("nan")):
        with raises(diptych.ArgumentError, f"gemm: beta must be 0 or 1 {where}"):
            diptych.gemm(a, b, c, beta=beta)
    assert (c == 7).all()
    with raises(diptych.ArgumentError, "gemm: beta needs c"):
        diptych.gemm(a, b, beta=1)
    if (x, y, result) in BYTES:
        for name, what in [("bias", "added"), ("row_scale", "applied"), ("column_scale", "applied")]:
            with raises(diptych.DtypeError, f"gemm: {name} cannot be {what} {where}"):
                diptych.gemm(a, b, c, **{name: np.ones(2, np.float32)})


def test_refused_epilogues():
    a, h, f = np.ones((2, 3), np.int8), np.ones((2, 3), np.float16), np.ones((2, 3), np.float32)
    scale = np.ones(2, np.float32)
    for name in ("row_scale", "column_scale"):
        for x in (h, f):
            text = f"gemm: {name} is for products of int8 and uint8, and a has the type {x.dtype}"
            with raises(diptych.DtypeError, text):
                diptych.gemm(x, x.T, **{name: scale})
        for wrong in ("float64", "int32", "float16"):
            with raises(diptych.DtypeError, f"gemm: {name} has the type {wrong}; it must have float32"):
                diptych.gemm(a, a.T, **{name: scale.astype(wrong)})
        for shape in ((3,), (2, 1), (1, 2), ()):
            text = f"gemm: {name} does not have the right shape; the shapes are a (2, 3), b (3, 2), c (2, 2), {name} ("
            with raises(diptych.ShapeError, text):
                diptych.gemm(a, a.T, **{name: np.ones(shape, np.float32)})
        with raises(diptych.DtypeError, f"gemm: {name} is a number, not an array"):
            diptych.gemm(a, a.T, **{name: 2.0})
        with raises(diptych.ArgumentError, "gemm: c overlaps"):
            c = np.ones((2, 2), np.float32)
            diptych.gemm(a, a.T, c, **{name: c[0]})
    for x, wrong in [(a, "int8"), (a, "int32"), (a, "float64"), (h, "float64"), (f, "float16")]:
        with raises(diptych.DtypeError, f"bias has {'the type ' if x is a else ''}{wrong}"):
            diptych.gemm(x, x.T, bias=np.ones(2, wrong))
    for x in (a, h):
        with raises(diptych.ShapeError, "gemm: bias does not have the right shape"):
            diptych.gemm(x, x.T, bias=np.ones(3, np.float32))
        with raises(diptych.ShapeError, "gemm: bias does not have the right shape"):
            diptych.gemm(x, x.T, bias=2.5)


def test_outer_products_of_other_types():
    for name in ("int16", "uint32", "uint64", "bool"):
        v = np.ones(3, name)
        with raises(diptych.DtypeError, f"outer: arrays of type {name} are not supported"):
            diptych.outer(v, v)
        with raises(diptych.DtypeError, f"ger: arrays of type {name} are not supported"):
            diptych.ger(1, v, v, np.ones((3, 3), name))
