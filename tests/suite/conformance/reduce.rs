//! Reductions of vectors, and `dot`.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model;
use diptych_tests::ops::{Reduction, reductions};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    every_length_stride_and_alignment,
    special_values,
    far_from_zero,
    many_elements,
    more_than_caches_hold,
    dot_of_any_strides,
);

/// Reduces a placed vector and compares with `want`; if `want` is `None`, the call must fail and write nothing.
fn check<T: Dtype>(
    report: &mut Report,
    op: &Reduction<T>,
    config: Config,
    x: &Placed<T>,
    n: usize,
    want: Option<T>,
) {
    let untouched = T::of_bits(T::NAN_BITS | 0x55);
    let mut out = Box::new(untouched);
    let status = config.run(|exec| {
        // SAFETY: x has n elements at its stride, out has one.
        unsafe { op.call(exec, n as i64, x.ptr(), x.cs(), &mut *out) }
    });
    let context = || format!("{} {config}, n = {n}, stride {}", op.name, x.cs());
    report.check(status.is_ok() == want.is_some(), || {
        format!("{}: {status:?}", context())
    });
    report.equal(&[*out], &[want.unwrap_or(untouched)], Nan::Bits, context);
}

fn every_length_stride_and_alignment<T: Dtype>() {
    let mut report = Report::new();
    for n in backend::some(cases::reduction_lengths::<T>(), 3) {
        let x: Vec<T> = cases::vector(Values::Wide, n, 11);
        for (turn, inc) in [1, 1, 2, -1, -3, 0].into_iter().enumerate() {
            let placed = Placed::vector(&x, inc, if turn == 0 { 0 } else { n % 5 + 1 });
            let elements = placed.dense().data;
            for op in reductions::<T>() {
                let want = op.expected(&elements);
                for config in backend::single() {
                    check(&mut report, &op, config, &placed, n, want);
                }
            }
        }
    }
    report.finish();
}

fn special_values<T: Dtype>() {
    let mut report = Report::new();
    for n in [1, 2, 3, 5, 16, 64, 67, 130, T::CHUNK + 70, 3 * T::CHUNK + 1] {
        let mut inputs = cases::one_special::<T>(n, 12);
        inputs.extend(Values::ALL.map(|values| cases::vector(values, n, 13)));
        inputs.extend(near_the_scaling_of_nrm2(n));
        // Sums that round, so that the mean is not the elements' value.
        inputs.extend([1e6, 1e30, 0.1].map(|value| vec![T::of(value); n]));
        for special in cases::specials::<T>() {
            inputs.push(vec![special; n]);
        }
        for (turn, x) in inputs.iter().enumerate() {
            let placed = Placed::vector(x, if turn % 3 == 2 { 2 } else { 1 }, turn % 4);
            for op in reductions::<T>() {
                let want = op.expected(x);
                for config in backend::single() {
                    check(&mut report, &op, config, &placed, n, want);
                }
            }
        }
    }
    report.finish();
}

/// Returns vectors whose sum of squares is near the threshold at which nrm2 scales, or overflows, or underflows.
fn near_the_scaling_of_nrm2<T: Dtype>(n: usize) -> Vec<Vec<T>> {
    let (tiny, limit) = (T::TINY_SUMSQ_EXPONENT / 2, T::SCALE_LIMIT / 2);
    let exponents = [
        tiny - 30,
        tiny - 20,
        tiny - 10,
        tiny - 1,
        tiny,
        tiny + 1,
        -limit,
        limit - 5,
        limit,
        limit + 1,
    ];
    let scaled = |e: i32| {
        let x: Vec<T> = cases::vector(Values::Ordinary, n, 29);
        x.into_iter().map(|v| v * T::power_of_two(e)).collect()
    };
    exponents.map(scaled).to_vec()
}

/// Variances that the error of the mean would dominate, if it were not taken out.
fn far_from_zero<T: Dtype>() {
    let mut report = Report::new();
    let mut lengths: Vec<usize> = backend::some(cases::reduction_lengths::<T>(), 3).collect();
    let memory = (128 + 70) * T::CHUNK + backend::BEYOND_CACHES / size_of::<T>();
    lengths.extend([131_072 + 1, 300_007, memory]);
    for n in lengths {
        let x: Vec<T> = cases::vector(Values::Far, n, 16);
        for inc in [1, 2, -1, 0] {
            if n == memory && inc != 1 {
                continue;
            }
            let placed = Placed::vector(&x, inc, n % 5);
            let elements = placed.dense().data;
            for op in reductions::<T>().into_iter().filter(|op| op.row.ddof) {
                let want = op.expected(&elements);
                let configs = if n > 100_000 {
                    backend::all()
                } else {
                    backend::single()
                };
                for config in configs {
                    check(&mut report, &op, config, &placed, n, want);
                }
            }
        }
    }
    report.finish();
}

