//! Reductions of vectors and of rows, and `dot`.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense};
use diptych_tests::ops::reductions;
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{
    Layout, extent, layout, near_threshold, near_threshold_matrix, output_stride, side, stride,
    weight_of_thresholds,
};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};

/// The operations of two vectors.
pub const PAIRS: [&str; 1] = ["dot"];

random_test!(vectors, 8000 / CASES_PER_CASE, vector, check_vector);
random_test!(rows, 5000 / CASES_PER_CASE, matrix, check_rows);
random_test!(pairs, 3000 / CASES_PER_CASE, pair, check_pair);

/// The initial value of outputs, which a call that fails must not change.
fn untouched<T: Dtype>() -> T {
    T::of_bits(T::NAN_BITS | 0x55)
}

fn length(input: &mut Input<'_>) -> usize {
    // Calls use several threads from 512 KiB on.
    match input.choose([14, 10, 1, weight_of_thresholds()]) {
        0 => extent(input, 2100),
        1 => extent(input, 7000),
        2 => input.range(60_000..150_000),
        _ => near_threshold(input, MOST_WORK / 4),
    }
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

fn vector(input: &mut Input<'_>) -> Vector {
    Vector {
        op: input.below(reductions::<f32>().len()),
        n: length(input),
        at: stride(input),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
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

fn matrix(input: &mut Input<'_>) -> Matrix {
    Matrix {
        op: input.below(reductions::<f32>().len()),
        // Calls use several threads from 512 KiB on.
        shape: match input.choose([11, 7, 7, 1, weight_of_thresholds()]) {
            0 => (side(input, 140), extent(input, 140)),
            1 => (side(input, 20), extent(input, 5000)),
            2 => (side(input, 3000), extent(input, 40)),
            3 => match input.below(3) {
                0 => (input.range(300..400), input.range(300..400)),
                1 => (input.range(1..20), input.range(9000..12_000)),
                _ => (input.range(9000..12_000), input.range(1..20)),
            },
            _ => near_threshold_matrix(input, MOST_WORK / 4),
        },
        layout: layout(input),
        out: output_stride(input),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
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

fn pair(input: &mut Input<'_>) -> Pair {
    Pair {
        name: input.pick(&PAIRS),
        n: length(input),
        x: stride(input),
        y: stride(input),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
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
