//! Elementwise operations, reductions, `dot` and `mse_grad`.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::model::Dense;
use diptych_tests::ops::{Scalars, elementwise, reductions};
use diptych_tests::oracle;
use diptych_tests::raw;
use diptych_tests::real::{Dtype, Real};
use diptych_tests::report::{Nan, Report};
use diptych_tests::threads;
use diptych_tests::tolerance::{self, Tolerance, bound};
use diptych_tests::wide::Wide;

use super::{KINDS, check_error};

diptych_tests::per_dtype!(
    elementwise_is_correctly_rounded,
    reductions_keep_their_bounds,
    norms_reach_the_ends_of_the_range,
    deviations_reach_the_ends_of_the_range,
    variances_that_fit_are_right,
    rows_of_equal_elements,
    logsumexp_reaches_the_ends_of_the_range,
    dot_and_mse_grad,
);

fn elementwise_is_correctly_rounded<T: Dtype>() {
    let mut report = Report::new();
    let s = Scalars::<T>::ordinary();
    let n = 2000;
    for values in KINDS {
        let (x, y) = (
            cases::vector::<T>(values, n, 71),
            cases::vector::<T>(values, n, 72),
        );
        for op in elementwise::<T>() {
            assert_eq!(tolerance::tolerance(op.name), Tolerance::Exact);
            let want: Vec<T> = x
                .iter()
                .zip(&y)
                .map(|(&x, &y)| op.exact(x, y, &s, y))
                .collect();
            for config in threads::single() {
                let mut out = y.clone();
                let status = config.run(|exec| {
                    // SAFETY: three arrays of n elements.
                    unsafe { op.call(exec, n as i64, x.as_ptr(), y.as_ptr(), &s, out.as_mut_ptr()) }
                });
                report.check(status.is_ok(), || {
                    format!("{} {config}: {status:?}", op.name)
                });
                report.equal(&out, &want, Nan::Any, || {
                    format!("{} {config}, {values:?}", op.name)
                });
            }
        }
    }
    report.finish();
}

fn reductions_keep_their_bounds<T: Dtype>() {
    let mut report = Report::new();
    for n in [1, 2, 3, 10, 33, 100, 1000, 2049, 5000, 40_001] {
        for values in KINDS {
            let x: Vec<T> = cases::vector(values, n, 73);
            for op in reductions::<T>() {
                let is_product = matches!(tolerance::tolerance(op.name), Tolerance::Product(_));
                if !op.takes(n) || (is_product && n > longest_product(values)) {
                    continue;
                }
                // Indices and counts have no oracle: only the model checks them.
                let Some(total) = op.exact(&x) else {
                    continue;
                };
                let allowed = tolerance::reduction_bound::<T>(op.name, n, n - op.ddof, &total);
                for config in threads::single() {
                    let mut out = T::zero();
                    let status = config.run(|exec| {
                        // SAFETY: x has n elements, out has one.
                        unsafe { op.call(exec, n as i64, x.as_ptr(), 1, &mut out) }
                    });
                    let context = || format!("{} {config}, n = {n}, {values:?}", op.name);
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    check_error(&mut report, out, total.value, allowed, context);
                }
            }
        }
    }
    report.finish();
}

/// Returns how many factors a product may have and stay in the range of f32.
fn longest_product(values: Values) -> usize {
    match values {
        Values::Positive => 100,
        Values::Ordinary => 33,
        _ => 3,
    }
}

/// Reduces `x` with the raw function of that name.
fn reduced<T: Dtype>(name: &str, config: threads::Config, x: &[T]) -> T {
    let ops = reductions::<T>();
    let op = ops.iter().find(|op| op.name == name).expect("a reduction");
    let mut out = T::zero();
    // SAFETY: x has x.len() elements, out has one.
    let status =
        config.run(|exec| unsafe { op.call(exec, x.len() as i64, x.as_ptr(), 1, &mut out) });
    status.expect("valid arguments");
    out
}

