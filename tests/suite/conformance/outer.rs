//! `outer` and `ger`.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides, output_layouts};
use diptych_tests::model::{self, Dense};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    every_shape_and_layout,
    many_elements,
    output_larger_than_the_cache,
    large_matrices
);

/// The alpha of `ger`: its product with x rounds, so that a wrong association changes bits.
const ALPHA: f64 = -1.3;

struct Case<T> {
    x: Vec<T>,
    y: Vec<T>,
    old: Dense<T>,
    outer: Dense<T>,
    ger: Dense<T>,
}

impl<T: Dtype> Case<T> {
    fn new(values: Values, m: usize, n: usize) -> Case<T> {
        let (x, y) = (cases::vector(values, m, 31), cases::vector(values, n, 32));
        let old: Dense<T> = cases::dense(values, m, n, 33);
        let (mut outer, mut ger) = (old.clone(), old.clone());
        for (i, (o, g)) in outer.data.iter_mut().zip(&mut ger.data).enumerate() {
            let (xi, yj): (T, T) = (x[i / n], y[i % n]);
            *g = model::ger(T::of(ALPHA), xi, yj, *g);
            *o = xi * yj;
        }
        Case {
            x,
            y,
            old,
            outer,
            ger,
        }
    }

    fn check(
        &self,
        report: &mut Report,
        config: Config,
        strides: Strides,
        (incx, incy): (i64, i64),
        shift: usize,
    ) {
        let (m, n) = (self.old.rows, self.old.cols);
        let (x, y) = (
            Placed::vector(&self.x, incx, shift),
            Placed::vector(&self.y, incy, 1),
        );
        for (name, want) in [("outer", &self.outer), ("ger", &self.ger)] {
            let mut out = Placed::matrix(&self.old, strides, shift + 1);
            let (p, rs, cs) = (out.mut_ptr(), strides.rs, strides.cs);
            let (m64, n64) = (m as i64, n as i64);
            // SAFETY: x has m elements, y has n, and the output m by n with distinct addresses.
            let status = config.run(|exec| unsafe {
                match name {
                    "outer" => raw::outer(exec, m64, n64, x.ptr(), incx, y.ptr(), incy, p, rs, cs),
                    _ => raw::ger(
                        exec,
                        m64,
                        n64,
                        T::of(ALPHA),
                        x.ptr(),
                        incx,
                        y.ptr(),
                        incy,
                        p,
                        rs,
                        cs,
                    ),
                }
            });
            let context = || {
                format!(
                    "{name} {config}, {m} x {n}, {strides:?}, incx {incx}, incy {incy}, shift {shift}"
                )
            };
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            report.equal_dense(&out.dense(), want, Nan::Any, context);
            report.check(out.gaps_intact(), || {
                format!("{}: wrote outside the output", context())
            });
        }
    }
}

fn every_shape_and_layout<T: Dtype>() {
    let mut report = Report::new();
    let sizes = [0, 1, 2, 3, 7, 8, 9, 16, 17, 22, 33, 46, 64, 65, 90, 130];
    for (turn, &m) in sizes.iter().enumerate() {
        for &n in &sizes {
            let values = if (m + n) % 2 == 0 {
                Values::Mixed
            } else {
                Values::Wide
            };
            let mut case = Case::<T>::new(values, m, n);
            for (which, strides) in output_layouts(m, n).into_iter().enumerate() {
                let incs = [(1, 1), (2, 1), (1, -1), (-3, 2), (1, 0), (0, 1)][(turn + which) % 6];
                if incs.0 == 0 || incs.1 == 0 {
                    // Stride 0 repeats an element: compare with the case that contains it repeatedly.
                    case = Case::repeated(&case, incs);
                }
                for config in backend::single() {
                    case.check(&mut report, config, strides, incs, (turn + which) % 5);
                }
            }
        }
    }
    report.finish();
}

