//! `outer`, `ger`, `gemm` and `lsq_grad`.

use super::{KINDS, check_error};
use diptych_tests::cases;
use diptych_tests::model::Dense;
use diptych_tests::ops::row_maps;
use diptych_tests::oracle;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use diptych_tests::threads;
use diptych_tests::tolerance::{bound, growth};
use diptych_tests::wide::Wide;

diptych_tests::per_dtype!(outer_and_ger, maps_over_rows, products, lsq_grad);

fn outer_and_ger<T: Dtype>() {
    let mut report = Report::new();
    let (m, n, alpha) = (37, 53, T::of(-0.7));
    for values in KINDS {
        let (x, y) = (
            cases::vector::<T>(values, m, 78),
            cases::vector::<T>(values, n, 79),
        );
        let old: Vec<T> = cases::vector(values, m * n, 80);
        for config in threads::single() {
            let (mut outer, mut ger) = (old.clone(), old.clone());
            let (m64, n64, px, py) = (m as i64, n as i64, x.as_ptr(), y.as_ptr());
            let status = config.run(|exec| {
                // SAFETY: x has m elements, y has n, and both outputs have m n.
                unsafe {
                    raw::outer(exec, m64, n64, px, 1, py, 1, outer.as_mut_ptr(), n64, 1)?;
                    raw::ger(
                        exec,
                        m64,
                        n64,
                        alpha,
                        px,
                        1,
                        py,
                        1,
                        ger.as_mut_ptr(),
                        n64,
                        1,
                    )
                }
            });
            report.check(status.is_ok(), || {
                format!("outer or ger {config}: {status:?}")
            });
            for i in 0..m * n {
                let (xi, yj) = (x[i / n], y[i % n]);
                let exact: T = oracle::mul(xi, yj);
                report.equal(&[outer[i]], &[exact], Nan::Bits, || {
                    format!("outer {config}, element {i}")
                });
                let term = Wide::from(alpha.wide()) * Wide::from(xi.wide()) * Wide::from(yj.wide());
                let want = term + Wide::from(old[i].wide());
                let magnitude = term.abs().nearest() + old[i].wide().abs();
                let allowed = 2.0 * growth::<T>(1) * magnitude;
                check_error(&mut report, ger[i], want, allowed, || {
                    format!("ger {config}, element {i}")
                });
            }
        }
    }
    report.finish();
}

fn maps_over_rows<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [(1, 1), (7, 3), (3, 1000), (2, 40_001), (300, 5)] {
        for values in KINDS {
            let x: Dense<T> = cases::dense(values, m, n, 87);
            for op in row_maps::<T>() {
                let want: Vec<_> = (0..m).flat_map(|i| op.exact(x.row(i))).collect();
                for config in threads::single() {
                    let mut out = x.data.clone();
                    let status = config.run(|exec| {
                        let (from, to) = (x.data.as_ptr(), out.as_mut_ptr());
                        // SAFETY: two row-major m by n matrices.
                        unsafe { op.call(exec, (m, n), (from, n as i64, 1), (to, n as i64, 1)) }
                    });
                    let context = || format!("{} {config}, {m} x {n}, {values:?}", op.name);
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    for (&got, want) in out.iter().zip(&want) {
                        let allowed = bound::<T>(op.name, n, m, want.magnitude);
                        check_error(&mut report, got, want.value, allowed, context);
                    }
                }
            }
        }
    }
    report.finish();
}

fn products<T: Dtype>() {
    let mut report = Report::new();
    for (m, n, k) in [
        (1, 1, 5),
        (1, 7, 300),
        (9, 1, 3000),
        (5, 7, 1),
        (13, 50, 90),
        (9, 10, 700),
    ] {
        for values in KINDS {
            let a: Dense<T> = cases::dense(values, m, k, 81);
            let b: Dense<T> = cases::dense(values, k, n, 82);
            let old: Dense<T> = cases::dense(values, m, n, 83);
            for (alpha, beta) in [(1.0, 0.0), (-0.6, 2.3)] {
                let (alpha, beta) = (T::of(alpha), T::of(beta));
                for config in threads::single() {
                    let mut c = old.clone();
                    let (pa, pb, pc) = (a.data.as_ptr(), b.data.as_ptr(), c.data.as_mut_ptr());
                    let (m64, n64, k64) = (m as i64, n as i64, k as i64);
                    let status = config.run(|exec| {
                        // SAFETY: row-major matrices of these shapes.
                        unsafe {
                            raw::gemm(
                                exec, m64, n64, k64, alpha, pa, k64, 1, pb, n64, 1, beta, pc, n64,
                                1,
                            )
                        }
                    });
                    let context = || {
                        format!(
                            "gemm {config}, {m} x {n} x {k}, {values:?}, alpha {alpha:?}, beta {beta:?}"
                        )
                    };
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    for i in 0..m {
                        for j in 0..n {
                            let want = oracle::gemm_element(
                                alpha,
                                a.row(i),
                                &b.column(j),
                                beta,
                                old.at(i, j),
                            );
                            let allowed = bound::<T>("gemm", k, m, want.magnitude);
                            check_error(&mut report, c.at(i, j), want.value, allowed, || {
                                format!("{}, element [{i}, {j}]", context())
                            });
                        }
                    }
                }
            }
        }
    }
    report.finish();
}

fn lsq_grad<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [(1, 1), (3, 20), (20, 3), (100, 70), (500, 31)] {
        for values in KINDS {
            let a: Dense<T> = cases::dense(values, m, n, 84);
            let (x, y) = (
                cases::vector::<T>(values, n, 85),
                cases::vector::<T>(values, m, 86),
            );
            let want = oracle::lsq_grad(m, n, &a.data, &x, &y);
            for config in threads::single() {
                let mut grad = vec![T::zero(); n];
                let status = config.run(|exec| {
                    // SAFETY: A is m x n, x and grad have n elements, y has m.
                    unsafe {
                        let (pa, pg) = (a.data.as_ptr(), grad.as_mut_ptr());
                        raw::lsq_grad(
                            exec,
                            m as i64,
                            n as i64,
                            pa,
                            n as i64,
                            1,
                            x.as_ptr(),
                            y.as_ptr(),
                            pg,
                        )
                    }
                });
                let context = || format!("lsq_grad {config}, {m} x {n}, {values:?}");
                report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                for (&got, want) in grad.iter().zip(&want) {
                    check_error(
                        &mut report,
                        got,
                        want.value,
                        bound::<T>("lsq_grad", n, m, want.magnitude),
                        context,
                    );
                }
            }
        }
    }
    report.finish();
}
