//! Maps over rows.

use diptych_tests::cases::{self, Values};
use diptych_tests::model::Dense;
use diptych_tests::ops::row_maps;
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{
    Layout, extent, layout, near_threshold_matrix, output, side, weight_of_thresholds,
};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};

random_test!(maps, 3000 / CASES_PER_CASE, case, check);

#[derive(Clone, Debug)]
struct Case {
    op: usize,
    shape: (usize, usize),
    x: Layout,
    /// `None` is in place.
    out: Option<Layout>,
    values: Values,
    /// Rows of other values: one in so many, and these.
    others: (usize, Values),
    seed: u64,
    run: Run,
}

fn case(input: &mut Input<'_>) -> Case {
    let in_place = input.rarely(4);
    Case {
        op: input.below(row_maps::<f32>().len()),
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
        x: if in_place {
            output(input)
        } else {
            layout(input)
        },
        out: (!in_place).then(|| output(input)),
        values: input.values(),
        others: (input.range(1..40), input.values()),
        seed: input.word(),
        run: run(input),
    }
}

fn check<T: Dtype>(case: &Case, report: &mut Report) {
    let op = &row_maps::<T>()[case.op];
    let (m, n) = case.shape;
    let mut x: Dense<T> = cases::dense(case.values, m, n, case.seed);
    let (every, others) = case.others;
    for (i, row) in x.data.chunks_exact_mut(n.max(1)).enumerate().step_by(every) {
        row.copy_from_slice(&cases::vector(others, n, case.seed ^ i as u64));
    }
    let x = case.x.place(&x);
    let want = op.expected(&x.dense());
    let blank = Dense {
        data: vec![T::of_bits(T::NAN_BITS | 0x55); m * n],
        ..want
    };
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let mut out = match &case.out {
                Some(out) => out.place(&blank),
                None => x.clone(),
            };
            let to = (out.mut_ptr(), out.rs(), out.cs());
            let from = match case.out {
                Some(_) => (x.ptr(), x.rs(), x.cs()),
                None => (to.0.cast_const(), to.1, to.2),
            };
            // SAFETY: both have m by n elements at their strides, those of the output at different addresses.
            let status = unsafe { op.call(exec, (m, n), from, to) };
            let context = || {
                let [from, to] = [(from.1, from.2), (to.1, to.2)];
                format!(
                    "{} {config}, {m} x {n}, strides {from:?} to {to:?}",
                    op.name
                )
            };
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal_dense(&out.dense(), &want, Nan::Any, context);
            report.check(out.gaps_intact(), || {
                format!("{}: wrote outside", context())
            });
        });
}
