//! `mse_grad` and `lsq_grad`.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model;
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{
    Layout, extent, layout, near_threshold, near_threshold_matrix, shift, side,
    weight_of_thresholds,
};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};

pub const NAMES: [&str; 2] = ["mse_grad", "lsq_grad"];

random_test!(mse_grad, 1500 / CASES_PER_CASE, mse, check_mse);
random_test!(lsq_grad, 3000 / CASES_PER_CASE, lsq, check_lsq);

#[derive(Clone, Debug)]
struct Mse {
    n: usize,
    shifts: [usize; 3],
    /// The gradient: 0 is an array of its own, 1 overwrites the predictions, 2 the targets.
    place: usize,
    values: Values,
    seed: u64,
    run: Run,
}

fn mse(input: &mut Input<'_>) -> Mse {
    Mse {
        // Calls use several threads from 512 KiB on.
        n: match input.choose([24, 1, weight_of_thresholds()]) {
            0 => extent(input, 5000),
            1 => input.range(60_000..150_000),
            _ => near_threshold(input, MOST_WORK / 4),
        },
        shifts: [(); 3].map(|()| shift(input)),
        place: input.below(3),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
}

fn check_mse<T: Dtype>(case: &Mse, report: &mut Report) {
    let n = case.n;
    let pred: Vec<T> = cases::vector(case.values, n, case.seed);
    let target: Vec<T> = cases::vector(case.values, n, !case.seed);
    let (want, want_loss) = model::mse_grad(&pred, &target);
    case.run
        .each_without_scratch(report, |report, exec, config| {
            let data = [&pred, &pred, &target];
            let mut arrays = [0, 1, 2].map(|i| Placed::vector(data[i], 1, case.shifts[i]));
            let grad = arrays[case.place].mut_ptr();
            let pointer = |i: usize| {
                if i == case.place {
                    grad.cast_const()
                } else {
                    arrays[i].ptr()
                }
            };
            let mut loss = Box::new(T::of(-1.0));
            // SAFETY: three arrays of n elements; the gradient is exactly one of them.
            let status =
                unsafe { raw::mse_grad(exec, n as i64, pointer(1), pointer(2), grad, &mut *loss) };
            let context = || format!("mse_grad {config}, n = {n}, gradient at {}", case.place);
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(&arrays[case.place].dense().data, &want, Nan::Any, context);
            report.equal(&[*loss], &[want_loss], Nan::Bits, context);
            let intact = arrays.iter().all(Placed::gaps_intact);
            report.check(intact, || format!("{}: wrote outside", context()));
        });
}

#[derive(Clone, Debug)]
struct Lsq {
    shape: (usize, usize),
    layout: Layout,
    shifts: [usize; 3],
    values: Values,
    seed: u64,
    run: Run,
}

fn lsq(input: &mut Input<'_>) -> Lsq {
    Lsq {
        // Calls use several threads from 512 KiB on.
        shape: match input.choose([13, 5, 5, 1, weight_of_thresholds()]) {
            0 => (side(input, 140), side(input, 140)),
            1 => (side(input, 1500), side(input, 12)),
            2 => (side(input, 12), side(input, 3000)),
            3 => match input.below(3) {
                0 => (input.range(300..600), input.range(300..400)),
                1 => (input.range(9000..12_000), input.range(1..20)),
                _ => (input.range(1..80), input.range(9000..12_000)),
            },
            _ => near_threshold_matrix(input, MOST_WORK / 4),
        },
        layout: layout(input),
        shifts: [(); 3].map(|()| shift(input)),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
}

fn check_lsq<T: Dtype>(case: &Lsq, report: &mut Report) {
    let (m, n) = case.shape;
    let a = case
        .layout
        .place(&cases::dense::<T>(case.values, m, n, case.seed));
    let (x, y): (Vec<T>, Vec<T>) = (
        cases::vector(case.values, n, !case.seed),
        cases::vector(case.values, m, case.seed ^ 9),
    );
    let want = model::lsq_grad(&a.dense(), &x, &y);
    let (x, y) = (
        Placed::vector(&x, 1, case.shifts[0]),
        Placed::vector(&y, 1, case.shifts[1]),
    );
    let size = |exec: &dyn raw::On| raw::lsq_grad_workspace::<T>(exec, m as i64, n as i64);
    case.run.each(report, size, |report, exec, config| {
        let mut grad = Placed::vector(&vec![T::one(); n], 1, case.shifts[2]);
        let (m, n, p) = (m as i64, n as i64, grad.mut_ptr());
        // SAFETY: A has m by n elements at its strides, x and grad have n, y has m.
        let status =
            unsafe { raw::lsq_grad(exec, m, n, a.ptr(), a.rs(), a.cs(), x.ptr(), y.ptr(), p) };
        let context = || format!("lsq_grad {config}, {m} x {n}, rs {}, cs {}", a.rs(), a.cs());
        report.check(status.is_ok(), || format!("{}: {status:?}", context()));
        report.equal(&grad.dense().data, &want, Nan::Bits, context);
        report.check(grad.gaps_intact(), || {
            format!("{}: wrote outside", context())
        });
    });
}
