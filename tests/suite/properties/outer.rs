//! `outer` and `ger`.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense};
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{
    Layout, Scalar, near_threshold_matrix, output, scalar, side, stride, weight_of_thresholds,
};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};

pub const NAMES: [&str; 2] = ["outer", "ger"];

random_test!(outer_and_ger, 3000 / CASES_PER_CASE, case, check);

#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    shape: (usize, usize),
    alpha: Scalar,
    x: (i64, usize),
    y: (i64, usize),
    out: Layout,
    values: Values,
    seed: u64,
    run: Run,
}

fn case(input: &mut Input<'_>) -> Case {
    Case {
        name: input.pick(&NAMES),
        // Calls use several threads from 512 KiB on.
        shape: match input.choose([13, 5, 5, 1, weight_of_thresholds()]) {
            0 => (side(input, 140), side(input, 140)),
            1 => (side(input, 9), side(input, 3000)),
            2 => (side(input, 3000), side(input, 9)),
            3 => match input.below(3) {
                0 => (input.range(300..400), input.range(300..400)),
                1 => (input.range(1..4), input.range(60_000..70_000)),
                _ => (input.range(60_000..70_000), input.range(1..4)),
            },
            _ => near_threshold_matrix(input, MOST_WORK / 4),
        },
        alpha: scalar(input),
        x: stride(input),
        y: stride(input),
        out: output(input),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
}

fn check<T: Dtype>(case: &Case, report: &mut Report) {
    let (m, n) = case.shape;
    let alpha: T = case.alpha.of();
    let placed = |len, (inc, shift): (i64, usize), seed| {
        Placed::<T>::vector(&cases::vector(case.values, len, seed), inc, shift)
    };
    let (x, y) = (placed(m, case.x, case.seed), placed(n, case.y, !case.seed));
    let (xs, ys) = (x.dense().data, y.dense().data);
    let old: Dense<T> = cases::dense(case.values, m, n, case.seed ^ 7);
    let mut want = old.clone();
    for (i, v) in want.data.iter_mut().enumerate() {
        *v = match case.name {
            "outer" => xs[i / n] * ys[i % n],
            _ => model::ger(alpha, xs[i / n], ys[i % n], *v),
        };
    }
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let mut out = case.out.place(&old);
            let (m, n, p) = (m as i64, n as i64, out.mut_ptr());
            let (rs, cs) = (out.rs(), out.cs());
            // SAFETY: x has m elements, y has n, and the output m by n with distinct addresses.
            let status = unsafe {
                match case.name {
                    "outer" => raw::outer(exec, m, n, x.ptr(), x.cs(), y.ptr(), y.cs(), p, rs, cs),
                    _ => raw::ger(
                        exec,
                        m,
                        n,
                        alpha,
                        x.ptr(),
                        x.cs(),
                        y.ptr(),
                        y.cs(),
                        p,
                        rs,
                        cs,
                    ),
                }
            };
            let context = || format!("{} {config}, {m} x {n}, rs {rs}, cs {cs}", case.name);
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal_dense(&out.dense(), &want, Nan::Any, context);
            report.check(out.gaps_intact(), || {
                format!("{}: wrote outside", context())
            });
        });
}
