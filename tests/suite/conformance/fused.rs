//! `gemm_fused`, `mse_grad` and `lsq_grad`.

use core::ptr;

use super::backend::{self, Config};
use diptych::BiasKind;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides, input_layouts};
use diptych_tests::model::{self, Dense, Epilogue};
use diptych_tests::raw::{self, RawEpilogue};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    epilogues,
    mse_grad_of_every_length,
    gradient_larger_than_the_cache,
    lsq_grad_of_every_shape,
    lsq_grad_of_any_layout,
    lsq_grad_large_with_threads,
);

/// The epilogue of a case: a bias per row, per column or none, the stride of the bias, and the bounds.
#[derive(Clone, Copy)]
struct After<T> {
    bias: BiasKind,
    bias_inc: i64,
    clamp: Option<(T, T)>,
}

fn check_fused<T: Dtype>(
    report: &mut Report,
    config: Config,
    (m, n, k): (usize, usize, usize),
    (alpha, beta): (f64, f64),
    values: Values,
    after: After<T>,
) {
    let (alpha, beta) = (T::of(alpha), T::of(beta));
    let (a, b): (Dense<T>, Dense<T>) = (
        cases::dense(values, m, k, 51),
        cases::dense(values, k, n, 52),
    );
    let old: Dense<T> = cases::dense(values, m, n, 53);
    let per_row = matches!(after.bias, BiasKind::PerRow);
    let per_column = matches!(after.bias, BiasKind::PerColumn);
    let count = if per_row { m } else { n };
    let bias = Placed::vector(&cases::vector::<T>(values, count, 54), after.bias_inc, 1);
    let biases = bias.dense().data;
    let epilogue = Epilogue {
        per_row: per_row.then(|| biases.clone()),
        per_column: per_column.then(|| biases.clone()),
        clamp: after.clamp,
    };
    let want = model::fuse(model::gemm(alpha, &a, &b, beta, &old), &epilogue);
    let raw_epilogue = RawEpilogue {
        bias: if per_row || per_column {
            bias.ptr()
        } else {
            ptr::null()
        },
        bias_inc: after.bias_inc,
        bias_kind: after.bias,
        clamp: after.clamp,
    };
    // Rows of C that a GPU can access 16 bytes at a time, and rows for which it cannot.
    let (gap, shift) = if n.is_multiple_of(4) { (4, 0) } else { (2, 1) };
    let rs = n as i64 + gap;
    let mut c = Placed::matrix(&old, Strides { rs, cs: 1 }, shift);
    let (m64, n64, k64) = (m as i64, n as i64, k as i64);
    // Shapes with a large k have a column-major B.
    let by_columns = k > 500;
    let columns: Vec<T> = (0..n).flat_map(|j| b.column(j)).collect();
    let (pb, b_rs, b_cs) = if by_columns {
        (columns.as_ptr(), 1, k64)
    } else {
        (b.data.as_ptr(), n64, 1)
    };
    let status = config.run(|exec| {
        // SAFETY: matrices of these shapes and strides; the bias has one value per row or column.
        unsafe {
            let (pc, rs, cs) = (c.mut_ptr(), c.rs(), c.cs());
            raw::gemm_fused(
                exec,
                m64,
                n64,
                k64,
                alpha,
                a.data.as_ptr(),
                k64,
                1,
                pb,
                b_rs,
                b_cs,
                beta,
                pc,
                rs,
                cs,
                &raw_epilogue,
            )
        }
    });
    let context = || {
        format!(
            "gemm_fused {config}, {m} x {n} x {k}, alpha {alpha:?}, beta {beta:?}, {values:?}, bias per row {per_row}, \
             per column {per_column}, bias_inc {}, clamp {:?}",
            after.bias_inc, after.clamp
        )
    };
    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
    report.equal_dense(&c.dense(), &want, Nan::Any, context);
    report.check(c.gaps_intact(), || {
        format!("{}: wrote outside C", context())
    });
}

