//! The calls of the operations that have no row of their own: outer and matrix products, `dot`, gradients.

use core::hint::black_box;

use super::backend::{Array, Backend, Over};
use super::matrices::{gemm, gemm_batched, gemm_fused, matrix};
use super::mixed;
use super::numbers::{CLASSES, Kind, RUN};
use super::run::{HALVES, Run, TYPES, View, With, Written, each};
use crate::element::Dtype;
use crate::tensor::kind::Type;

/// The first input of a second and of a third operand, where these are not small.
pub(super) const SECOND: i64 = 1450;
pub(super) const THIRD: i64 = 2900;

/// Runs the calls of an operation on pointers, whose row is `op`, and those over tensors.
#[inline(never)]
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, name: &str, op: usize) -> Result<(), B::Error> {
    for &dtype in each(&TYPES) {
        match name {
            "outer" | "ger" => outer(run, name, op, dtype)?,
            "gemm" => gemm(run, op, dtype)?,
            "gemm_batched" => gemm_batched(run, op, dtype)?,
            "gemm_fused" => gemm_fused(run, op, dtype)?,
            "dot" => dot(run, op, dtype)?,
            "mse_grad" => mse_grad(run, op, dtype)?,
            "lsq_grad" => lsq_grad(run, op, dtype)?,
            // A row of the table that has no calls here.
            _ => return Err(crate::Error::Unsupported { arg: "op" }.into()),
        }
    }
    for &dtype in each(&HALVES) {
        match name {
            "outer" | "ger" => outer_tensors(run, name, dtype)?,
            "dot" => dot_tensors(run, dtype)?,
            "mse_grad" => mse_grad_tensors(run, dtype)?,
            "lsq_grad" => lsq_grad_tensors(run, dtype)?,
            _ => {}
        }
    }
    match name {
        "gemm" => mixed::matmul(run),
        "dot" => mixed::dot(run),
        _ => Ok(()),
    }
}

pub(super) fn written(dtype: Dtype, elements: i64) -> Written {
    Written {
        of: Type::Float(dtype),
        elements,
        exact: false,
    }
}

#[inline(never)]
fn outer<B: Backend>(
    run: &mut Run<'_, B>,
    name: &str,
    op: usize,
    dtype: Dtype,
) -> Result<(), B::Error> {
    for &kind in each(&[Kind::Wide, Kind::Special]) {
        run.floats(dtype, kind)?;
        let mut call = run.call(op, dtype);
        call.numbers = run.scalars(kind, 5);
        // m, n, strides of x and y, and of the output.
        let shapes = &[
            [1, 1, 1, 1, 1, 1],
            [23, 37, 1, 1, 37, 1],
            [23, 37, -2, 3, 1, 23],
            [3, 300, 0, -1, 310, 1],
            [70, 72, 1, 1, 72, 1],
            [40, 7, 5, 1, 14, 2],
        ];
        for &[m, n, incx, incy, rs, cs] in each(shapes) {
            let x = run.vector((m - 1) * (-incx).max(0), incx);
            let y = run.vector(SECOND + (n - 1) * (-incy).max(0), incy);
            (call.m, call.n) = (m, n);
            call.arrays = [x, y, Array::NONE];
            (call.out.rs, call.out.cs) = (rs, cs);
            run.typed(&call, written(dtype, (m - 1) * rs + (n - 1) * cs + 1))?;
        }
        outer_of_tensors(run, name, dtype)?;
    }
    Ok(())
}

#[inline(never)]
fn outer_tensors<B: Backend>(
    run: &mut Run<'_, B>,
    name: &str,
    dtype: Dtype,
) -> Result<(), B::Error> {
    for &kind in each(&[Kind::Wide, Kind::Special]) {
        run.floats(dtype, kind)?;
        outer_of_tensors(run, name, dtype)?;
    }
    Ok(())
}

/// The calls over tensors, with the inputs as they are.
fn outer_of_tensors<B: Backend>(
    run: &mut Run<'_, B>,
    name: &str,
    dtype: Dtype,
) -> Result<(), B::Error> {
    let (over, numbers) = match name {
        "ger" => (Over::Ger, [-0.721_347_5, 0.0]),
        _ => (Over::Outer, [0.0; 2]),
    };
    let with = With {
        numbers,
        ..With::NONE
    };
    let x = run.input_tensor(0, view(&[23], &[2]));
    let y = run.input_tensor(SECOND, view(&[37], &[-1]));
    for &strides in each(&[&[37, 1], &[1, 24]]) {
        let out = view(&[23, 37], strides);
        run.tensors(&over, &[&x, &y], &with, out, Type::Float(dtype))?;
    }
    Ok(())
}

pub(super) fn view<'a>(shape: &'a [i64], strides: &'a [i64]) -> View<'a> {
    View { shape, strides }
}

#[inline(never)]
fn dot<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    let exact = Written {
        exact: true,
        ..written(dtype, 1)
    };
    run.floats(dtype, Kind::Wide)?;
    let mut call = run.call(op, dtype);
    call.arrays = [run.vector(0, 1), run.vector(300, 1), Array::NONE];
    for &n in each(&[1, 2, 5, 31, 64, 65, 100, 500, 1024, 1030, 2049, 2600]) {
        call.n = n;
        run.typed(&call, exact)?;
    }
    call.arrays = [run.vector(2990, -1), run.vector(9, 2), Array::NONE];
    call.n = 1100;
    run.typed(&call, exact)?;
    dot_of_tensors(run, dtype)?;
    run.floats(dtype, Kind::Special)?;
    let n = RUN as i64;
    call.n = n;
    for class in 0..black_box(CLASSES) as i64 {
        let (x, y) = (run.vector(class * n, 1), run.vector(class * n + 3, 1));
        call.arrays = [x, y, Array::NONE];
        run.typed(&call, exact)?;
    }
    Ok(())
}

