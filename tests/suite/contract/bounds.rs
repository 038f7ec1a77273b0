//! Vectors, and matrices whose rows are reduced, that end or start at a guard page.

use super::backend;
use diptych_tests::cases::{self, Values};
use diptych_tests::guard::{Edge, Guarded, during};
use diptych_tests::model;
use diptych_tests::ops::{Scalars, elementwise, reductions};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    elementwise_stays_inside,
    reductions_stay_inside,
    rows_stay_inside,
    dot_and_mse_grad_stay_inside,
);

pub const EDGES: [Edge; 2] = [Edge::End, Edge::Start];

fn lengths<T: Dtype>() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=70).collect();
    lengths.extend([
        127,
        128,
        129,
        200,
        257,
        T::CHUNK - 1,
        T::CHUNK,
        T::CHUNK + 1,
        2 * T::CHUNK + 77,
    ]);
    lengths
}

fn elementwise_stays_inside<T: Dtype>() {
    let mut report = Report::new();
    let s = Scalars::ordinary();
    for n in lengths::<T>() {
        let (x, y) = (
            cases::vector::<T>(Values::Ordinary, n, 1),
            cases::vector::<T>(Values::Ordinary, n, 2),
        );
        for edge in EDGES {
            let (gx, gy, mut out) = (
                Guarded::new(&x, edge),
                Guarded::new(&y, edge),
                Guarded::new(&y, edge),
            );
            for op in elementwise::<T>() {
                let want = op.expected(&x, &y, &s, &y);
                for config in backend::single() {
                    out.as_mut_slice().copy_from_slice(&y);
                    let label = format!("{} {} {config}, n = {n}, {edge:?}", op.name, T::DTYPE);
                    let status = during(&label, || {
                        // SAFETY: three arrays of n elements.
                        config.run(|e| unsafe {
                            op.call(e, n as i64, gx.as_ptr(), gy.as_ptr(), &s, out.as_mut_ptr())
                        })
                    });
                    report.check(status.is_ok(), || format!("{label}: {status:?}"));
                    report.equal(out.as_slice(), &want, Nan::Any, || label.clone());
                }
            }
        }
    }
    report.finish();
}

fn reductions_stay_inside<T: Dtype>() {
    let mut report = Report::new();
    for n in lengths::<T>().into_iter().filter(|&n| n > 1) {
        for inc in [1i64, 3, -1] {
            let span = (n - 1) * inc.unsigned_abs() as usize + 1;
            let memory: Vec<T> = cases::vector(Values::Ordinary, span, 3);
            let first = if inc < 0 { span - 1 } else { 0 };
            let at = |i: usize| (first as i64 + i as i64 * inc) as usize;
            let elements: Vec<T> = (0..n).map(|i| memory[at(i)]).collect();
            for edge in EDGES {
                let x = Guarded::new(&memory, edge);
                let mut out = Guarded::new(&[T::zero()], edge);
                for op in reductions::<T>() {
                    let want = op.expected(&elements).expect("enough elements");
                    for config in backend::single() {
                        let label = format!(
                            "{} {} {config}, n = {n}, stride {inc}, {edge:?}",
                            op.name,
                            T::DTYPE
                        );
                        let p = x.as_ptr().wrapping_add(first);
                        let status = during(&label, || {
                            // SAFETY: x has n elements at its stride, out has one.
                            config
                                .run(|e| unsafe { op.call(e, n as i64, p, inc, out.as_mut_ptr()) })
                        });
                        report.check(status.is_ok(), || format!("{label}: {status:?}"));
                        report.equal(out.as_slice(), &[want], Nan::Bits, || label.clone());
                    }
                }
            }
        }
    }
    report.finish();
}

fn rows_stay_inside<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [
        (1, 7),
        (7, 2),
        (2, 33),
        (33, 5),
        (17, 70),
        (70, 17),
        (5, 300),
        (300, 5),
        (91, 8),
        (64, 2),
        (3, T::CHUNK + 5),
        (T::CHUNK + 5, 3),
    ] {
        // Row-major; column-major; column-major with gaps between all elements; row-major with gaps between rows.
        let (m64, n64) = (m as i64, n as i64);
        for (rs, cs) in [(n64, 1), (1, m64), (2, 2 * m64), (n64 + 3, 1)] {
            let span = ((m64 - 1) * rs + (n64 - 1) * cs + 1) as usize;
            let memory: Vec<T> = cases::vector(Values::Ordinary, span, 4);
            let row = |i: i64| {
                (0..n64)
                    .map(|j| memory[(i * rs + j * cs) as usize])
                    .collect::<Vec<T>>()
            };
            for edge in EDGES {
                let x = Guarded::new(&memory, edge);
                let mut out = Guarded::new(&vec![T::zero(); m], edge);
                for op in reductions::<T>() {
                    let want: Vec<T> = (0..m64)
                        .map(|i| op.expected(&row(i)).expect("enough elements"))
                        .collect();
                    for config in backend::single() {
                        let label = format!(
                            "{}_rows {} {config}, {m} x {n}, rs {rs}, cs {cs}, {edge:?}",
                            op.name,
                            T::DTYPE
                        );
                        let status = during(&label, || {
                            // SAFETY: x has m by n elements at its strides, out has m.
                            config.run(|e| unsafe {
                                op.call_rows(e, m64, n64, x.as_ptr(), rs, cs, out.as_mut_ptr(), 1)
                            })
                        });
                        report.check(status.is_ok(), || format!("{label}: {status:?}"));
                        report.equal(out.as_slice(), &want, Nan::Bits, || label.clone());
                    }
                }
            }
        }
    }
    report.finish();
}

fn dot_and_mse_grad_stay_inside<T: Dtype>() {
    let mut report = Report::new();
    for n in lengths::<T>() {
        let (x, y) = (
            cases::vector::<T>(Values::Ordinary, n, 5),
            cases::vector::<T>(Values::Ordinary, n, 6),
        );
        let (want_grad, want_loss) = model::mse_grad(&x, &y);
        for edge in EDGES {
            let (gx, gy, mut grad) = (
                Guarded::new(&x, edge),
                Guarded::new(&y, edge),
                Guarded::new(&y, edge),
            );
            for config in backend::single() {
                let label = format!("dot or mse_grad {} {config}, n = {n}, {edge:?}", T::DTYPE);
                let mut sums = vec![T::zero(); 2];
                let (dot, loss) = sums.split_at_mut(1);
                let (dot, loss) = (dot.as_mut_ptr(), loss.as_mut_ptr());
                let status = during(&label, || {
                    // SAFETY: x, y and grad have n elements.
                    config.run(|e| unsafe {
                        raw::dot(e, n as i64, gx.as_ptr(), 1, gy.as_ptr(), 1, dot)?;
                        raw::mse_grad(
                            e,
                            n as i64,
                            gx.as_ptr(),
                            gy.as_ptr(),
                            grad.as_mut_ptr(),
                            loss,
                        )
                    })
                });
                report.check(status.is_ok(), || format!("{label}: {status:?}"));
                report.equal(&sums, &[model::dot(&x, &y), want_loss], Nan::Bits, || {
                    label.clone()
                });
                report.equal(grad.as_slice(), &want_grad, Nan::Any, || label.clone());
            }
        }
    }
    report.finish();
}