fn epilogues<T: Dtype>() {
    let mut report = Report::new();
    let bound = |lo: f64, hi: f64| Some((T::of(lo), T::of(hi)));
    let clamps = [
        None,
        bound(0.0, f64::INFINITY),
        bound(-0.5, 0.25),
        bound(0.3, -0.3),
        bound(f64::NAN, 1.0),
        bound(-0.0, 0.0),
    ];
    let shapes = [
        (0, 3, 2),
        (3, 0, 2),
        (3, 4, 0),
        (1, 1, 1),
        (1, 50, 70),
        (50, 1, 70),
        (7, 17, 5),
        (8, 48, 256),
        (9, 49, 257),
        (13, 70, 300),
        (3, 5, 600),
        (4, 50, 520),
        (50, 3, 520),
        (17, 270, 520),
        (150, 160, 40),
        (1, 1, 0),
        (1, 5, 0),
        (5, 16, 0),
    ];
    for (turn, shape) in shapes.into_iter().enumerate() {
        let configs = if shape.0 == 150 {
            backend::all()
        } else {
            backend::single()
        };
        for (alpha, beta) in [(1.0, 0.0), (-0.6, 2.3), (0.0, 1.5), (0.0, 0.0)] {
            for (which, clamp) in backend::some(clamps.into_iter().enumerate(), 2) {
                for bias in [BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn] {
                    let bias_inc = [1, 2, -1, 0][(turn + which) % 4];
                    let values = if which % 3 == 1 {
                        Values::Mixed
                    } else {
                        Values::Ordinary
                    };
                    for &config in &configs {
                        check_fused(
                            &mut report,
                            config,
                            shape,
                            (alpha, beta),
                            values,
                            After {
                                bias,
                                bias_inc,
                                clamp,
                            },
                        );
                    }
                }
            }
        }
    }
    report.finish();
}

/// Checks `mse_grad` with the gradient in each of `places`: 0 is an array of its own, 1 overwrites the predictions,
/// 2 the targets.
fn check_mse_grad<T: Dtype>(
    report: &mut Report,
    configs: &[Config],
    n: usize,
    values: Values,
    places: &[usize],
) {
    let pred: Vec<T> = cases::vector(values, n, 55);
    let target: Vec<T> = cases::vector(values, n, 56);
    let (want, want_loss) = model::mse_grad(&pred, &target);
    for &config in configs {
        for &place in places {
            let (mut p, mut t) = (
                Placed::vector(&pred, 1, n % 3),
                Placed::vector(&target, 1, n % 5),
            );
            let mut own = Placed::vector(&pred, 1, 1);
            let grad = [own.mut_ptr(), p.mut_ptr(), t.mut_ptr()][place];
            let mut loss = Box::new(T::of(-1.0));
            let status = config.run(|exec| {
                // SAFETY: three arrays of n elements; the gradient is exactly one of them.
                unsafe { raw::mse_grad(exec, n as i64, p.ptr(), t.ptr(), grad, &mut *loss) }
            });
            let context = || format!("mse_grad {config}, n = {n}, {values:?}, gradient at {place}");
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(
                &[&own, &p, &t][place].dense().data,
                &want,
                Nan::Any,
                context,
            );
            report.equal(&[*loss], &[want_loss], Nan::Bits, || {
                format!("{} loss", context())
            });
            let intact = own.gaps_intact() && p.gaps_intact() && t.gaps_intact();
            report.check(intact, || format!("{}: wrote outside", context()));
        }
    }
}

fn mse_grad_of_every_length<T: Dtype>() {
    let mut report = Report::new();
    let mut lengths = cases::reduction_lengths::<T>();
    lengths.push(300_007);
    for n in lengths {
        for values in [Values::Wide, Values::Mixed, Values::Subnormal] {
            let configs = if n > 100_000 {
                backend::all()
            } else {
                backend::single()
            };
            check_mse_grad::<T>(&mut report, &configs, n, values, &[0, 1, 2]);
        }
    }
    report.finish();
}

/// A gradient so large that the kernels may use non-temporal stores.
fn gradient_larger_than_the_cache<T: Dtype>() {
    let mut report = Report::new();
    let n = backend::BEYOND_CACHES / size_of::<T>() + 3;
    check_mse_grad::<T>(&mut report, &backend::single(), n, Values::Wide, &[0]);
    report.finish();
}

