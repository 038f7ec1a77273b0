//! The calls of elementwise operations.

use core::hint::black_box;

use super::backend::{Array, Backend, Over, Typed};
use super::numbers::{self, CLASSES, Kind, RUN};
use super::run::{HALVES, INTEGERS, Run, TYPES, View, With, Written, each};
use crate::element::Dtype;
use crate::table::{ELEMENTWISE, Elementwise};
use crate::tensor::Tensor;
use crate::tensor::kind::Type;

/// Below and above the registers, the unrolled loops and the fast path of small arrays.
const LENGTHS: [i64; 6] = [1, 3, 17, 130, 500, 1001];

/// The shapes and strides of the arrays of a call.
struct Layout {
    arrays: [View<'static>; 2],
    /// Of scalars that are arrays; without axes they are numbers.
    scalars: [View<'static>; 2],
    out: View<'static>,
}

macro_rules! view {
    ($shape:expr, $strides:expr) => {
        View {
            shape: &$shape,
            strides: &$strides,
        }
    };
}

const NUMBER: View<'static> = view!([], []);

const LAYOUTS: [Layout; 6] = [
    // Contiguous.
    Layout {
        arrays: [view!([1001], [1]); 2],
        scalars: [NUMBER; 2],
        out: view!([1001], [1]),
    },
    // Every second column beside a transposed matrix, to rows with gaps.
    Layout {
        arrays: [view!([12, 40], [80, 2]), view!([12, 40], [1, 12])],
        scalars: [NUMBER; 2],
        out: view!([12, 40], [45, 1]),
    },
    // Broadcast by strides of 0.
    Layout {
        arrays: [view!([12, 40], [0, 1]), view!([12, 40], [1, 0])],
        scalars: [NUMBER; 2],
        out: view!([12, 40], [40, 1]),
    },
    // Backwards, and axes in different orders.
    Layout {
        arrays: [
            view!([6, 10, 14], [-140, 14, -1]),
            view!([6, 10, 14], [1, 6, 60]),
        ],
        scalars: [NUMBER; 2],
        out: view!([6, 10, 14], [14, -84, 1]),
    },
    // Broadcast by shapes.
    Layout {
        arrays: [view!([40], [1]), view!([12, 1], [1, 1])],
        scalars: [NUMBER; 2],
        out: view!([12, 40], [40, 1]),
    },
    // Scalars that differ from element to element.
    Layout {
        arrays: [view!([12, 40], [40, 1]); 2],
        scalars: [view!([40], [2]), view!([12, 1], [3, 1])],
        out: view!([12, 40], [40, 1]),
    },
];

/// The last two need several arrays, and scalars.
const BY_SHAPES: usize = 4;
const OF_SCALARS: usize = 5;

#[inline(never)]
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>, op: usize) -> Result<(), B::Error> {
    let Some(row) = ELEMENTWISE.get(op) else {
        return Ok(());
    };
    for &dtype in each(&TYPES) {
        typed(run, op, row, dtype)?;
    }
    for &dtype in each(&TYPES).iter().chain(each(&HALVES)) {
        tensors(
            run,
            op,
            row,
            Type::Float(dtype),
            &[Kind::Wide, Kind::Special],
        )?;
    }
    if row.takes_integers {
        for &of in each(&INTEGERS) {
            tensors(run, op, row, Type::Integer(of), &[Kind::Wide])?;
        }
    }
    Ok(())
}

#[inline(never)]
fn typed<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    row: &Elementwise,
    dtype: Dtype,
) -> Result<(), B::Error> {
    let written = |elements| Written {
        of: Type::Float(dtype),
        elements,
        exact: false,
    };
    run.floats(dtype, Kind::Wide)?;
    let mut call = run.call(op, dtype);
    call.arrays = [run.vector(0, 1), run.vector(1002, 1), Array::NONE];
    call.numbers = run.scalars(Kind::Wide, 0);
    for &n in each(&LENGTHS) {
        call.n = n;
        run.typed(&call, written(n))?;
    }
    if row.in_place.is_some() {
        let mut call = Typed { n: 130, ..call };
        let inputs = row.arguments.iter().filter(|(_, role)| role.is_array());
        for (array, (_, role)) in call.arrays.iter_mut().zip(inputs) {
            if *role == crate::table::Role::replaced {
                array.p = call.out.p;
            }
        }
        run.typed(&call, written(call.n))?;
    }
    run.floats(dtype, Kind::Special)?;
    call.n = (CLASSES * RUN) as i64;
    for class in 0..black_box(CLASSES) {
        call.numbers = run.scalars(Kind::Special, class);
        run.typed(&call, written(call.n))?;
    }
    Ok(())
}

#[inline(never)]
fn tensors<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    row: &Elementwise,
    of: Type,
    kinds: &[Kind],
) -> Result<(), B::Error> {
    let arrays = row.arguments.iter().filter(|(_, role)| role.is_array());
    let arrays = arrays.count() + usize::from(row.updates);
    let has_scalars = row.arguments.iter().any(|(_, role)| !role.is_array());
    for &kind in kinds {
        run.numbers(of, kind)?;
        for (number, layout) in each(&LAYOUTS).iter().enumerate() {
            let is_broadcast = number == BY_SHAPES && arrays < 2;
            if is_broadcast || number == OF_SCALARS && !has_scalars {
                continue;
            }
            if number == OF_SCALARS {
                // A device takes scalars as numbers only.
                run.stay_on_host();
            }
            over_tensors(run, op, row, layout, kind)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn over_tensors<B: Backend>(
    run: &mut Run<'_, B>,
    op: usize,
    row: &Elementwise,
    layout: &Layout,
    kind: Kind,
) -> Result<(), B::Error> {
    let of = run.of();
    // The bytes of each begin its word.
    let mut numbers = [0u64; 2];
    let scalars = run.scalars(kind, 5);
    for (slot, bits) in numbers.iter_mut().zip(scalars) {
        // SAFETY: a word has room for a number.
        unsafe { numbers::store(of, (slot as *mut u64).cast(), bits) };
    }
    let [x, y] = layout.arrays;
    let mut arrays = [run.input_tensor(0, x), run.input_tensor(1002, y)].into_iter();
    let mut scalars = layout.scalars.iter().zip(&mut numbers).zip([100, 200]);
    let mut inputs = [run.input_tensor(0, x); 4];
    for (slot, (_, role)) in inputs.iter_mut().zip(row.arguments) {
        let input = if role.is_array() {
            arrays.next()
        } else {
            scalars.next().map(|((view, number), element)| {
                if view.shape.is_empty() {
                    run.number((number as *mut u64).cast())
                } else {
                    run.input_tensor(element, *view)
                }
            })
        };
        if let Some(input) = input {
            *slot = input;
        }
    }
    let [a, b, c, d]: [&Tensor; 4] = inputs.each_ref();
    let op = Over::Elementwise(op);
    run.tensors(&op, &[a, b, c, d], &With::NONE, layout.out, of)
}
