//! The calls of outer products, matrix products, `dot` and the fused operations.

use super::backend::{Array, Backend, Over, Typed};
use super::numbers::{self, CLASSES, Kind, RUN};
use super::run::{Run, TYPES, View, With, Written};
use crate::BiasKind;
use crate::element::Dtype;
use crate::tensor::kind::Type;

/// The first input of a second and of a third operand, where these are not small.
const SECOND: i64 = 1450;
const THIRD: i64 = 2900;
/// Inputs that a first or a second operand may have.
const ROOM: i64 = 1440;

/// Runs the calls of an operation on pointers, whose row is `op`, and those over tensors.
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, name: &str, op: usize) -> Result<(), B::Error> {
    for dtype in TYPES {
        match name {
            "outer" | "ger" => outer(run, name, op, dtype)?,
            "gemm" => gemm(run, op, dtype)?,
            "gemm_batched" => gemm_batched(run, op, dtype)?,
            "gemm_fused" => gemm_fused(run, op, dtype)?,
            "dot" => dot(run, op, dtype)?,
            "mse_grad" => mse_grad(run, op, dtype)?,
            "lsq_grad" => lsq_grad(run, op, dtype)?,
            // `expected` has a row that is not here.
            _ => return Err(crate::Error::Unsupported { arg: "op" }.into()),
        }
    }
    Ok(())
}

fn written(dtype: Dtype, elements: i64) -> Written {
    Written {
        of: Type::Float(dtype),
        elements,
        exact: false,
    }
}

fn outer<B: Backend>(
    run: &mut Run<'_, B>,
    name: &str,
    op: usize,
    dtype: Dtype,
) -> Result<(), B::Error> {
    for kind in [Kind::Wide, Kind::Special] {
        run.floats(dtype, kind)?;
        let call = Typed {
            numbers: run.scalars(kind, 5),
            ..run.call(op, dtype)
        };
        // m, n, strides of x and y, and of the output.
        let shapes = [
            [1, 1, 1, 1, 1, 1],
            [23, 37, 1, 1, 37, 1],
            [23, 37, -2, 3, 1, 23],
            [3, 300, 0, -1, 310, 1],
            [70, 72, 1, 1, 72, 1],
            [40, 7, 5, 1, 14, 2],
        ];
        for [m, n, incx, incy, rs, cs] in shapes {
            let x = run.vector((m - 1) * (-incx).max(0), incx);
            let y = run.vector(SECOND + (n - 1) * (-incy).max(0), incy);
            let mut call = Typed {
                m,
                n,
                arrays: [x, y, Array::NONE],
                ..call
            };
            (call.out.rs, call.out.cs) = (rs, cs);
            run.typed(call, written(dtype, (m - 1) * rs + (n - 1) * cs + 1))?;
        }
        let (over, numbers) = match name {
            "ger" => (Over::Ger, [-0.721_347_5, 0.0]),
            _ => (Over::Outer, [0.0; 2]),
        };
        let with = With {
            numbers,
            ..With::default()
        };
        let x = run.given(0, view(&[23], &[2]));
        let y = run.given(SECOND, view(&[37], &[-1]));
        for strides in [&[37, 1], &[1, 24]] {
            let out = view(&[23, 37], strides);
            run.tensors(&over, &[&x, &y], &with, out, Type::Float(dtype))?;
        }
    }
    Ok(())
}

fn view<'a>(shape: &'a [i64], strides: &'a [i64]) -> View<'a> {
    View { shape, strides }
}

/// Returns a matrix of inputs, whose rows (columns where `turned`) are contiguous. They overlap where there is no room.
fn matrix<B: Backend>(
    run: &Run<'_, B>,
    first: i64,
    rows: i64,
    columns: i64,
    turned: bool,
) -> Array {
    let (count, length) = if turned {
        (columns, rows)
    } else {
        (rows, columns)
    };
    let apart = (ROOM - length).checked_div(count - 1).unwrap_or(length);
    let apart = apart.clamp(1, length.max(1));
    let (rs, cs) = if turned { (1, apart) } else { (apart, 1) };
    Array {
        p: run.input(first),
        rs,
        cs,
        bs: 50,
    }
}

/// How the matrices of a product lie in memory: A and B turned, C with columns and gaps.
type Turned = (bool, bool, bool);

const UPRIGHT: Turned = (false, false, false);

/// Returns a product, and how many elements lie from its first to its last.
fn product<B: Backend>(run: &Run<'_, B>, call: Typed, turned: Turned) -> (Typed, i64) {
    let Typed { m, n, k, .. } = call;
    let a = matrix(run, 0, m, k, turned.0);
    let b = matrix(run, SECOND, k, n, turned.1);
    let (rs, cs) = if turned.2 { (1, m + 1) } else { (n, 1) };
    let elements = (m - 1) * rs + (n - 1) * cs + 1;
    let mut call = Typed {
        arrays: [a, b, Array::NONE],
        ..call
    };
    (call.out.rs, call.out.cs, call.out.bs) = (rs, cs, elements);
    (call, elements)
}

