//! Elementwise operations.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::ops::{Scalars, elementwise};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use proptest::prelude::*;

use super::inputs::{Scalar, extent, near_threshold, scalar, values, weight_of_thresholds};
use super::run::{MOST_WORK, Run, run};
use crate::random_test;

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

fn case() -> impl Strategy<Value = Case> {
    // Calls use several threads from 512 KiB on.
    let length = prop_oneof![
        24 => extent(3000),
        1 => 60_000..200_000usize,
        weight_of_thresholds() => near_threshold(MOST_WORK / 4),
    ];
    (
        0..elementwise::<f32>().len(),
        length,
        [0..17usize, 0..17usize, 0..17usize],
        prop_oneof![3 => Just(0usize), 1 => 1..3usize],
        values(),
        [scalar(), scalar(), scalar()],
        any::<u64>(),
        run(),
    )
        .prop_map(|(op, n, shifts, place, values, scalars, seed, run)| Case {
            op,
            n,
            shifts,
            place,
            values,
            scalars,
            seed,
            run,
        })
}

random_test!(any_elementwise, 5000, case(), check);

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