impl<T: Dtype> Case<T> {
    /// Returns the case with each vector of stride 0 replaced by repetitions of its last element, the one that
    /// `Placed` keeps.
    fn repeated(case: &Case<T>, (incx, incy): (i64, i64)) -> Case<T> {
        let (m, n) = (case.old.rows, case.old.cols);
        let mut repeated = Case {
            x: case.x.clone(),
            y: case.y.clone(),
            ..Case::new(Values::Wide, m, n)
        };
        if let (0, Some(&last)) = (incx, case.x.last()) {
            repeated.x = vec![last; m];
        }
        if let (0, Some(&last)) = (incy, case.y.last()) {
            repeated.y = vec![last; n];
        }
        for i in 0..m * n {
            let (xi, yj) = (repeated.x[i / n], repeated.y[i % n]);
            repeated.outer.data[i] = xi * yj;
            repeated.ger.data[i] = model::ger(T::of(ALPHA), xi, yj, repeated.old.data[i]);
        }
        repeated
    }
}

fn many_elements<T: Dtype>() {
    let mut report = Report::new();
    let shapes = [
        (611, 523),
        (3, 100_003),
        (100_003, 3),
        (1, 300_001),
        (300_001, 1),
    ];
    for (m, n) in backend::some(shapes, 3) {
        let case = Case::<T>::new(Values::Wide, m, n);
        let (rows, cols) = (m as i64, n as i64);
        for strides in [
            Strides {
                rs: cols + 1,
                cs: 1,
            },
            Strides { rs: 1, cs: rows },
        ] {
            for config in backend::all() {
                case.check(&mut report, config, strides, (1, 1), 2);
            }
        }
    }
    report.finish();
}

/// Outputs so large that the kernels may use non-temporal stores; the first row does not start at a cache line.
fn output_larger_than_the_cache<T: Dtype>() {
    let mut report = Report::new();
    let (m, n) = (1201, backend::BEYOND_CACHES / size_of::<T>() / 1200);
    let (x, y): (Vec<T>, Vec<T>) = (
        cases::vector(Values::Wide, m, 34),
        cases::vector(Values::Wide, n, 35),
    );
    for config in backend::single() {
        for pitch in [n, n + 5] {
            let mut out = vec![T::zero(); 1 + m * pitch];
            let status = config.run(|exec| {
                // SAFETY: out has room for m rows of `pitch` elements after the first.
                unsafe {
                    let (p, rs) = (out.as_mut_ptr().add(1), pitch as i64);
                    raw::outer(
                        exec,
                        m as i64,
                        n as i64,
                        x.as_ptr(),
                        1,
                        y.as_ptr(),
                        1,
                        p,
                        rs,
                        1,
                    )
                }
            });
            report.check(status.is_ok(), || format!("outer {config}: {status:?}"));
            for (i, row) in out[1..].chunks(pitch).enumerate() {
                let right = row
                    .iter()
                    .zip(&y)
                    .all(|(v, &yj)| v.bits() == (x[i] * yj).bits());
                let gap = row.iter().skip(n).all(|v| v.bits() == 0);
                report.check(right && gap, || {
                    format!("outer {config}, {m} x {n}, pitch {pitch}: row {i} is wrong")
                });
            }
        }
    }
    report.finish();
}

/// Rows that fill L1 and shorter ones, with and without a tail, with and without gaps. On the CPU the matrix is larger
/// than 16 MiB, which the kernels take for the size of the caches.
fn large_matrices<T: Dtype>() {
    let mut report = Report::new();
    let bytes = backend::BEYOND_CACHES / 4;
    for n in [8192 + 5, 4096, 1000] {
        let case = Case::<T>::new(Values::Ordinary, bytes / size_of::<T>() / n, n);
        for pitch in [n, n + 3] {
            for config in backend::single() {
                let strides = Strides {
                    rs: pitch as i64,
                    cs: 1,
                };
                case.check(&mut report, config, strides, (1, 1), 0);
            }
        }
    }
    report.finish();
}