/// No avoidable overflow or underflow: scaling by a power of two scales the norm.
fn norms_reach_the_ends_of_the_range<T: Dtype>() {
    let mut report = Report::new();
    let x: Vec<T> = cases::vector(Values::Positive, 300, 74);
    let norm = oracle::nrm2(&x).value;
    for e in [
        -T::SCALE_LIMIT,
        10 - T::SCALE_LIMIT,
        -T::SCALE_LIMIT / 2,
        T::SCALE_LIMIT / 2,
        T::SCALE_LIMIT - 6,
    ] {
        let scale = T::power_of_two(e);
        let scaled: Vec<T> = x.iter().map(|&v| v * scale).collect();
        for config in threads::single() {
            let context = || format!("nrm2 {config}, scaled by 2^{e}");
            // Divided by 16 first, so that the comparison itself cannot overflow.
            let got = reduced("nrm2", config, &scaled).wide() / (scale.wide() * 16.0);
            let want = norm / Wide::from(16.0);
            check_error(
                &mut report,
                got,
                want,
                bound::<T>("nrm2", 300, 0, want.nearest()),
                context,
            );
        }
    }
    // The norm of (3, -4) is exact at both ends of the range, also for subnormals.
    let least = T::of_bits(1);
    let large = T::power_of_two(T::SCALE_LIMIT - 2);
    for unit in [least, T::power_of_two(-T::SCALE_LIMIT), T::one(), large] {
        let times = |f: f64| unit * T::of(f);
        for config in threads::single() {
            let got = reduced("nrm2", config, &[times(3.0), times(-4.0)]);
            report.equal(&[got], &[times(5.0)], Nan::Bits, || {
                format!("nrm2 {config} of 3, 4 times {unit:?}")
            });
        }
    }
    report.finish();
}

/// As for norms: scaling by a power of two scales the standard deviation.
fn deviations_reach_the_ends_of_the_range<T: Dtype>() {
    let mut report = Report::new();
    let x: Vec<T> = cases::vector(Values::Positive, 300, 76);
    let total = oracle::std(&x, 0);
    let allowed = tolerance::reduction_bound::<T>("std", x.len(), x.len(), &total);
    for e in [
        -T::SCALE_LIMIT,
        10 - T::SCALE_LIMIT,
        -T::SCALE_LIMIT / 2,
        -T::VARIANCE_SCALE / 4,
        T::SCALE_LIMIT / 2,
        T::SCALE_LIMIT - 6,
        T::SCALE_LIMIT,
    ] {
        let scale = T::power_of_two(e);
        let scaled: Vec<T> = x.iter().map(|&v| v * scale).collect();
        for config in threads::single() {
            let got = reduced("std", config, &scaled).wide() / scale.wide();
            check_error(&mut report, got, total.value, allowed, || {
                format!("std {config}, scaled by 2^{e}")
            });
        }
    }
    // That of 1 and 3 is exact at both ends of the range, also for subnormals.
    let large = T::power_of_two(T::SCALE_LIMIT - 2);
    let least = T::power_of_two(-T::SCALE_LIMIT);
    for unit in [T::of_bits(1), least, T::one(), large] {
        let x = [unit, unit * T::of(3.0)];
        for config in threads::single() {
            report.equal(&[reduced("std", config, &x)], &[unit], Nan::Bits, || {
                format!("std {config} of 1 and 3 times {unit:?}")
            });
        }
    }
    report.finish();
}

/// Variances in range of elements whose sum, or sum of squares, is not.
fn variances_that_fit_are_right<T: Dtype>() {
    let mut report = Report::new();
    let greatest = T::of_bits(T::of(f64::INFINITY).bits() - 1);
    let far = T::power_of_two(T::SCALE_LIMIT / 2 - 1);
    let both_signs: Vec<T> = [far, -far].repeat(500);
    for (x, want) in [(vec![greatest; 100], T::zero()), (both_signs, far * far)] {
        for config in threads::single() {
            report.equal(&[reduced("var", config, &x)], &[want], Nan::Bits, || {
                format!("var {config} of {:?}...", x[0])
            });
        }
    }
    report.finish();
}

/// Rows whose variance is 0 or tiny beside others, around the numbers from which elements are not scaled for it. Many rows
/// find most results without scaling; they are those of single vectors.
fn rows_of_equal_elements<T: Dtype>() {
    let mut report = Report::new();
    let (m, exponent) = (300, <T as Real>::VARIANCE_SCALE / 4);
    let unit = |e: i32| T::power_of_two(e) * T::of(1.1);
    let least = T::of_bits(1);
    let numbers = [
        [T::zero(), T::of(-0.0)],
        [T::zero(), least],
        [T::zero(), unit(-T::SCALE_LIMIT)],
        [unit(0), unit(0)],
        [-unit(-exponent), -unit(-exponent)],
        [
            unit(-exponent),
            unit(-exponent) * (T::one() + T::of(2.0 * T::ROUNDOFF)),
        ],
        [unit(1 - exponent), unit(1 - exponent)],
        [unit(2 - exponent), unit(2 - exponent)],
        [unit(-exponent - 1), unit(-exponent - 1)],
        [unit(T::SCALE_LIMIT), unit(T::SCALE_LIMIT)],
        [unit(0), unit(1)],
    ];
    for n in [1, 2, 5, 16, 70, 3000] {
        let data = (0..m * n).map(|i| {
            let [usual, other] = numbers[i / n * 7 % numbers.len()];
            if i % n == (i / n) % 3 { other } else { usual }
        });
        let x = Dense {
            rows: m,
            cols: n,
            data: data.collect(),
        };
        for op in reductions::<T>().into_iter().filter(|op| op.takes(n)) {
            let want: Vec<T> = (0..m)
                .map(|i| op.expected(x.row(i)).expect("some elements"))
                .collect();
            for (rs, cs) in [(n as i64, 1), (1, m as i64)] {
                let placed = Placed::matrix(&x, Strides { rs, cs }, 0);
                for config in threads::single() {
                    let mut out = vec![T::zero(); m];
                    let status = config.run(|exec| {
                        let (m, n, out) = (m as i64, n as i64, out.as_mut_ptr());
                        // SAFETY: x is an m by n matrix with these strides, out has m elements.
                        unsafe { op.call_rows(exec, m, n, placed.ptr(), rs, cs, out, 1) }
                    });
                    let context = || format!("{}_rows {config}, n = {n}, rs {rs}", op.name);
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    report.equal(&out, &want, Nan::Bits, context);
                }
            }
        }
    }
    report.finish();
}

