//! Matrices that end or start at a guard page.

use core::mem::MaybeUninit;

use super::backend;
use diptych_tests::cases::{self, Values};
use diptych_tests::guard::{Guarded, during};
use diptych_tests::model::{self, Dense};
use diptych_tests::ops::row_maps;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::bounds::EDGES;

diptych_tests::per_dtype!(
    outer_and_ger_stay_inside,
    maps_over_rows_stay_inside,
    gemm_stays_inside,
    lsq_grad_stays_inside
);

fn outer_and_ger_stay_inside<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [
        (1, 1),
        (1, 9),
        (9, 1),
        (3, 5),
        (7, 33),
        (16, 64),
        (33, 17),
        (65, 3),
    ] {
        let (x, y) = (
            cases::vector::<T>(Values::Ordinary, m, 7),
            cases::vector::<T>(Values::Ordinary, n, 8),
        );
        let (m64, n64) = (m as i64, n as i64);
        for edge in EDGES {
            let (gx, gy) = (Guarded::new(&x, edge), Guarded::new(&y, edge));
            let mut out = Guarded::new(&vec![T::zero(); m * n], edge);
            for (rs, cs) in [(n64, 1), (1, m64)] {
                for config in backend::single() {
                    let label = format!(
                        "outer or ger {} {config}, {m} x {n}, rs {rs}, cs {cs}, {edge:?}",
                        T::DTYPE
                    );
                    let status = during(&label, || {
                        let (px, py, p) = (gx.as_ptr(), gy.as_ptr(), out.as_mut_ptr());
                        // SAFETY: x has m elements, y has n, the output has m n.
                        config.run(|e| unsafe {
                            raw::outer(e, m64, n64, px, 1, py, 1, p, rs, cs)?;
                            raw::ger(e, m64, n64, T::one(), px, 1, py, 1, p, rs, cs)
                        })
                    });
                    report.check(status.is_ok(), || format!("{label}: {status:?}"));
                    let at = |i: usize, j: usize| out.as_slice()[i * rs as usize + j * cs as usize];
                    let right = |i: usize, j: usize| at(i, j) == x[i].fused(y[j], x[i] * y[j]);
                    let all = (0..m).all(|i| (0..n).all(|j| right(i, j)));
                    report.check(all, || format!("{label}: wrong elements"));
                }
            }
        }
    }
    report.finish();
}

fn maps_over_rows_stay_inside<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [
        (1, 1),
        (1, 9),
        (9, 1),
        (3, 5),
        (7, 33),
        (16, 64),
        (33, 17),
        (65, 3),
        (2, 300),
        (1030, 2),
    ] {
        let x: Dense<T> = cases::dense(Values::Ordinary, m, n, 15);
        let (rows, columns) = ((n as i64, 1), (1, m as i64));
        for edge in EDGES {
            for (from, to) in [(rows, rows), (columns, columns), (rows, columns)] {
                let gx = Guarded::new(&oriented(&x, from == columns), edge);
                let mut out = Guarded::new(&vec![T::zero(); m * n], edge);
                for op in row_maps::<T>() {
                    let want = oriented(&op.expected(&x), to == columns);
                    for config in backend::single() {
                        let label = format!(
                            "{} {} {config}, {m} x {n}, {from:?} to {to:?}, {edge:?}",
                            op.name,
                            T::DTYPE
                        );
                        let (from, to) = (
                            (gx.as_ptr(), from.0, from.1),
                            (out.as_mut_ptr(), to.0, to.1),
                        );
                        let status = during(&label, || {
                            // SAFETY: both matrices have these shapes and strides.
                            config.run(|e| unsafe { op.call(e, (m, n), from, to) })
                        });
                        report.check(status.is_ok(), || format!("{label}: {status:?}"));
                        report.equal(out.as_slice(), &want, Nan::Any, || label.clone());
                    }
                }
            }
        }
    }
    report.finish();
}

