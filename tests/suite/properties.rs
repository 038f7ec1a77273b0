//! Random shapes, strides and values against the model. `DIPTYCH_CASES` sets how many.

use diptych::raw;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::model::{self, Dense};
use diptych_tests::ops::{Scalars, elementwise, reductions};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use diptych_tests::threads;
use proptest::prelude::*;

fn config() -> ProptestConfig {
    let cases = std::env::var("DIPTYCH_CASES")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(48);
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}

fn values() -> impl Strategy<Value = Values> {
    prop::sample::select(Values::ALL.to_vec())
}

/// A shape whose longest sides are rare, and strides of any sign that keep elements apart.
#[derive(Clone, Debug)]
struct Shape {
    rows: usize,
    cols: usize,
    gap: i64,
    pitch: i64,
    by_columns: bool,
    flip: (bool, bool),
    shift: usize,
}

impl Shape {
    fn strides(&self, rows: usize, cols: usize) -> Strides {
        let inner = if self.by_columns { rows } else { cols } as i64;
        let (mut rs, mut cs) = (inner.max(1) * self.gap + self.pitch, self.gap);
        if self.by_columns {
            (rs, cs) = (cs, rs);
        }
        Strides {
            rs: if self.flip.0 { -rs } else { rs },
            cs: if self.flip.1 { -cs } else { cs },
        }
    }
}

fn side() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0..10usize, 3 => 10..70usize, 1 => 70..400usize]
}

fn shape() -> impl Strategy<Value = Shape> {
    (
        side(),
        side(),
        1..4i64,
        0..9i64,
        any::<bool>(),
        any::<(bool, bool)>(),
        0..17usize,
    )
        .prop_map(|(rows, cols, gap, pitch, by_columns, flip, shift)| Shape {
            rows,
            cols,
            gap,
            pitch,
            by_columns,
            flip,
            shift,
        })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn elementwise_equals_the_model(n in 0..3000usize, shift in 0..33usize, kind in values(), seed: u64, f64_too: bool) {
        check_elementwise::<f32>(n, shift, kind, seed);
        if f64_too {
            check_elementwise::<f64>(n, shift, kind, seed);
        }
    }

    #[test]
    fn reductions_equal_the_model(shape in shape(), long in 1..6000usize, kind in values(), seed: u64, f64_too: bool) {
        check_reductions::<f32>(&shape, long, kind, seed);
        if f64_too {
            check_reductions::<f64>(&shape, long, kind, seed);
        }
    }

    #[test]
    fn products_equal_the_model(a in shape(), b in shape(), c in shape(), k in prop_oneof![0..20usize, 20..600usize],
                                scalars in (-2..3i32, -2..3i32), kind in values(), seed: u64) {
        check_product::<f32>([&a, &b, &c], k, scalars, kind, seed);
        check_product::<f64>([&a, &b, &c], k, scalars, kind, seed);
    }

    #[test]
    fn lsq_grad_equals_the_model(shape in shape(), kind in values(), seed: u64) {
        check_lsq_grad::<f32>(&shape, kind, seed);
        check_lsq_grad::<f64>(&shape, kind, seed);
    }
}

fn check_elementwise<T: Dtype>(n: usize, shift: usize, kind: Values, seed: u64) {
    let mut report = Report::new();
    let (x, y) = (
        cases::vector::<T>(kind, n, seed),
        cases::vector::<T>(kind, n, !seed),
    );
    let bound: Vec<T> = cases::vector(kind, 3, seed ^ 5);
    let s = Scalars {
        lo: bound[0],
        hi: bound[1],
        alpha: bound[2],
    };
    let (at, beside) = (
        Placed::vector(&x, 1, shift),
        Placed::vector(&y, 1, shift + 1),
    );
    for op in elementwise::<T>() {
        let want = op.expected(&x, &y, &s, &y);
        for config in threads::single() {
            let mut out = Placed::vector(&y, 1, shift / 2);
            // SAFETY: three arrays of n elements.
            let status = config.run(|e| unsafe {
                op.call(e, n as i64, at.ptr(), beside.ptr(), &s, out.mut_ptr())
            });
            let context = || format!("{} {config}, n = {n}", op.name);
            report.check(status.is_ok() && out.gaps_intact(), || {
                format!("{}: {status:?} or gaps", context())
            });
            report.equal(&out.dense().data, &want, Nan::Any, context);
        }
    }
    report.finish();
}