fn gemm<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    /// Small, long, flat and thin ones, vectors; on both sides of a segment of k, and enough for several threads.
    const SHAPES: [[i64; 3]; 13] = [
        [1, 1, 1],
        [2, 3, 4],
        [3, 4, 0],
        [7, 9, 8],
        [13, 17, 300],
        [9, 5, 513],
        [1, 70, 70],
        [70, 1, 70],
        [40, 40, 3],
        [5, 64, 300],
        [64, 6, 300],
        [2, 70, 260],
        [64, 64, 280],
    ];
    const LAYOUTS: [Turned; 4] = [
        UPRIGHT,
        (true, true, true),
        (false, true, false),
        (true, false, true),
    ];
    let one = numbers::one(Type::Float(dtype));
    run.floats(dtype, Kind::Wide)?;
    let general = run.scalars(Kind::Wide, 0);
    for [m, n, k] in SHAPES {
        for (number, turned) in LAYOUTS.into_iter().enumerate() {
            let numbers = if number == 0 { [one, 0] } else { general };
            let call = run.call(op, dtype);
            let call = Typed {
                m,
                n,
                k,
                numbers,
                ..call
            };
            let (mut call, elements) = product(run, call, turned);
            if number == 3 {
                // The rows of A and C in reverse.
                let [a, ..] = &mut call.arrays;
                a.p = run.input((m - 1) * a.rs);
                a.rs = -a.rs;
                call.out.p = run.output(run.of(), (m - 1) * call.out.rs);
                call.out.rs = -call.out.rs;
            }
            run.typed(call, written(dtype, elements))?;
        }
    }
    let with = With {
        numbers: [1.0, 0.0],
        ..With::default()
    };
    let a = run.given(0, view(&[9, 20], &[1, 9]));
    let b = run.given(SECOND, view(&[20, 11], &[11, 1]));
    let row = run.given(300, view(&[20], &[2]));
    let out = Type::Float(dtype);
    let full = view(&[9, 11], &[12, 1]);
    run.tensors(&Over::Matmul, &[&a, &b], &with, full, out)?;
    run.tensors(&Over::Matmul, &[&row, &b], &with, view(&[11], &[1]), out)?;
    run.tensors(&Over::Matmul, &[&a, &row], &with, view(&[9], &[1]), out)?;
    run.tensors(&Over::Matmul, &[&row, &row], &with, view(&[], &[]), out)?;

    run.floats(dtype, Kind::Special)?;
    for turned in [UPRIGHT, (true, true, true)] {
        for class in 0..CLASSES {
            let numbers = run.scalars(Kind::Special, class);
            let call = run.call(op, dtype);
            let call = Typed {
                m: 13,
                n: 17,
                k: 30,
                numbers,
                ..call
            };
            let (call, elements) = product(run, call, turned);
            run.typed(call, written(dtype, elements))?;
        }
    }
    Ok(())
}

fn gemm_batched<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    run.floats(dtype, Kind::Wide)?;
    let numbers = run.scalars(Kind::Wide, 0);
    for [m, n, k, batch] in [
        [8, 9, 10, 3],
        [1, 20, 30, 4],
        [33, 17, 60, 2],
        [4, 4, 4, 40],
    ] {
        for (turned, shared) in [(UPRIGHT, true), ((true, false, true), false)] {
            let call = run.call(op, dtype);
            let call = Typed {
                m,
                n,
                k,
                batch,
                numbers,
                ..call
            };
            let (mut call, elements) = product(run, call, turned);
            let [a, b, _] = &mut call.arrays;
            a.bs = 7;
            b.bs = if shared { 0 } else { 11 };
            run.typed(call, written(dtype, elements * batch))?;
        }
    }
    let with = With {
        numbers: [-0.721_347_5, 1.618_034],
        ..With::default()
    };
    let a = run.given(0, view(&[2, 1, 9, 20], &[180, 180, 20, 1]));
    let b = run.given(SECOND, view(&[3, 20, 11], &[220, 1, 20]));
    let c = view(&[2, 3, 9, 11], &[297, 99, 11, 1]);
    run.tensors(&Over::Matmul, &[&a, &b], &with, c, Type::Float(dtype))
}

