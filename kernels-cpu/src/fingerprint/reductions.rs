//! The calls of reductions.

use core::hint::black_box;

use super::backend::{Backend, Over};
use super::numbers::{CLASSES, Kind, RUN};
use super::run::{HALVES, INTEGERS, Run, TYPES, View, With, Written, each};
use crate::element::Dtype;
use crate::table::{ELEMENTWISE, REDUCTIONS, Reduction};
use crate::tensor::kind::{Integer, Type};

/// The length, the first input and the stride of vectors: around the registers, the lanes and the chunks of both types.
const VECTORS: [[i64; 3]; 15] = [
    [1, 7, 1],
    [2, 7, 1],
    [5, 7, 1],
    [16, 7, 1],
    [31, 7, 1],
    [64, 7, 1],
    [65, 7, 1],
    [100, 7, 1],
    [500, 7, 1],
    [1024, 7, 1],
    [1030, 7, 1],
    [2049, 7, 1],
    [2600, 7, 1],
    [1200, 2900, -2],
    [3, 5, 0],
];

/// m, n and strides of matrices: rows, columns, neither; short, long, many. (Rows overlap where they are long.)
const MATRICES: [[i64; 4]; 9] = [
    [5, 9, 9, 1],
    [30, 90, 90, 1],
    [30, 90, 1, 30],
    [3, 700, 1, 4],
    [70, 40, 1, 70],
    [20, 30, -31, 2],
    [2, 2600, 100, 1],
    // Enough for several threads.
    [64, 2600, 5, 1],
    [640, 250, 1, 9],
];

#[inline(never)]
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, number: usize) -> Result<(), B::Error> {
    let Some(row) = REDUCTIONS.get(number) else {
        return Ok(());
    };
    for &dtype in each(&TYPES) {
        typed(run, number, row, dtype)?;
        tensors(run, number, row, Type::Float(dtype))?;
    }
    for &dtype in each(&HALVES) {
        tensors(run, number, row, Type::Float(dtype))?;
    }
    if row.takes_integers {
        for &of in each(&INTEGERS) {
            tensors(run, number, row, Type::Integer(of))?;
        }
    }
    Ok(())
}

/// Returns the type of results; of integers, that which holds all totals and extremes.
fn result(row: &Reduction, of: Type) -> Type {
    let is_extreme = matches!(row.folds, ["Min"] | ["Max"]);
    match of {
        Type::Float(_) if !row.gives_index => of,
        Type::Integer(_) if !row.gives_index && is_extreme => of,
        _ => Type::Integer(Integer::I64),
    }
}

#[inline(never)]
fn typed<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    dtype: Dtype,
) -> Result<(), B::Error> {
    let written = |elements| Written {
        of: result(row, Type::Float(dtype)),
        elements,
        exact: true,
    };
    for &kind in each(&[Kind::Wide, Kind::Narrow]) {
        run.floats(dtype, kind)?;
        let mut call = run.call(ELEMENTWISE.len() + number, dtype);
        for &[n, element, stride] in each(&VECTORS) {
            let [x, ..] = &mut call.arrays;
            *x = run.vector(element, stride);
            (call.n, call.ddof) = (n, i64::from(n > 1));
            run.typed(&call, written(1))?;
        }
        // Into every second element of the output.
        (call.rows, call.out.rs, call.ddof) = (true, 2, 0);
        for &[m, n, rs, cs] in each(&MATRICES) {
            if kind == Kind::Narrow && m * n > 100_000 {
                continue;
            }
            // The first element of rows that go backwards is in the last one.
            let [x, ..] = &mut call.arrays;
            *x = run.vector((m - 1) * (-rs).max(0), rs);
            x.cs = cs;
            (call.m, call.n) = (m, n);
            run.typed(&call, written(2 * m - 1))?;
        }
    }
    special(run, number, row, dtype)
}

/// Rows of one class of special numbers each, and columns.
#[inline(never)]
fn special<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    dtype: Dtype,
) -> Result<(), B::Error> {
    run.floats(dtype, Kind::Special)?;
    let (classes, length) = (black_box(CLASSES) as i64, RUN as i64);
    let written = |elements| Written {
        of: result(row, Type::Float(dtype)),
        elements,
        exact: true,
    };
    let mut call = run.call(ELEMENTWISE.len() + number, dtype);
    call.n = length;
    for class in 0..classes {
        let [x, ..] = &mut call.arrays;
        *x = run.vector(class * length, 1);
        run.typed(&call, written(1))?;
    }
    let [x, ..] = &mut call.arrays;
    *x = run.vector(0, length);
    (call.rows, call.m) = (true, classes);
    run.typed(&call, written(classes))?;
    // Three elements: one of each class without NaNs.
    let [x, ..] = &mut call.arrays;
    (x.rs, x.cs) = (1, length);
    (call.m, call.n) = (length, 3);
    run.typed(&call, written(length))
}

#[inline(never)]
fn tensors<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    of: Type,
) -> Result<(), B::Error> {
    /// Contiguous, turned, and backwards with gaps.
    const STRIDES: [[i64; 3]; 3] = [[140, 14, 1], [1, 6, 60], [-280, 28, 2]];
    const AXES: [Option<&[i32]>; 8] = [
        Some(&[0]),
        Some(&[1]),
        Some(&[2]),
        Some(&[0, 1]),
        Some(&[0, -1]),
        Some(&[1, 2]),
        Some(&[]),
        None,
    ];
    run.numbers(of, Kind::Narrow)?;
    for strides in each(&STRIDES) {
        for &axes in each(&AXES) {
            let x = View {
                shape: &[6, 10, 14],
                strides,
            };
            over_tensors(run, number, row, x, axes)?;
        }
    }
    // Longer than a chunk of every type.
    for &axis in each(&[0, 1]) {
        let x = View {
            shape: &[3, 2100],
            strides: &[50, 1],
        };
        over_tensors(run, number, row, x, Some(&[axis]))?;
    }
    Ok(())
}

#[inline(never)]
fn over_tensors<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    view: View<'_>,
    axes: Option<&[i32]>,
) -> Result<(), B::Error> {
    let rank = view.shape.len();
    let is_reduced = |axis: usize| match axes {
        Some(axes) => {
            let axis = axis as i32;
            axes.contains(&axis) || axes.contains(&(axis - rank as i32))
        }
        None => true,
    };
    // The output keeps the axes that are reduced, with length 1, and is contiguous.
    let (mut shape, mut strides) = ([1; 3], [1; 3]);
    let (mut stride, mut reduced) = (1, 1);
    for axis in (0..rank).rev() {
        let slots = (shape.get_mut(axis), strides.get_mut(axis));
        let (Some(slot), Some(place), Some(&count)) = (slots.0, slots.1, view.shape.get(axis))
        else {
            break;
        };
        *place = stride;
        if is_reduced(axis) {
            reduced *= count;
        } else {
            *slot = count;
            stride *= count;
        }
    }
    let out = View {
        shape: shape.get(..rank).unwrap_or(&[]),
        strides: strides.get(..rank).unwrap_or(&[]),
    };
    let with = With {
        axes,
        ddof: i64::from(reduced > 1),
        ..With::NONE
    };
    let x = run.input_tensor(0, view);
    run.tensors(
        &Over::Reduction(number),
        &[&x],
        &with,
        out,
        result(row, run.of()),
    )
}