fn logsumexp_reaches_the_ends_of_the_range<T: Dtype>() {
    let mut report = Report::new();
    let mut inputs: Vec<Vec<T>> = Vec::new();
    for shift in [-1e30, -1000.0, -80.0, 0.0, 80.0, 1000.0, 1e30] {
        for spread in [0.0, 1e-3, 1.0, 30.0, 90.0, 200.0, 800.0] {
            let x = cases::vector::<f64>(Values::Ordinary, 37, 75);
            inputs.push(x.iter().map(|v| T::of(shift + spread * v)).collect());
        }
    }
    inputs.push(vec![T::of(-745.2), T::zero()]);
    inputs.push(vec![T::of(0.1)]);
    for x in inputs {
        let want = oracle::logsumexp(&x);
        let allowed = bound::<T>("logsumexp", x.len(), 0, want.magnitude);
        for config in threads::single() {
            let got = reduced("logsumexp", config, &x);
            check_error(&mut report, got, want.value, allowed, || {
                format!("logsumexp {config} of {:?}...", &x[..1])
            });
        }
    }
    let infinity = T::of(f64::INFINITY);
    let special = [
        (vec![T::one(), infinity, -infinity], infinity),
        (vec![-infinity, -infinity], -infinity),
        (vec![-infinity, T::one()], T::one()),
        (
            vec![infinity, T::of_bits(T::NAN_BITS | 3), T::one()],
            T::canonical_nan(),
        ),
        (vec![], -infinity),
    ];
    for (x, want) in special {
        for config in threads::single() {
            report.equal(
                &[reduced("logsumexp", config, &x)],
                &[want],
                Nan::Bits,
                || format!("logsumexp {config} of {x:?}"),
            );
        }
    }
    report.finish();
}

fn dot_and_mse_grad<T: Dtype>() {
    let mut report = Report::new();
    for n in [1, 3, 65, 1000, 30_001] {
        for values in KINDS {
            let (x, y) = (
                cases::vector::<T>(values, n, 76),
                cases::vector::<T>(values, n, 77),
            );
            let product = oracle::dot(&x, &y);
            let d: Vec<T> = x.iter().zip(&y).map(|(&x, &y)| x - y).collect();
            let loss = oracle::sumsq(&d);
            for config in threads::single() {
                let (mut dot, mut got_loss, mut grad) = (T::zero(), T::zero(), vec![T::zero(); n]);
                let status = config.run(|exec| {
                    // SAFETY: x, y and grad have n elements.
                    unsafe {
                        raw::dot(exec, n as i64, x.as_ptr(), 1, y.as_ptr(), 1, &mut dot)?;
                        raw::mse_grad(
                            exec,
                            n as i64,
                            x.as_ptr(),
                            y.as_ptr(),
                            grad.as_mut_ptr(),
                            &mut got_loss,
                        )
                    }
                });
                let context = || format!("dot or mse_grad {config}, n = {n}, {values:?}");
                report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                check_error(
                    &mut report,
                    dot,
                    product.value,
                    bound::<T>("dot", n, 0, product.magnitude),
                    context,
                );
                check_error(
                    &mut report,
                    got_loss,
                    loss.value,
                    bound::<T>("mse_grad", n, 0, loss.magnitude),
                    context,
                );
                let doubled = grad.iter().zip(&d).all(|(&g, &d)| g == d + d);
                report.check(doubled, || {
                    format!("{}: the gradient is not 2 (p - t)", context())
                });
            }
        }
    }
    report.finish();
}
