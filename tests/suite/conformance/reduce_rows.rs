//! Reductions of the rows of a matrix.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides, input_layouts};
use diptych_tests::model::Dense;
use diptych_tests::ops::{Reduction, reductions};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    rows_of_any_layout,
    rows_far_from_zero,
    long_and_many_rows,
    long_columns_in_memory,
    more_rows_than_a_block_numbers,
    special_values_in_rows,
    short_sides,
    short_sides_in_memory,
    results_beyond_caches,
    zeros_as_extremes,
);

/// Reduces the rows of a placed matrix into an output of stride `inc`.
fn check_rows<T: Dtype>(
    report: &mut Report,
    op: &Reduction<T>,
    config: Config,
    x: &Placed<T>,
    want: &[Option<T>],
    (m, n): (usize, usize),
    inc: i64,
) {
    let untouched = T::of_bits(T::NAN_BITS | 0x55);
    let mut out = Placed::vector(&vec![untouched; m], inc, 1);
    let status = config.run(|exec| {
        // SAFETY: x has m by n elements at its strides, out has m at stride inc.
        unsafe {
            op.call_rows(
                exec,
                m as i64,
                n as i64,
                x.ptr(),
                x.rs(),
                x.cs(),
                out.mut_ptr(),
                inc,
            )
        }
    });
    let possible = want.iter().all(Option::is_some);
    let context = || {
        let Strides { rs, cs } = Strides {
            rs: x.rs(),
            cs: x.cs(),
        };
        format!(
            "{}_rows {config}, {m} x {n}, rs {rs}, cs {cs}, inc_out {inc}",
            op.name
        )
    };
    report.check(status.is_ok() == possible, || {
        format!("{}: {status:?}", context())
    });
    let want: Vec<T> = want
        .iter()
        .map(|w| w.filter(|_| possible).unwrap_or(untouched))
        .collect();
    report.equal(&out.dense().data, &want, Nan::Bits, context);
    report.check(out.gaps_intact(), || {
        format!("{}: wrote outside the output", context())
    });
}

fn expected_rows<T: Dtype>(op: &Reduction<T>, x: &Dense<T>) -> Vec<Option<T>> {
    (0..x.rows).map(|i| op.expected(x.row(i))).collect()
}

const SHAPES: [(usize, usize); 28] = [
    (0, 3),
    (3, 0),
    (0, 0),
    (1, 1),
    (1, 70),
    (2, 1),
    (3, 4),
    (4, 3),
    (9, 16),
    (16, 9),
    (17, 33),
    (33, 65),
    (65, 7),
    (2, 130),
    (130, 2),
    (70, 66),
    (19, 300),
    (15, 16),
    (16, 17),
    (17, 32),
    (18, 48),
    (33, 64),
    (35, 129),
    (70, 8),
    (70, 12),
    (70, 40),
    (7, 200),
    (512, 20),
];

fn rows_of_any_layout<T: Dtype>() {
    every_shape::<T>(Values::Wide, |_| true);
}

/// Variances that the error of the mean would dominate, if it were not taken out.
fn rows_far_from_zero<T: Dtype>() {
    every_shape::<T>(Values::Far, |op| op.row.ddof);
}

/// Reduces matrices of each shape and layout, with these reductions.
fn every_shape<T: Dtype>(values: Values, wanted: fn(&Reduction<T>) -> bool) {
    let mut report = Report::new();
    for (turn, (m, n)) in SHAPES.into_iter().enumerate() {
        let x: Dense<T> = cases::dense(values, m, n, 15);
        for strides in input_layouts(m, n) {
            let placed = Placed::matrix(&x, strides, turn % 3);
            let elements = placed.dense();
            for op in reductions::<T>().into_iter().filter(wanted) {
                let want = expected_rows(&op, &elements);
                for config in backend::single() {
                    let inc = [1, -1, 3][turn % 3];
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), inc);
                }
            }
        }
    }
    report.finish();
}

