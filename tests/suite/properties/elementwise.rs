//! Elementwise operations.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::ops::{Scalars, elementwise};
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{Scalar, extent, near_threshold, scalar, shift, weight_of_thresholds};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};

#[derive(Clone, Debug)]
struct Case {
    op: usize,
    n: usize,
    shifts: [usize; 3],
    /// The output: 0 is an array of its own, 1 the first input, 2 the second.
    place: usize,
    values: Values,
    scalars: [Scalar; 3],
    seed: u64,
    run: Run,
}

fn case(input: &mut Input<'_>) -> Case {
    Case {
        op: input.below(elementwise::<f32>().len()),
        // Calls use several threads from 512 KiB on.
        n: match input.choose([24, 1, weight_of_thresholds()]) {
            0 => extent(input, 3000),
            1 => input.range(60_000..200_000),
            _ => near_threshold(input, MOST_WORK / 4),
        },
        shifts: [(); 3].map(|()| shift(input)),
        place: [0, 1, 2][input.choose([6, 1, 1])],
        values: input.values(),
        scalars: [(); 3].map(|()| scalar(input)),
        seed: input.word(),
        run: run(input),
    }
}

random_test!(any_elementwise, 5000 / CASES_PER_CASE, case, check);

fn check<T: Dtype>(case: &Case, report: &mut Report) {
    let op = &elementwise::<T>()[case.op];
    let n = case.n;
    let s = Scalars {
        lo: case.scalars[0].of(),
        hi: case.scalars[1].of(),
        alpha: case.scalars[2].of(),
    };
    let x: Vec<T> = cases::vector(case.values, n, case.seed);
    let y: Vec<T> = cases::vector(case.values, n, !case.seed);
    let old = [&y, &x, &y][case.place];
    let want = op.expected(&x, &y, &s, old);
    // Operations that copy values keep the bits of a NaN.
    let nan = if op.copies() { Nan::Bits } else { Nan::Any };
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let data = [&y, &x, &y];
            let mut arrays = [0, 1, 2].map(|i| Placed::vector(data[i], 1, case.shifts[i]));
            let out = arrays[case.place].mut_ptr();
            let pointer = |i: usize| {
                if i == case.place {
                    out.cast_const()
                } else {
                    arrays[i].ptr()
                }
            };
            // SAFETY: all arrays have n elements; the output is exactly an input or overlaps neither.
            let status = unsafe { op.call(exec, n as i64, pointer(1), pointer(2), &s, out) };
            let context = || format!("{} {config}, n = {n}", op.name);
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(&arrays[case.place].dense().data, &want, nan, context);
            let intact = arrays.iter().all(Placed::gaps_intact);
            report.check(intact, || {
                format!("{}: wrote outside the output", context())
            });
        });
}