fn gemm_fused<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    let out = Type::Float(dtype);
    // Results that are not all at the bounds.
    run.floats(dtype, Kind::Narrow)?;
    let numbers = run.scalars(Kind::Wide, 0);
    for [m, n, k] in [[12, 19, 31], [1, 40, 33], [5, 64, 270], [60, 50, 20]] {
        for (bias_kind, turned) in [
            (BiasKind::None, UPRIGHT),
            (BiasKind::PerRow, (true, true, true)),
            (BiasKind::PerColumn, (false, true, false)),
        ] {
            let call = run.call(op, dtype);
            let call = Typed {
                m,
                n,
                k,
                bias_kind,
                numbers,
                ..call
            };
            let (mut call, elements) = product(run, call, turned);
            let [.., bias] = &mut call.arrays;
            *bias = run.vector(THIRD, 1);
            run.typed(call, written(dtype, elements))?;
        }
    }
    let with = With {
        numbers: [-0.721_347_5, 1.618_034],
        has_epilogue: true,
        ..With::default()
    };
    let a = run.given(0, view(&[4, 9, 20], &[180, 20, 1]));
    let b = run.given(SECOND, view(&[20, 11], &[11, 1]));
    let c = view(&[4, 9, 11], &[99, 11, 1]);
    for bias in [view(&[11], &[1]), view(&[9, 1], &[2, 1])] {
        let bias = run.given(THIRD, bias);
        run.tensors(&Over::Matmul, &[&a, &b, &bias], &with, c, out)?;
    }
    Ok(())
}

fn dot<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    let exact = Written {
        exact: true,
        ..written(dtype, 1)
    };
    run.floats(dtype, Kind::Wide)?;
    let call = run.call(op, dtype);
    for n in [1, 2, 5, 31, 64, 65, 100, 500, 1024, 1030, 2049, 2600] {
        let arrays = [run.vector(0, 1), run.vector(300, 1), Array::NONE];
        run.typed(Typed { n, arrays, ..call }, exact)?;
    }
    let strided = [run.vector(2990, -1), run.vector(9, 2), Array::NONE];
    let call = Typed {
        n: 1100,
        arrays: strided,
        ..call
    };
    run.typed(call, exact)?;
    let x = run.given(0, view(&[5, 1, 30], &[30, 30, 1]));
    let y = run.given(SECOND, view(&[7, 30], &[1, 7]));
    let out = view(&[5, 7], &[7, 1]);
    run.tensors(
        &Over::Dot,
        &[&x, &y],
        &With::default(),
        out,
        Type::Float(dtype),
    )?;
    run.floats(dtype, Kind::Special)?;
    let n = RUN as i64;
    for class in 0..CLASSES as i64 {
        let arrays = [
            run.vector(class * n, 1),
            run.vector(class * n + 3, 1),
            Array::NONE,
        ];
        run.typed(Typed { n, arrays, ..call }, exact)?;
    }
    Ok(())
}

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
        run.typed(call, written(dtype, n + 1))
    };
    run.floats(dtype, Kind::Wide)?;
    for n in [1, 4, 63, 500, 1030, 2049, 2600] {
        gradient(run, n, 0)?;
    }
    let with = With {
        has_loss: true,
        ..With::default()
    };
    let shape = [6, 10, 14];
    let pred = run.given(0, view(&shape, &[140, 14, 1]));
    let target = run.given(SECOND, view(&shape, &[1, 6, 60]));
    for strides in [&[140, 14, 1], &[-14, 84, 1]] {
        let out = view(&shape, strides);
        run.tensors(&Over::MseGrad, &[&pred, &target], &with, out, of)?;
    }
    run.floats(dtype, Kind::Special)?;
    for class in 0..CLASSES {
        gradient(run, RUN as i64, (class * RUN) as i64)?;
    }
    Ok(())
}

fn lsq_grad<B: Backend>(run: &mut Run<'_, B>, op: usize, dtype: Dtype) -> Result<(), B::Error> {
    for kind in [Kind::Wide, Kind::Special] {
        run.floats(dtype, kind)?;
        // The last is enough for several threads.
        for [m, n] in [[3, 6], [70, 1], [1, 50], [110, 41], [33, 64], [300, 300]] {
            for turned in [false, true] {
                let a = matrix(run, 0, m, n, turned);
                let arrays = [a, run.vector(SECOND, 1), run.vector(SECOND + 500, 1)];
                let call = run.call(op, dtype);
                let call = Typed {
                    m,
                    n,
                    arrays,
                    ..call
                };
                let gradient = Written {
                    exact: true,
                    ..written(dtype, n)
                };
                run.typed(call, gradient)?;
            }
        }
        let a = run.given(0, view(&[20, 15], &[1, 20]));
        let x = run.given(SECOND, view(&[15], &[2]));
        let y = run.given(SECOND + 500, view(&[20], &[-3]));
        let out = view(&[15], &[1]);
        let with = With::default();
        run.tensors(
            &Over::LsqGrad,
            &[&a, &x, &y],
            &with,
            out,
            Type::Float(dtype),
        )?;
    }
    Ok(())
}
