//! The calls of reductions.

use super::backend::{Array, Backend, Over, Typed};
use super::numbers::{CLASSES, Kind, RUN};
use super::run::{Run, TYPES, View, With, Written};
use crate::element::Dtype;
use crate::table::{ELEMENTWISE, REDUCTIONS, Reduction};
use crate::tensor::kind::Type;

/// Around the registers, the lanes and the chunks of `f32` and `f64`.
const LENGTHS: [i64; 13] = [1, 2, 5, 16, 31, 64, 65, 100, 500, 1024, 1030, 2049, 2600];

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

macro_rules! takes_half {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {
        [$(crate::reduction_facts!($Bound $out $folds $empty).takes_half),*]
    };
}

/// Whether a reduction over tensors takes types of 16 bits.
const TAKES_HALF: [bool; REDUCTIONS.len()] = crate::for_each_reduction!(takes_half! {});

pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, number: usize) -> Result<(), B::Error> {
    let (Some(row), Some(&takes_half)) = (REDUCTIONS.get(number), TAKES_HALF.get(number)) else {
        return Ok(());
    };
    for dtype in TYPES {
        typed(run, number, row, dtype)?;
        tensors(run, number, row, dtype)?;
    }
    if takes_half {
        tensors(run, number, row, Dtype::F16)?;
        tensors(run, number, row, Dtype::Bf16)?;
    }
    Ok(())
}

fn result(row: &Reduction, dtype: Dtype) -> Type {
    if row.gives_index {
        Type::I64
    } else {
        Type::Float(dtype)
    }
}

fn typed<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    dtype: Dtype,
) -> Result<(), B::Error> {
    let written = |elements| Written {
        of: result(row, dtype),
        elements,
        exact: true,
    };
    for kind in [Kind::Wide, Kind::Narrow] {
        run.floats(dtype, kind)?;
        let call = run.call(ELEMENTWISE.len() + number, dtype);
        let mut vector = |n: i64, element, stride| {
            let arrays = [run.vector(element, stride), Array::NONE, Array::NONE];
            let ddof = i64::from(n > 1);
            let vector = Typed {
                n,
                arrays,
                ddof,
                ..call
            };
            run.typed(vector, written(1))
        };
        for n in LENGTHS {
            vector(n, 7, 1)?;
        }
        vector(1200, 2900, -2)?;
        vector(3, 5, 0)?;
        for [m, n, rs, cs] in MATRICES {
            if kind == Kind::Narrow && m * n > 100_000 {
                continue;
            }
            // The first element of rows that go backwards is in the last one.
            let first = (m - 1) * (-rs).max(0);
            let mut x = run.vector(first, rs);
            x.cs = cs;
            let mut call = Typed {
                rows: true,
                m,
                n,
                arrays: [x, Array::NONE, Array::NONE],
                ..call
            };
            // Every second element of the output.
            call.out.rs = 2;
            run.typed(call, written(2 * m - 1))?;
        }
    }
    special(run, number, row, dtype)
}

/// Rows of one class of special numbers each, and columns.
fn special<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    dtype: Dtype,
) -> Result<(), B::Error> {
    run.floats(dtype, Kind::Special)?;
    let (classes, run_of_class) = (CLASSES as i64, RUN as i64);
    let call = Typed {
        n: run_of_class,
        ..run.call(ELEMENTWISE.len() + number, dtype)
    };
    let written = |elements| Written {
        of: result(row, dtype),
        elements,
        exact: true,
    };
    let x = run.vector(0, run_of_class);
    for class in 0..classes {
        let arrays = [
            run.vector(class * run_of_class, 1),
            Array::NONE,
            Array::NONE,
        ];
        run.typed(Typed { arrays, ..call }, written(1))?;
    }
    let (rows, arrays) = (true, [x, Array::NONE, Array::NONE]);
    let by_rows = Typed {
        rows,
        m: classes,
        arrays,
        ..call
    };
    run.typed(by_rows, written(classes))?;
    // Three elements: one of each class without NaNs.
    let x = Array {
        rs: 1,
        cs: run_of_class,
        ..x
    };
    let by_columns = Typed {
        m: run_of_class,
        n: 3,
        arrays: [x, Array::NONE, Array::NONE],
        ..by_rows
    };
    run.typed(by_columns, written(run_of_class))
}

fn tensors<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    dtype: Dtype,
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
    run.floats(dtype, Kind::Narrow)?;
    for strides in &STRIDES {
        for axes in AXES {
            let x = View {
                shape: &[6, 10, 14],
                strides,
            };
            over_tensors(run, number, row, x, axes)?;
        }
    }
    // Longer than a chunk of every type.
    for axis in [0, 1] {
        let x = View {
            shape: &[3, 2100],
            strides: &[50, 1],
        };
        over_tensors(run, number, row, x, Some(&[axis]))?;
    }
    Ok(())
}

fn over_tensors<B: Backend>(
    run: &mut Run<'_, B>,
    number: usize,
    row: &Reduction,
    view: View<'_>,
    axes: Option<&[i32]>,
) -> Result<(), B::Error> {
    let Type::Float(dtype) = run.of() else {
        return Ok(());
    };
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
    let slots = shape.iter_mut().zip(&mut strides).take(rank);
    for (axis, ((slot, place), &count)) in slots.zip(view.shape).enumerate().rev() {
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
        ..With::default()
    };
    let x = run.given(0, view);
    run.tensors(
        &Over::Reduction(number),
        &[&x],
        &with,
        out,
        result(row, dtype),
    )
}