#[inline(never)]
fn dot_tensors<B: Backend>(run: &mut Run<'_, B>, dtype: Dtype) -> Result<(), B::Error> {
    run.floats(dtype, Kind::Wide)?;
    dot_of_tensors(run, dtype)?;
    // Of more than a chunk, with a result that is not rounded.
    let x = run.input_tensor(0, view(&[2600], &[1]));
    let y = run.input_tensor(100, view(&[2600], &[1]));
    for of in [dtype, Dtype::F32] {
        let with = With::NONE;
        run.tensors(
            &Over::Dot,
            &[&x, &y],
            &with,
            view(&[], &[]),
            Type::Float(of),
        )?;
    }
    run.floats(dtype, Kind::Special)?;
    dot_of_tensors(run, dtype)
}

/// The call over tensors, with the inputs as they are.
fn dot_of_tensors<B: Backend>(run: &mut Run<'_, B>, dtype: Dtype) -> Result<(), B::Error> {
    let x = run.input_tensor(0, view(&[5, 1, 30], &[30, 30, 1]));
    let y = run.input_tensor(SECOND, view(&[7, 30], &[1, 7]));
    let out = view(&[5, 7], &[7, 1]);
    run.tensors(&Over::Dot, &[&x, &y], &With::NONE, out, Type::Float(dtype))
}

#[inline(never)]
fn mse_grad<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    let of = Type::Float(dtype);
    let gradient = |run: &mut Run<'_, B>, n: i64, first: i64| {
        let mut call = run.call(op, dtype);
        let arrays = [
            run.vector(first, 1),
            run.vector(first + 300, 1),
            Array::NONE,
        ];
        (call.n, call.arrays, call.loss) = (n, arrays, call.out.p);
        call.out.p = run.output(of, 1);
        run.typed(&call, written(dtype, n + 1))
    };
    run.floats(dtype, Kind::Wide)?;
    for &n in each(&[1, 4, 63, 500, 1030, 2049, 2600]) {
        gradient(run, n, 0)?;
    }
    mse_grad_of_tensors(run, of)?;
    run.floats(dtype, Kind::Special)?;
    for class in 0..black_box(CLASSES) {
        gradient(run, RUN as i64, (class * RUN) as i64)?;
    }
    Ok(())
}

#[inline(never)]
fn mse_grad_tensors<B: Backend>(run: &mut Run<'_, B>, dtype: Dtype) -> Result<(), B::Error> {
    for &kind in each(&[Kind::Wide, Kind::Special]) {
        run.floats(dtype, kind)?;
        mse_grad_of_tensors(run, Type::Float(dtype))?;
    }
    Ok(())
}

/// The calls over tensors, with the inputs as they are.
fn mse_grad_of_tensors<B: Backend>(run: &mut Run<'_, B>, of: Type) -> Result<(), B::Error> {
    let with = With {
        has_loss: true,
        ..With::NONE
    };
    let shape = [6, 10, 14];
    let pred = run.input_tensor(0, view(&shape, &[140, 14, 1]));
    let target = run.input_tensor(SECOND, view(&shape, &[1, 6, 60]));
    for &strides in each(&[&[140, 14, 1], &[-14, 84, 1]]) {
        let out = view(&shape, strides);
        run.tensors(&Over::MseGrad, &[&pred, &target], &with, out, of)?;
    }
    Ok(())
}

#[inline(never)]
fn lsq_grad<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    for &kind in each(&[Kind::Wide, Kind::Special]) {
        run.floats(dtype, kind)?;
        // The last is enough for several threads.
        for &[m, n] in each(&[[3, 6], [70, 1], [1, 50], [110, 41], [33, 64], [300, 300]]) {
            for &turned in each(&[false, true]) {
                let a = matrix(run, 0, m, n, turned);
                let arrays = [a, run.vector(SECOND, 1), run.vector(SECOND + 500, 1)];
                let mut call = run.call(op, dtype);
                (call.m, call.n, call.arrays) = (m, n, arrays);
                let gradient = Written {
                    exact: true,
                    ..written(dtype, n)
                };
                run.typed(&call, gradient)?;
            }
        }
        lsq_grad_of_tensors(run, dtype)?;
    }
    Ok(())
}

#[inline(never)]
fn lsq_grad_tensors<B: Backend>(run: &mut Run<'_, B>, dtype: Dtype) -> Result<(), B::Error> {
    for &kind in each(&[Kind::Wide, Kind::Special]) {
        run.floats(dtype, kind)?;
        lsq_grad_of_tensors(run, dtype)?;
    }
    Ok(())
}

/// The call over tensors, with the inputs as they are.
fn lsq_grad_of_tensors<B: Backend>(run: &mut Run<'_, B>, dtype: Dtype) -> Result<(), B::Error> {
    let a = run.input_tensor(0, view(&[20, 15], &[1, 20]));
    let x = run.input_tensor(SECOND, view(&[15], &[2]));
    let y = run.input_tensor(SECOND + 500, view(&[20], &[-3]));
    let (out, of) = (view(&[15], &[1]), Type::Float(dtype));
    run.tensors(&Over::LsqGrad, &[&a, &x, &y], &With::NONE, out, of)
}
