//! Reductions of vectors and of rows, and `dot`.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense};
use diptych_tests::ops::reductions;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use proptest::prelude::*;

use super::inputs::{
    Layout, extent, input, near_threshold, near_threshold_matrix, output_stride, side, stride,
    values, weight_of_thresholds,
};
use super::run::{MOST_WORK, Run, run};
use crate::random_test;

/// The operations of two vectors.
pub const PAIRS: [&str; 1] = ["dot"];

random_test!(vectors, 8000, vector(), check_vector);
random_test!(rows, 5000, matrix(), check_rows);
random_test!(pairs, 3000, pair(), check_pair);

/// The initial value of outputs, which a call that fails must not change.
fn untouched<T: Dtype>() -> T {
    T::of_bits(T::NAN_BITS | 0x55)
}

fn length() -> impl Strategy<Value = usize> {
    // Calls use several threads from 512 KiB on.
    prop_oneof![
        14 => extent(2100),
        10 => extent(7000),
        1 => 60_000..150_000usize,
        weight_of_thresholds() => near_threshold(MOST_WORK / 4),
    ]
}

#[derive(Clone, Debug)]
struct Vector {
    op: usize,
    n: usize,
    at: (i64, usize),
    values: Values,
    seed: u64,
    run: Run,
}

fn vector() -> impl Strategy<Value = Vector> {
    let op = 0..reductions::<f32>().len();
    (op, length(), stride(), values(), any::<u64>(), run()).prop_map(
        |(op, n, at, values, seed, run)| Vector {
            op,
            n,
            at,
            values,
            seed,
            run,
        },
    )
}

fn check_vector<T: Dtype>(case: &Vector, report: &mut Report) {
    let op = &reductions::<T>()[case.op];
    let n = case.n;
    let x = cases::vector::<T>(case.values, n, case.seed);
    let x = Placed::vector(&x, case.at.0, case.at.1);
    let want = op.expected(&x.dense().data);
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let mut out = Box::new(untouched::<T>());
            // SAFETY: x has n elements at its stride, out has one.
            let status = unsafe { op.call(exec, n as i64, x.ptr(), x.cs(), &mut *out) };
            let context = || format!("{} {config}, n = {n}", op.name);
            report.check(status.is_ok() == want.is_some(), || {
                format!("{}: {status:?}", context())
            });
            report.equal(&[*out], &[want.unwrap_or(untouched())], Nan::Bits, context);
        });
}

#[derive(Clone, Debug)]
struct Matrix {
    op: usize,
    shape: (usize, usize),
    layout: Layout,
    out: (i64, usize),
    values: Values,
    seed: u64,
    run: Run,
}

fn matrix() -> impl Strategy<Value = Matrix> {
    let few = (side(20), extent(5000));
    let many = (side(3000), extent(40));
    // Calls use several threads from 512 KiB on.
    let large = prop_oneof![
        (300..400usize, 300..400usize),
        (1..20usize, 9000..12_000usize),
        (9000..12_000usize, 1..20usize),
    ];
    let shape = prop_oneof![
        11 => (side(140), extent(140)),
        7 => few,
        7 => many,
        1 => large,
        weight_of_thresholds() => near_threshold_matrix(MOST_WORK / 4),
    ];
    let op = 0..reductions::<f32>().len();
    (
        op,
        shape,
        input(),
        output_stride(),
        values(),
        any::<u64>(),
        run(),
    )
        .prop_map(|(op, shape, layout, out, values, seed, run)| Matrix {
            op,
            shape,
            layout,
            out,
            values,
            seed,
            run,
        })
}

fn check_rows<T: Dtype>(case: &Matrix, report: &mut Report) {
    let op = &reductions::<T>()[case.op];
    let (m, n) = case.shape;
    let x = case
        .layout
        .place(&cases::dense::<T>(case.values, m, n, case.seed));
    let elements: Dense<T> = x.dense();
    // A ddof that is invalid for the length is refused even if there are no rows.
    let possible = n == 0 || op.expected(&vec![T::one(); n]).is_some();
    let want: Option<Vec<T>> = (0..m).map(|i| op.expected(elements.row(i))).collect();
    let want = want.filter(|_| possible);
    let blank = vec![untouched(); m];
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let mut out = Placed::vector(&blank, case.out.0, case.out.1);
            let (m, n, p) = (m as i64, n as i64, out.mut_ptr());
            // SAFETY: x has m by n elements at its strides, out has m at its stride.
            let status =
                unsafe { op.call_rows(exec, m, n, x.ptr(), x.rs(), x.cs(), p, case.out.0) };
            let context = || {
                format!(
                    "{}_rows {config}, {m} x {n}, rs {}, cs {}",
                    op.name,
                    x.rs(),
                    x.cs()
                )
            };
            report.check(status.is_ok() == want.is_some(), || {
                format!("{}: {status:?}", context())
            });
            let want = want.as_ref().unwrap_or(&blank);
            report.equal(&out.dense().data, want, Nan::Bits, context);
            report.check(out.gaps_intact(), || {
                format!("{}: wrote outside", context())
            });
        });
}

#[derive(Clone, Debug)]
struct Pair {
    name: &'static str,
    n: usize,
    x: (i64, usize),
    y: (i64, usize),
    values: Values,
    seed: u64,
    run: Run,
}

fn pair() -> impl Strategy<Value = Pair> {
    let name = prop::sample::select(PAIRS.to_vec());
    (
        name,
        length(),
        stride(),
        stride(),
        values(),
        any::<u64>(),
        run(),
    )
        .prop_map(|(name, n, x, y, values, seed, run)| Pair {
            name,
            n,
            x,
            y,
            values,
            seed,
            run,
        })
}

fn check_pair<T: Dtype>(case: &Pair, report: &mut Report) {
    let n = case.n;
    let placed = |(inc, shift): (i64, usize), seed| {
        Placed::<T>::vector(&cases::vector(case.values, n, seed), inc, shift)
    };
    let (x, y) = (placed(case.x, case.seed), placed(case.y, !case.seed));
    let want = model::dot(&x.dense().data, &y.dense().data);
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let mut out = Box::new(untouched::<T>());
            // SAFETY: x and y have n elements at their strides, out has one.
            let status =
                unsafe { raw::dot(exec, n as i64, x.ptr(), x.cs(), y.ptr(), y.cs(), &mut *out) };
            let context = || format!("{} {config}, n = {n}", case.name);
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(&[*out], &[want], Nan::Bits, context);
        });
}
