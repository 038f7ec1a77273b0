//! The calls of matrix products.

use core::hint::black_box;

use super::backend::{Array, Backend, Over, Typed};
use super::numbers::{self, CLASSES, Kind};
use super::products::{SECOND, THIRD, view, written};
use super::run::{Run, With, each};
use crate::BiasKind;
use crate::element::Dtype;
use crate::tensor::kind::Type;

/// Inputs that a first or a second operand may have.
const ROOM: i64 = SECOND - 10;

/// Returns a matrix of inputs, whose rows (columns where `turned`) are contiguous. They overlap where there is no room.
#[inline(never)]
pub(super) fn matrix<B: Backend>(
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
    let apart = apart.min(length).max(1);
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

/// Places the matrices of a product. Returns how many elements lie from the first of C to its last.
#[inline(never)]
fn product<B: Backend>(run: &Run<'_, B>, call: &mut Typed, turned: Turned) -> i64 {
    let Typed { m, n, k, .. } = *call;
    let a = matrix(run, 0, m, k, turned.0);
    let b = matrix(run, SECOND, k, n, turned.1);
    let (rs, cs) = if turned.2 { (1, m + 1) } else { (n, 1) };
    let elements = (m - 1) * rs + (n - 1) * cs + 1;
    call.arrays = [a, b, Array::NONE];
    (call.out.rs, call.out.cs, call.out.bs) = (rs, cs, elements);
    elements
}

#[inline(never)]
pub(super) fn gemm<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    dtype: Dtype,
) -> Result<(), B::Error> {
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
    for &[m, n, k] in each(&SHAPES) {
        for (number, &turned) in each(&LAYOUTS).iter().enumerate() {
            let mut call = run.call(op, dtype);
            (call.m, call.n, call.k) = (m, n, k);
            call.numbers = if number == 0 { [one, 0] } else { general };
            let elements = product(run, &mut call, turned);
            if number == 3 {
                // The rows of A and C in reverse.
                let [a, ..] = &mut call.arrays;
                a.p = run.input((m - 1) * a.rs);
                a.rs = -a.rs;
                call.out.p = run.output(run.of(), (m - 1) * call.out.rs);
                call.out.rs = -call.out.rs;
            }
            run.typed(&call, written(dtype, elements))?;
        }
    }
    let with = With {
        numbers: [1.0, 0.0],
        ..With::NONE
    };
    let a = run.input_tensor(0, view(&[9, 20], &[1, 9]));
    let b = run.input_tensor(SECOND, view(&[20, 11], &[11, 1]));
    let row = run.input_tensor(300, view(&[20], &[2]));
    let out = Type::Float(dtype);
    let full = view(&[9, 11], &[12, 1]);
    run.tensors(&Over::Matmul, &[&a, &b], &with, full, out)?;
    run.tensors(&Over::Matmul, &[&row, &b], &with, view(&[11], &[1]), out)?;
    run.tensors(&Over::Matmul, &[&a, &row], &with, view(&[9], &[1]), out)?;
    run.tensors(&Over::Matmul, &[&row, &row], &with, view(&[], &[]), out)?;

    run.floats(dtype, Kind::Special)?;
    for &turned in each(&[UPRIGHT, (true, true, true)]) {
        for class in 0..black_box(CLASSES) {
            let mut call = run.call(op, dtype);
            (call.m, call.n, call.k) = (13, 17, 30);
            call.numbers = run.scalars(Kind::Special, class);
            let elements = product(run, &mut call, turned);
            run.typed(&call, written(dtype, elements))?;
        }
    }
    Ok(())
}

#[inline(never)]
pub(super) fn gemm_batched<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    dtype: Dtype,
) -> Result<(), B::Error> {
    run.floats(dtype, Kind::Wide)?;
    let numbers = run.scalars(Kind::Wide, 0);
    for &[m, n, k, batch] in each(&[
        [8, 9, 10, 3],
        [1, 20, 30, 4],
        [33, 17, 60, 2],
        [4, 4, 4, 40],
    ]) {
        for &(turned, shared) in each(&[(UPRIGHT, true), ((true, false, true), false)]) {
            let mut call = run.call(op, dtype);
            (call.m, call.n, call.k, call.batch) = (m, n, k, batch);
            call.numbers = numbers;
            let elements = product(run, &mut call, turned);
            let [a, b, _] = &mut call.arrays;
            a.bs = 7;
            b.bs = if shared { 0 } else { 11 };
            run.typed(&call, written(dtype, elements * batch))?;
        }
    }
    let with = With {
        numbers: [-0.721_347_5, 1.618_034],
        ..With::NONE
    };
    let a = run.input_tensor(0, view(&[2, 1, 9, 20], &[180, 180, 20, 1]));
    let b = run.input_tensor(SECOND, view(&[3, 20, 11], &[220, 1, 20]));
    let c = view(&[2, 3, 9, 11], &[297, 99, 11, 1]);
    run.tensors(&Over::Matmul, &[&a, &b], &with, c, Type::Float(dtype))
}

#[inline(never)]
pub(super) fn gemm_fused<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    dtype: Dtype,
) -> Result<(), B::Error> {
    let out = Type::Float(dtype);
    // Results that are not all at the bounds.
    run.floats(dtype, Kind::Narrow)?;
    let numbers = run.scalars(Kind::Wide, 0);
    for &[m, n, k] in each(&[[12, 19, 31], [1, 40, 33], [5, 64, 270], [60, 50, 20]]) {
        for &(bias_kind, turned) in each(&[
            (BiasKind::None, UPRIGHT),
            (BiasKind::PerRow, (true, true, true)),
            (BiasKind::PerColumn, (false, true, false)),
        ]) {
            let mut call = run.call(op, dtype);
            (call.m, call.n, call.k) = (m, n, k);
            (call.bias_kind, call.numbers) = (bias_kind, numbers);
            let elements = product(run, &mut call, turned);
            let [.., bias] = &mut call.arrays;
            *bias = run.vector(THIRD, 1);
            run.typed(&call, written(dtype, elements))?;
        }
    }
    let with = With {
        numbers: [-0.721_347_5, 1.618_034],
        has_epilogue: true,
        ..With::NONE
    };
    let a = run.input_tensor(0, view(&[4, 9, 20], &[180, 20, 1]));
    let b = run.input_tensor(SECOND, view(&[20, 11], &[11, 1]));
    let c = view(&[4, 9, 11], &[99, 11, 1]);
    for &bias in each(&[view(&[11], &[1]), view(&[9, 1], &[2, 1])]) {
        let bias = run.input_tensor(THIRD, bias);
        run.tensors(&Over::Matmul, &[&a, &b, &bias], &with, c, out)?;
    }
    Ok(())
}