fn many_elements<T: Dtype>() {
    let mut report = Report::new();
    for n in [131_072 + 1, 300_007] {
        let x: Vec<T> = cases::vector(Values::Wide, n, 14);
        for inc in [1, -2] {
            let placed = Placed::vector(&x, inc, 1);
            for op in backend::some(reductions::<T>(), 3) {
                let want = op.expected(&x);
                for config in backend::all() {
                    check(&mut report, &op, config, &placed, n, want);
                }
            }
        }
    }
    report.finish();
}

/// Vectors with a tree over thousands of chunks, and with extremes in several chunks.
fn more_than_caches_hold<T: Dtype>() {
    let n = (2048 + 128 + 70) * T::CHUNK + 5;
    let wide: Vec<T> = cases::vector(Values::Wide, n, 15);
    let even = wide[..2048 * T::CHUNK].to_vec();
    let twice = |rest: T, value: T, chunks: [usize; 2]| {
        let mut x = vec![rest; n];
        x[chunks[0] * T::CHUNK + 3] = value;
        x[chunks[1] * T::CHUNK + 1] = value;
        x
    };
    let (one, two, nan) = (T::one(), T::of_count(2), T::of_bits(T::NAN_BITS));
    let inputs = [
        wide,
        even,
        twice(one, two, [1, 64]),
        twice(one, two, [128 + 65, 128 + 3]),
        twice(one, nan, [1, 64]),
        twice(one, nan, [70, 140]),
        twice(-T::zero(), T::zero(), [100, 260]),
    ];
    let mut report = Report::new();
    for x in &inputs {
        let placed = Placed::vector(x, 1, 1);
        for op in reductions::<T>() {
            if ["sum", "var", "max", "argmax"].contains(&op.name) {
                let want = op.expected(x);
                for config in backend::single() {
                    check(&mut report, &op, config, &placed, x.len(), want);
                }
            }
        }
    }
    report.finish();
}

fn dot_of_any_strides<T: Dtype>() {
    let mut report = Report::new();
    let mut run = |x: &[T], y: &[T], (incx, incy): (i64, i64), configs: &[Config]| {
        let n = x.len();
        let (x, y) = (
            Placed::vector(x, incx, n % 3),
            Placed::vector(y, incy, n % 7),
        );
        let want = model::dot(&x.dense().data, &y.dense().data);
        for config in configs {
            let mut out = Box::new(T::one());
            let status = config.run(|exec| {
                // SAFETY: x and y have n elements at their strides, out has one.
                unsafe { raw::dot(exec, n as i64, x.ptr(), incx, y.ptr(), incy, &mut *out) }
            });
            let context = || format!("dot {config}, n = {n}, strides {incx} {incy}");
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(&[*out], &[want], Nan::Bits, context);
        }
    };
    let strides = [(1, 1), (1, 2), (-1, 1), (3, -2), (0, 1), (0, 0), (-1, -1)];
    for n in cases::reduction_lengths::<T>() {
        let (x, y) = (
            cases::vector(Values::Wide, n, 19),
            cases::vector(Values::Wide, n, 20),
        );
        for strides in strides {
            run(&x, &y, strides, &backend::single());
        }
    }
    for values in Values::ALL {
        for n in [1, 7, 64, 100, T::CHUNK + 3] {
            run(
                &cases::vector(values, n, 21),
                &cases::vector(values, n, 22),
                (1, 1),
                &backend::single(),
            );
        }
    }
    for special in cases::one_special::<T>(150, 23) {
        run(
            &special,
            &cases::vector(Values::Ordinary, 150, 24),
            (1, 1),
            &backend::single(),
        );
    }
    // Every product underflows to -0, in all lanes or in some: the sum is +0.
    let tiny = T::power_of_two(-T::SCALE_LIMIT);
    for n in [
        1,
        2,
        T::LANE_COUNT - 1,
        T::LANE_COUNT,
        T::LANE_COUNT + 1,
        T::CHUNK,
        T::CHUNK + 1,
        2 * T::CHUNK,
    ] {
        run(&vec![tiny; n], &vec![-tiny; n], (1, 1), &backend::single());
    }
    let n = 300_007;
    run(
        &cases::vector(Values::Wide, n, 25),
        &cases::vector(Values::Wide, n, 26),
        (1, 1),
        &backend::all(),
    );
    run(
        &cases::vector(Values::Wide, n, 27),
        &cases::vector(Values::Wide, n, 28),
        (-2, 1),
        &backend::all(),
    );
    report.finish();
}
