//! The calls of maps over rows.

use core::hint::black_box;

use super::backend::{Backend, Over};
use super::numbers::{CLASSES, Kind, RUN};
use super::run::{HALVES, Run, TYPES, View, With, Written, each};
use crate::element::Dtype;
use crate::table::{ELEMENTWISE, REDUCTIONS};
use crate::tensor::kind::Type;

/// m, n, and the strides of x and of the output: rows, columns, from one to the other, neither; short, long, many (these
/// overlap).
const MATRICES: [[i64; 6]; 9] = [
    [1, 1030, 1, 1, 1, 1],
    [5, 9, 9, 1, 9, 1],
    [30, 90, 90, 1, 90, 1],
    [30, 90, 1, 30, 1, 30],
    [70, 40, 1, 70, 40, 1],
    [20, 30, -31, 2, 2, 40],
    [2, 2500, 100, 1, 2500, 1],
    [640, 8, 4, 1, 8, 1],
    [1100, 4, 1, 1, 1, 1100],
];

#[inline(never)]
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, number: usize) -> Result<(), B::Error> {
    for &dtype in each(&TYPES) {
        typed(run, number, dtype)?;
        tensors(run, number, dtype)?;
    }
    for &dtype in each(&HALVES) {
        tensors(run, number, dtype)?;
    }
    Ok(())
}

#[inline(never)]
fn typed<B: Backend>(run: &mut Run<'_, B>, number: usize, dtype: Dtype) -> Result<(), B::Error> {
    let written = |elements| Written {
        of: Type::Float(dtype),
        elements,
        exact: false,
    };
    let op = ELEMENTWISE.len() + REDUCTIONS.len() + number;
    for &kind in each(&[Kind::Wide, Kind::Narrow]) {
        run.floats(dtype, kind)?;
        let mut call = run.call(op, dtype);
        for &[m, n, rs, cs, out_rs, out_cs] in each(&MATRICES) {
            // The first element of rows that go backwards is in the last one.
            let [x, ..] = &mut call.arrays;
            *x = run.vector((m - 1) * (-rs).max(0), rs);
            x.cs = cs;
            (call.m, call.n, call.out.rs, call.out.cs) = (m, n, out_rs, out_cs);
            run.typed(&call, written((m - 1) * out_rs + (n - 1) * out_cs + 1))?;
        }
    }
    // Rows of one class of special numbers each, and of one of each.
    run.floats(dtype, Kind::Special)?;
    let (classes, length) = (black_box(CLASSES) as i64, RUN as i64);
    let mut call = run.call(op, dtype);
    for [m, n, rs, cs] in [[classes, length, length, 1], [length, classes, 1, length]] {
        let [x, ..] = &mut call.arrays;
        *x = run.vector(0, rs);
        x.cs = cs;
        (call.m, call.n, call.out.rs, call.out.cs) = (m, n, n, 1);
        run.typed(&call, written(m * n))?;
    }
    Ok(())
}

#[inline(never)]
fn tensors<B: Backend>(run: &mut Run<'_, B>, number: usize, dtype: Dtype) -> Result<(), B::Error> {
    /// Contiguous, turned, and backwards with gaps; the output is turned or contiguous.
    const STRIDES: [[[i64; 3]; 2]; 3] = [
        [[140, 14, 1], [140, 14, 1]],
        [[1, 6, 60], [140, 14, 1]],
        [[-280, 28, 2], [1, 6, 60]],
    ];
    const AXES: [Option<&[i32]>; 7] = [
        Some(&[0]),
        Some(&[1]),
        Some(&[2]),
        Some(&[0, -1]),
        Some(&[1, 2]),
        Some(&[]),
        None,
    ];
    run.floats(dtype, Kind::Narrow)?;
    let of = Type::Float(dtype);
    for [strides, out] in each(&STRIDES) {
        for &axes in each(&AXES) {
            let view = |strides| View {
                shape: &[6, 10, 14],
                strides,
            };
            let with = With { axes, ..With::NONE };
            let x = run.input_tensor(0, view(strides));
            run.tensors(&Over::RowMap(number), &[&x], &with, view(out), of)?;
        }
    }
    Ok(())
}
