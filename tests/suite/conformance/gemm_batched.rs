//! `gemm_batched`.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::model::{self, Dense};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::gemm_case::SCALARS;

diptych_tests::per_dtype!(batches, more_than_caches_hold);

fn batches<T: Dtype>() {
    let mut report = Report::new();
    for (m, n, k) in [
        (3, 5, 4),
        (1, 9, 70),
        (8, 1, 33),
        (13, 50, 20),
        (0, 2, 2),
        (2, 0, 2),
        (2, 3, 0),
        (40, 60, 50),
        // Those with one column that are computed together, and one that is too long for that.
        (1, 1, 1),
        (3, 1, 3),
        (5, 1, 32),
        (1, 1, 64),
        (1, 1, 65),
    ] {
        for batch in [0, 1, 2, 5, 23] {
            for (a_step, b_step) in [(1, 1), (0, 1), (1, 0), (-1, 1), (0, 0)] {
                for (turn, config) in backend::all().into_iter().enumerate() {
                    check_batch::<T>(
                        &mut report,
                        config,
                        (m, n, k),
                        batch,
                        (a_step, b_step),
                        SCALARS[turn % 4],
                    );
                }
            }
        }
    }
    report.finish();
}

/// A batch that is larger than the caches, of products that are a multiple of a tile: each equals a call of `gemm`.
fn more_than_caches_hold<T: Dtype>() {
    let mut report = Report::new();
    let (m, n, k) = (64, 64, 8);
    let (a_size, b_size, c_size) = (m * k, k * n, m * n);
    let batch = backend::BEYOND_CACHES / size_of::<T>() / (a_size + b_size + c_size);
    let a: Vec<T> = cases::vector(Values::Ordinary, a_size * batch, 47);
    let b: Vec<T> = cases::vector(Values::Ordinary, b_size * batch, 48);
    let (rows, cols, depth) = (m as i64, n as i64, k as i64);
    for config in backend::single() {
        let (mut c, mut want) = (
            vec![T::zero(); c_size * batch],
            vec![T::zero(); c_size * batch],
        );
        let status = config.run(|exec| {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            let (a_bs, b_bs, c_bs) = (a_size as i64, b_size as i64, c_size as i64);
            // SAFETY: each array contains `batch` matrices.
            unsafe {
                raw::gemm_batched(
                    exec,
                    rows,
                    cols,
                    depth,
                    T::of(1.0),
                    a,
                    depth,
                    1,
                    b,
                    cols,
                    1,
                    T::zero(),
                    c,
                    cols,
                    1,
                    batch as i64,
                    a_bs,
                    b_bs,
                    c_bs,
                )
            }
        });
        report.check(status.is_ok(), || {
            format!("gemm_batched {config}: {status:?}")
        });
        for (i, c) in want.chunks_mut(c_size).enumerate() {
            let status = config.run(|exec| {
                let (a, b) = (&a[i * a_size..], &b[i * b_size..]);
                // SAFETY: each slice contains at least one matrix.
                unsafe {
                    raw::gemm(
                        exec,
                        rows,
                        cols,
                        depth,
                        T::of(1.0),
                        a.as_ptr(),
                        depth,
                        1,
                        b.as_ptr(),
                        cols,
                        1,
                        T::zero(),
                        c.as_mut_ptr(),
                        cols,
                        1,
                    )
                }
            });
            report.check(status.is_ok(), || format!("gemm {config}: {status:?}"));
        }
        report.equal(&c, &want, Nan::Any, || {
            format!("gemm_batched {config}, {batch} of {m} x {n} x {k}, compared with gemm")
        });
    }
    report.finish();
}

/// Checks batches of row-major matrices; a step of 0 repeats one matrix, a step of -1 reverses their order.
fn check_batch<T: Dtype>(
    report: &mut Report,
    config: Config,
    (m, n, k): (usize, usize, usize),
    batch: usize,
    (a_step, b_step): (i64, i64),
    (alpha, beta): (f64, f64),
) {
    let (alpha, beta) = (T::of(alpha), T::of(beta));
    let (a_size, b_size, c_size) = (m * k, k * n, m * n + 3);
    let a: Vec<T> = cases::vector(Values::Ordinary, a_size * batch, 44);
    let b: Vec<T> = cases::vector(Values::Ordinary, b_size * batch, 45);
    let mut c: Vec<T> = cases::vector(Values::Ordinary, c_size * batch, 46);
    let first = |step: i64, size: usize| {
        if step < 0 {
            size * batch.saturating_sub(1)
        } else {
            0
        }
    };
    let (a0, b0) = (first(a_step, a_size), first(b_step, b_size));
    let mut want = c.clone();
    for item in 0..batch {
        let part = |x: &[T], first: usize, step: i64, size: usize, rows, cols| {
            let at = (first as i64 + item as i64 * step * size as i64) as usize;
            Dense {
                rows,
                cols,
                data: x[at..at + size].to_vec(),
            }
        };
        let out = &mut want[item * c_size..][..m * n];
        let old = Dense {
            rows: m,
            cols: n,
            data: out.to_vec(),
        };
        let product = model::gemm(
            alpha,
            &part(&a, a0, a_step, a_size, m, k),
            &part(&b, b0, b_step, b_size, k, n),
            beta,
            &old,
        );
        out.copy_from_slice(&product.data);
    }
    let (m64, n64, k64) = (m as i64, n as i64, k as i64);
    let status = config.run(|exec| {
        // SAFETY: a and b contain all matrices that the steps reach; c has `batch` matrices of c_size elements.
        unsafe {
            let (pa, pb) = (a.as_ptr().wrapping_add(a0), b.as_ptr().wrapping_add(b0));
            let (a_bs, b_bs) = (a_step * a_size as i64, b_step * b_size as i64);
            raw::gemm_batched(
                exec,
                m64,
                n64,
                k64,
                alpha,
                pa,
                k64,
                1,
                pb,
                n64,
                1,
                beta,
                c.as_mut_ptr(),
                n64,
                1,
                batch as i64,
                a_bs,
                b_bs,
                c_size as i64,
            )
        }
    });
    let context = || {
        format!(
            "gemm_batched {config}, {batch} of {m} x {n} x {k}, steps {a_step} {b_step}, alpha {alpha:?}, beta {beta:?}"
        )
    };
    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
    report.equal(&c, &want, Nan::Any, context);
}