/// Matrices with long rows or many rows. Some are larger than L2, where the lanes of columns are in scratch memory.
fn long_and_many_rows<T: Dtype>() {
    let mut report = Report::new();
    let c = T::CHUNK;
    let shapes = [
        (3, 3 * c + 11),
        (20, c + 9),
        (1100, 250),
        (1101, c - 48),
        (16, 9000),
        (5000, 9),
        (40, 2 * c),
        (70, 2 * c + 5),
        (4500, 70),
        (100, 705),
        (110, c + 67),
        (128, c + 200),
        (150, 2 * c + 70),
    ];
    let cases = shapes.map(|shape| [(shape, Values::Wide), (shape, Values::Far)]);
    for ((m, n), values) in cases.into_iter().flatten() {
        let x: Dense<T> = cases::dense(values, m, n, 16);
        for strides in [
            Strides {
                rs: n as i64 + 1,
                cs: 1,
            },
            Strides {
                rs: 1,
                cs: m as i64,
            },
            Strides {
                rs: -2,
                cs: 2 * m as i64 + 1,
            },
        ] {
            let placed = Placed::matrix(&x, strides, 1);
            let wanted = |op: &Reduction<T>| values == Values::Wide || op.row.ddof;
            for op in backend::some(reductions::<T>().into_iter().filter(wanted), 7) {
                let want = expected_rows(&op, &x);
                for config in backend::all() {
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), 1);
                }
            }
        }
    }
    report.finish();
}

/// Checks these reductions of the rows of `x`, stored column-major without gaps.
fn check_columns<T: Dtype>(
    report: &mut Report,
    x: &Dense<T>,
    ops: impl IntoIterator<Item = Reduction<T>>,
) {
    let (m, n) = (x.rows, x.cols);
    let by_columns = Strides {
        rs: 1,
        cs: m as i64,
    };
    let placed = Placed::matrix(x, by_columns, 1);
    for op in ops {
        let want = expected_rows(&op, x);
        for config in backend::single() {
            check_rows(report, &op, config, &placed, &want, (m, n), 1);
        }
    }
}

/// A few long columns; on the CPU more than 8 MiB in all, above which the kernels assume that no cache holds them.
fn long_columns_in_memory<T: Dtype>() {
    let mut report = Report::new();
    let m = 5;
    let n = backend::BEYOND_CACHES / 8 / size_of::<T>() / m + 3;
    let x = cases::dense(Values::Wide, m, n, 18);
    check_columns(&mut report, &x, backend::some(reductions::<T>(), 7));
    report.finish();
}

/// Columns of more than 2^20 rows, which are searched in blocks; the extremes are in the first block, in the second and
/// in both.
fn more_rows_than_a_block_numbers<T: Dtype>() {
    let mut report = Report::new();
    let (m, n) = (3, (1 << 20) + 9);
    let mut x: Dense<T> = cases::dense(Values::Ordinary, m, n, 19);
    let extremes = [(0, 7), (1, n - 3), (2, 70), (2, n - 1)];
    for (i, j) in extremes {
        x.data[i * n + j] = T::of(-1e9);
        x.data[i * n + j - 1] = T::of(1e9);
    }
    let searches = reductions::<T>()
        .into_iter()
        .filter(|op| op.name.starts_with("arg"));
    check_columns(&mut report, &x, backend::some(searches, 4));
    report.finish();
}

fn special_values_in_rows<T: Dtype>() {
    let mut report = Report::new();
    for n in [1, 5, 16, 33, 64, 70, 200] {
        let rows = cases::one_special::<T>(n, 17);
        let mut x = Dense {
            rows: rows.len(),
            cols: n,
            data: rows.concat(),
        };
        for values in Values::ALL {
            x.data.extend(cases::vector::<T>(values, n, 18));
            x.rows += 1;
        }
        let m = x.rows;
        for strides in [
            Strides {
                rs: n as i64,
                cs: 1,
            },
            Strides {
                rs: 1,
                cs: m as i64,
            },
            Strides {
                rs: 2,
                cs: -2 * m as i64,
            },
        ] {
            let placed = Placed::matrix(&x, strides, 2);
            for op in reductions::<T>() {
                let want = expected_rows(&op, &x);
                for config in backend::single() {
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), 1);
                }
            }
        }
    }
    report.finish();
}

/// A matrix with infinities, NaN and zeros of both signs in many rows, but not in all.
fn with_specials<T: Dtype>(m: usize, n: usize) -> Dense<T> {
    let mut x: Dense<T> = cases::dense(Values::Wide, m, n, 22);
    let specials = [
        (53, T::of(-0.0)),
        (59, T::ZERO),
        (211, T::of(f64::INFINITY)),
        (307, T::of(f64::NEG_INFINITY)),
        (1009, T::of_bits(T::NAN_BITS)),
    ];
    for (every, special) in specials {
        x.data.iter_mut().step_by(every).for_each(|v| *v = special);
    }
    x
}