fn check_reductions<T: Dtype>(shape: &Shape, long: usize, kind: Values, seed: u64) {
    let mut report = Report::new();
    let (m, n) = (shape.rows, shape.cols);
    let x: Dense<T> = cases::dense(kind, m, n, seed);
    let placed = Placed::matrix(&x, shape.strides(m, n), shape.shift);
    let single: Vec<T> = cases::vector(kind, long, seed);
    let vector = Placed::vector(&single, shape.gap, shape.shift);
    for op in reductions::<T>() {
        let want: Vec<Option<T>> = (0..m).map(|i| op.expected(x.row(i))).collect();
        let want_single = op.expected(&single);
        for config in threads::all() {
            let mut out = Placed::vector(&vec![T::zero(); m], 2, 1);
            // SAFETY: x shows m by n elements, out m at stride 2.
            let status = config.run(|e| unsafe {
                op.call_rows(
                    e,
                    m as i64,
                    n as i64,
                    placed.ptr(),
                    placed.rs(),
                    placed.cs(),
                    out.mut_ptr(),
                    2,
                )
            });
            let context = || format!("{}_rows {config}, {shape:?}, {kind:?}", op.name);
            match want.iter().copied().collect::<Option<Vec<T>>>() {
                Some(want) => report.equal(&out.dense().data, &want, Nan::Bits, context),
                None => report.check(status.is_err(), context),
            }
            report.check(out.gaps_intact(), context);
            let mut one = T::zero();
            // SAFETY: the vector shows `long` elements.
            let status = config
                .run(|e| unsafe { op.call(e, long as i64, vector.ptr(), vector.cs(), &mut one) });
            let context = || {
                format!(
                    "{} {config}, n = {long}, stride {}, {kind:?}: {status:?}",
                    op.name,
                    vector.cs()
                )
            };
            report.check(status.is_ok() == want_single.is_some(), context);
            if let Some(want) = want_single {
                report.equal(&[one], &[want], Nan::Bits, context);
            }
        }
    }
    report.finish();
}

fn check_product<T: Dtype>(
    shapes: [&Shape; 3],
    k: usize,
    scalars: (i32, i32),
    kind: Values,
    seed: u64,
) {
    let mut report = Report::new();
    // Small sides for most of the work: the model is slow.
    let (m, n) = (shapes[0].rows.min(64), shapes[1].cols.min(100));
    let (alpha, beta) = (
        T::of(f64::from(scalars.0) * 0.7),
        T::of(f64::from(scalars.1) * 0.9),
    );
    let a = Placed::matrix(
        &cases::dense::<T>(kind, m, k, seed),
        shapes[0].strides(m, k),
        shapes[0].shift,
    );
    let b = Placed::matrix(
        &cases::dense::<T>(kind, k, n, !seed),
        shapes[1].strides(k, n),
        shapes[1].shift,
    );
    let old: Dense<T> = cases::dense(kind, m, n, seed ^ 7);
    let want = model::gemm(alpha, &a.dense(), &b.dense(), beta, &old);
    for config in threads::all() {
        let mut c = Placed::matrix(&old, shapes[2].strides(m, n), shapes[2].shift);
        let (m, n, k, pc) = (m as i64, n as i64, k as i64, c.mut_ptr());
        // SAFETY: the three matrices show these shapes.
        let status = config.run(|e| unsafe {
            let (rs, cs) = (c.rs(), c.cs());
            raw::gemm(
                e,
                m,
                n,
                k,
                alpha,
                a.ptr(),
                a.rs(),
                a.cs(),
                b.ptr(),
                b.rs(),
                b.cs(),
                beta,
                pc,
                rs,
                cs,
            )
        });
        let context = || {
            format!(
                "gemm {config}, {m} x {n} x {k}, {shapes:?}, alpha {alpha:?}, beta {beta:?}, {kind:?}"
            )
        };
        report.check(status.is_ok() && c.gaps_intact(), || {
            format!("{}: {status:?} or gaps", context())
        });
        report.equal_dense(&c.dense(), &want, Nan::Any, context);
    }
    report.finish();
}

fn check_lsq_grad<T: Dtype>(shape: &Shape, kind: Values, seed: u64) {
    let mut report = Report::new();
    let (m, n) = (shape.rows, shape.cols);
    let a = Placed::matrix(
        &cases::dense::<T>(kind, m, n, seed),
        shape.strides(m, n),
        shape.shift,
    );
    let (x, y) = (
        cases::vector::<T>(kind, n, !seed),
        cases::vector::<T>(kind, m, seed ^ 9),
    );
    let want = model::lsq_grad(&a.dense(), &x, &y);
    for config in threads::all() {
        let mut grad = vec![T::one(); n];
        // SAFETY: A shows m by n elements, x and grad have n, y has m.
        let status = config.run(|e| unsafe {
            let (m, n, p) = (m as i64, n as i64, grad.as_mut_ptr());
            raw::lsq_grad(e, m, n, a.ptr(), a.rs(), a.cs(), x.as_ptr(), y.as_ptr(), p)
        });
        let context = || format!("lsq_grad {config}, {shape:?}, {kind:?}: {status:?}");
        report.check(status.is_ok(), context);
        report.equal(&grad, &want, Nan::Bits, context);
    }
    report.finish();
}