fn gemm_stays_inside<T: Dtype>() {
    let mut report = Report::new();
    let shapes = [
        (1, 1, 1),
        (2, 2, 2),
        (3, 5, 7),
        (8, 48, 9),
        (7, 49, 17),
        (13, 15, 33),
        (25, 7, 3),
        (1, 33, 20),
        (1, 70, 70),
        (33, 1, 20),
        (70, 1, 130),
        (9, 17, 260),
        (6, 16, 256),
        (12, 32, 5),
        (2, 40, 20),
        (37, 3, 33),
        (6, 35, 269),
        (33, 4, 262),
        (3, 1030, 260),
        (1030, 2, 260),
    ];
    for (turn, (m, n, k)) in shapes.into_iter().enumerate() {
        let (a, b): (Dense<T>, Dense<T>) = (
            cases::dense(Values::Ordinary, m, k, 9),
            cases::dense(Values::Ordinary, k, n, 10),
        );
        let old: Dense<T> = cases::dense(Values::Ordinary, m, n, 11);
        let (alpha, beta) = (T::of(-0.7), T::of([0.0, 1.3][turn % 2]));
        let want = model::gemm(alpha, &a, &b, beta, &old);
        // Each operand row-major and column-major.
        for orientation in 0..8 {
            let (a_t, b_t, c_t) = (
                orientation & 1 == 1,
                orientation & 2 == 2,
                orientation & 4 == 4,
            );
            for edge in EDGES {
                let (ga, gb) = (
                    Guarded::new(&oriented(&a, a_t), edge),
                    Guarded::new(&oriented(&b, b_t), edge),
                );
                for config in backend::single() {
                    let mut gc = Guarded::new(&oriented(&old, c_t), edge);
                    let size = config
                        .run(|e| raw::gemm_workspace::<T>(e, m as i64, n as i64, k as i64))
                        .expect("a size");
                    let mut workspace = Guarded::new(&vec![MaybeUninit::new(0u8); size], edge);
                    let label = format!(
                        "gemm {} {config}, {m} x {n} x {k}, transposed {a_t} {b_t} {c_t}, {edge:?}",
                        T::DTYPE
                    );
                    let stride = |t: bool, rows: usize, cols: usize| {
                        if t {
                            (1, rows as i64)
                        } else {
                            (cols as i64, 1)
                        }
                    };
                    let ((a_rs, a_cs), (b_rs, b_cs), (c_rs, c_cs)) =
                        (stride(a_t, m, k), stride(b_t, k, n), stride(c_t, m, n));
                    let (pa, pb, pc) = (ga.as_ptr(), gb.as_ptr(), gc.as_mut_ptr());
                    let status = during(&label, || {
                        // SAFETY: the three matrices have these shapes and strides.
                        config.run_with(workspace.as_mut_slice(), |e| unsafe {
                            let (m, n, k) = (m as i64, n as i64, k as i64);
                            raw::gemm(
                                e, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs,
                                c_cs,
                            )
                        })
                    });
                    report.check(status.is_ok(), || format!("{label}: {status:?}"));
                    report.equal(gc.as_slice(), &oriented(&want, c_t), Nan::Any, || {
                        label.clone()
                    });
                }
            }
        }
    }
    report.finish();
}

/// Returns the elements in row-major or column-major order.
fn oriented<T: Dtype>(x: &Dense<T>, by_columns: bool) -> Vec<T> {
    if by_columns {
        (0..x.cols).flat_map(|j| x.column(j)).collect()
    } else {
        x.data.clone()
    }
}

fn lsq_grad_stays_inside<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [
        (1, 1),
        (1, 9),
        (9, 1),
        (5, 7),
        (8, 33),
        (33, 8),
        (40, 65),
        (67, 130),
    ] {
        let a: Dense<T> = cases::dense(Values::Ordinary, m, n, 12);
        let (x, y) = (
            cases::vector::<T>(Values::Ordinary, n, 13),
            cases::vector::<T>(Values::Ordinary, m, 14),
        );
        let want = model::lsq_grad(&a, &x, &y);
        for by_columns in [false, true] {
            for edge in EDGES {
                let ga = Guarded::new(&oriented(&a, by_columns), edge);
                let (gx, gy) = (Guarded::new(&x, edge), Guarded::new(&y, edge));
                let mut grad = Guarded::new(&vec![T::zero(); n], edge);
                let (rs, cs) = if by_columns {
                    (1, m as i64)
                } else {
                    (n as i64, 1)
                };
                for config in backend::single() {
                    let size = config
                        .run(|e| raw::lsq_grad_workspace::<T>(e, m as i64, n as i64))
                        .expect("a size");
                    let mut workspace = Guarded::new(&vec![MaybeUninit::new(0u8); size], edge);
                    let label = format!(
                        "lsq_grad {} {config}, {m} x {n}, columns {by_columns}, {edge:?}",
                        T::DTYPE
                    );
                    let p = grad.as_mut_ptr();
                    let status = during(&label, || {
                        // SAFETY: A is m x n, x and grad have n elements, y has m.
                        config.run_with(workspace.as_mut_slice(), |e| unsafe {
                            raw::lsq_grad(
                                e,
                                m as i64,
                                n as i64,
                                ga.as_ptr(),
                                rs,
                                cs,
                                gx.as_ptr(),
                                gy.as_ptr(),
                                p,
                            )
                        })
                    });
                    report.check(status.is_ok(), || format!("{label}: {status:?}"));
                    report.equal(grad.as_slice(), &want, Nan::Bits, || label.clone());
                }
            }
        }
    }
    report.finish();
}