/// Many vectors of every length up to the number of lanes and a little more, in rows and in columns: counts around those
/// from which short rows are copied to columns, and around the blocks of these.
fn short_sides<T: Dtype>() {
    let mut report = Report::new();
    for n in 1..=70 {
        let few = [64, 65, 79, 81, 130, 257, 700][n % 7];
        // Several blocks, the last of which is short.
        let m = few + if n <= 8 { 1040 } else { 0 };
        let x = with_specials::<T>(m, n);
        let (rows, cols) = (m as i64, n as i64);
        let layouts = [(cols, 1), (cols + 3, 1), (-cols, 1), (1, rows)];
        for op in backend::some(reductions::<T>(), 7) {
            let want = expected_rows(&op, &x);
            for (rs, cs) in layouts {
                let placed = Placed::matrix(&x, Strides { rs, cs }, n % 3);
                for config in backend::single() {
                    let inc = [1, 2][n % 2];
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), inc);
                }
            }
        }
    }
    report.finish();
}

/// As [`short_sides`], for matrices that no cache is expected to hold: kernels prefetch, and read rows in runs.
fn short_sides_in_memory<T: Dtype>() {
    let mut report = Report::new();
    let names = ["sum", "prod", "max", "argmax", "var", "logsumexp"];
    // From 17 on, rows are read two or three at a time, in every mixture of both.
    for n in [3, 8, 17, 29, 45, 64] {
        let m = backend::BEYOND_CACHES / 8 / size_of::<T>() / n + 77;
        let x = with_specials::<T>(m, n);
        let (rows, cols) = (m as i64, n as i64);
        let ops = reductions::<T>()
            .into_iter()
            .filter(|op| names.contains(&op.name));
        for op in backend::some(ops, 6) {
            let want = expected_rows(&op, &x);
            for (rs, cs) in [(cols, 1), (-cols - 2, 1), (1, rows), (1, -rows - 5)] {
                let placed = Placed::matrix(&x, Strides { rs, cs }, n % 3);
                for config in backend::all() {
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), 1);
                }
            }
        }
    }
    report.finish();
}

/// Matrices that exceed the LLC with their results, which are then written with non-temporal stores.
fn results_beyond_caches<T: Dtype>() {
    let mut report = Report::new();
    let n = 3;
    let m = backend::BEYOND_CACHES / 2 / size_of::<T>() / (n + 1) + 5;
    let x = with_specials::<T>(m, n);
    let strides = Strides {
        rs: n as i64,
        cs: 1,
    };
    let placed = Placed::matrix(&x, strides, 1);
    let ops = reductions::<T>()
        .into_iter()
        .filter(|op| ["sum", "argmax"].contains(&op.name));
    for op in backend::some(ops, 2) {
        let want = expected_rows(&op, &x);
        for config in backend::single() {
            check_rows(&mut report, &op, config, &placed, &want, (m, n), 1);
        }
    }
    report.finish();
}

/// Rows whose greatest or least element is a zero, of either sign or of both, among rows without one.
fn zeros_as_extremes<T: Dtype>() {
    let mut report = Report::new();
    let (m, negative) = (100, T::of(-0.0));
    for n in [2, 8, 16, 40, 150] {
        let mut x: Dense<T> = cases::dense(Values::Wide, m, n, 21);
        for (i, row) in x.data.chunks_exact_mut(n).enumerate() {
            // From row 32 on, every level has groups of rows with one such row, with several, and with a NaN.
            let sign = match i {
                35 | 70..76 => 1.0,
                50 | 85..90 => -1.0,
                _ => continue,
            };
            for (j, v) in row.iter_mut().enumerate() {
                let zero = [T::ZERO, negative][(i / 2 + j / 2) % 2];
                let far = T::of(sign * (1.0 + j as f64));
                *v = if j % 3 == i % 3 || j < 2 { zero } else { far };
            }
            if i % 19 == 14 {
                row[n / 2] = T::of_bits(T::NAN_BITS);
            }
        }
        for strides in [[n, 1], [1, m]] {
            let [rs, cs] = strides.map(|stride| stride as i64);
            let placed = Placed::matrix(&x, Strides { rs, cs }, 1);
            for op in reductions::<T>() {
                let want = expected_rows(&op, &x);
                for config in backend::single() {
                    check_rows(&mut report, &op, config, &placed, &want, (m, n), 1);
                }
            }
        }
    }
    report.finish();
}