fn check_lsq<T: Dtype>(
    report: &mut Report,
    configs: &[Config],
    a: &Dense<T>,
    strides: Strides,
    values: Values,
) {
    let (m, n) = (a.rows, a.cols);
    let placed = Placed::matrix(a, strides, (m + n) % 5);
    let (x, y): (Vec<T>, Vec<T>) = (cases::vector(values, n, 57), cases::vector(values, m, 58));
    let want = model::lsq_grad(&placed.dense(), &x, &y);
    let (x, y) = (Placed::vector(&x, 1, m % 3), Placed::vector(&y, 1, n % 3));
    for &config in configs {
        let size = config.run(|exec| raw::lsq_grad_workspace::<T>(exec, m as i64, n as i64));
        let mut workspace =
            vec![core::mem::MaybeUninit::uninit(); size.expect("a size for a valid shape") + 1];
        for given in [false, true] {
            let mut grad = Placed::vector(&vec![T::one(); n], 1, 1);
            // SAFETY: A is an m x n matrix, x and grad have n elements, y has m.
            let call = |exec: &dyn raw::On| unsafe {
                let (m, n) = (m as i64, n as i64);
                raw::lsq_grad(
                    exec,
                    m,
                    n,
                    placed.ptr(),
                    placed.rs(),
                    placed.cs(),
                    x.ptr(),
                    y.ptr(),
                    grad.mut_ptr(),
                )
            };
            let status = if given {
                config.run_with(&mut workspace[1..], call)
            } else {
                config.run(call)
            };
            let context = || {
                format!("lsq_grad {config}, {m} x {n}, {strides:?}, {values:?}, workspace {given}")
            };
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal(&grad.dense().data, &want, Nan::Bits, context);
            report.check(grad.gaps_intact(), || {
                format!("{}: wrote outside the gradient", context())
            });
        }
    }
}

fn lsq_grad_of_every_shape<T: Dtype>() {
    let mut report = Report::new();
    let rows = [
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 257,
    ];
    let cols = [
        0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 100, 130, 317,
    ];
    for m in rows {
        for n in cols {
            let values = if (m + n) % 4 == 0 {
                Values::Wide
            } else {
                Values::Ordinary
            };
            let a: Dense<T> = cases::dense(values, m, n, 59);
            check_lsq(
                &mut report,
                &backend::single(),
                &a,
                Strides {
                    rs: n as i64,
                    cs: 1,
                },
                values,
            );
        }
    }
    report.finish();
}

fn lsq_grad_of_any_layout<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [
        (1, 5),
        (5, 1),
        (9, 13),
        (37, 20),
        (70, 67),
        (3, T::CHUNK + 9),
        (T::CHUNK + 40, 5),
    ] {
        for strides in input_layouts(m, n) {
            let a: Dense<T> = cases::dense(Values::Ordinary, m, n, 60);
            check_lsq(
                &mut report,
                &backend::single(),
                &a,
                strides,
                Values::Ordinary,
            );
        }
    }
    for values in Values::ALL {
        let a: Dense<T> = cases::dense(values, 41, 35, 61);
        check_lsq(
            &mut report,
            &backend::single(),
            &a,
            Strides { rs: 35, cs: 1 },
            values,
        );
    }
    report.finish();
}

fn lsq_grad_large_with_threads<T: Dtype>() {
    let mut report = Report::new();
    let shapes = [
        (1000, 317),
        (333, 1000),
        (40_000, 6),
        (6, 40_000),
        (70, 601),
    ];
    for (m, n) in backend::some(shapes, 2) {
        let a: Dense<T> = cases::dense(Values::Ordinary, m, n, 62);
        for strides in [
            Strides {
                rs: n as i64,
                cs: 1,
            },
            Strides {
                rs: 1,
                cs: m as i64 + 3,
            },
        ] {
            check_lsq(&mut report, &backend::all(), &a, strides, Values::Ordinary);
        }
    }
    report.finish();
}
