//! Maps over rows.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides, input_layouts, output_layouts};
use diptych_tests::model::Dense;
use diptych_tests::ops::{RowMap, row_maps};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    every_pair_of_layouts,
    every_layout_in_place,
    every_alignment,
    around_the_blocks,
    long_and_many_rows,
    special_values_in_rows,
    rows_of_every_range,
    short_rows_and_columns,
    outputs_beyond_caches,
);

/// Checks a map from one matrix into another.
fn check<T: Dtype>(
    report: &mut Report,
    op: &RowMap<T>,
    config: Config,
    x: &Placed<T>,
    want: &Dense<T>,
    to: Strides,
    shift: usize,
) {
    let (m, n) = (want.rows, want.cols);
    let untouched = Dense {
        data: vec![T::of_bits(T::NAN_BITS | 0x55); m * n],
        ..*want
    };
    let mut out = Placed::matrix(&untouched, to, shift);
    let (rs, cs) = (x.rs(), x.cs());
    // SAFETY: both have m by n elements at their strides, those of the output at different addresses.
    let status = config.run(|exec| unsafe {
        let to = (out.mut_ptr(), to.rs, to.cs);
        op.call(exec, (m, n), (x.ptr(), rs, cs), to)
    });
    let context = || {
        let from = Strides { rs, cs };
        format!("{} {config}, {m} x {n}, {from:?} to {to:?}", op.name)
    };
    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
    report.equal_dense(&out.dense(), want, Nan::Any, context);
    report.check(out.gaps_intact(), || {
        format!("{}: wrote outside the output", context())
    });
}

/// Checks a map whose output is its input.
fn check_in_place<T: Dtype>(
    report: &mut Report,
    op: &RowMap<T>,
    config: Config,
    x: &Placed<T>,
    want: &Dense<T>,
) {
    let mut both = x.clone();
    let (m, n) = (want.rows, want.cols);
    let (p, rs, cs) = (both.mut_ptr(), both.rs(), both.cs());
    // SAFETY: there are m by n elements at these strides, all at different addresses.
    let status = config.run(|exec| unsafe { op.call(exec, (m, n), (p, rs, cs), (p, rs, cs)) });
    let context = || format!("{} {config} in place, {m} x {n}, rs {rs}, cs {cs}", op.name);
    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
    report.equal_dense(&both.dense(), want, Nan::Any, context);
    report.check(both.gaps_intact(), || {
        format!("{}: wrote outside the matrix", context())
    });
}

/// The layouts of a matrix without gaps, and one with gaps everywhere.
fn main_layouts(m: usize, n: usize) -> [Strides; 3] {
    let (m, n) = (m.max(1) as i64, n.max(1) as i64);
    [(n, 1), (1, m), (-2, 2 * m + 1)].map(|(rs, cs)| Strides { rs, cs })
}

/// Checks all maps between all pairs of main layouts, and in place, in the ways that `configs` returns. The device takes one
/// case in `one_in`.
fn check_all<T: Dtype>(
    report: &mut Report,
    x: &Dense<T>,
    one_in: usize,
    configs: fn() -> Vec<Config>,
) {
    let layouts = main_layouts(x.rows, x.cols);
    for op in row_maps::<T>() {
        let want = op.expected(x);
        for from in layouts {
            let placed = Placed::matrix(x, from, 1);
            for to in backend::some(layouts, one_in) {
                for config in configs() {
                    check(report, &op, config, &placed, &want, to, 2);
                }
            }
            for config in configs() {
                check_in_place(report, &op, config, &placed, &want);
            }
        }
    }
}

const SHAPES: [(usize, usize); 20] = [
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
    (35, 129),
    (7, 200),
    (512, 20),
];

fn every_pair_of_layouts<T: Dtype>() {
    let mut report = Report::new();
    for (turn, (m, n)) in SHAPES.into_iter().enumerate() {
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 91);
        for from in input_layouts(m, n) {
            let placed = Placed::matrix(&x, from, turn % 3);
            for op in row_maps::<T>() {
                let want = op.expected(&placed.dense());
                for to in backend::some(output_layouts(m, n), 9) {
                    for config in backend::single() {
                        check(&mut report, &op, config, &placed, &want, to, turn % 5);
                    }
                }
            }
        }
    }
    report.finish();
}

fn every_layout_in_place<T: Dtype>() {
    let mut report = Report::new();
    for (turn, (m, n)) in SHAPES.into_iter().enumerate() {
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 92);
        for strides in output_layouts(m, n) {
            let placed = Placed::matrix(&x, strides, turn % 5);
            for op in row_maps::<T>() {
                let want = op.expected(&x);
                for config in backend::single() {
                    check_in_place(&mut report, &op, config, &placed, &want);
                }
            }
        }
    }
    report.finish();
}

/// Rows and columns that begin at every place in a cache line, in x and in the output.
fn every_alignment<T: Dtype>() {
    let mut report = Report::new();
    let line = 64 / size_of::<T>();
    for (m, n) in [(3, 37), (37, 3)] {
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 93);
        for op in row_maps::<T>() {
            let want = op.expected(&x);
            for [from, to] in [[0, 0], [1, 1], [0, 1]].map(|of| of.map(|i| main_layouts(m, n)[i])) {
                for shifts in backend::some(0..line * line, 40) {
                    let placed = Placed::matrix(&x, from, shifts % line);
                    for config in backend::single() {
                        check(&mut report, &op, config, &placed, &want, to, shifts / line);
                    }
                }
            }
        }
    }
    report.finish();
}

/// On the CPU, numbers of rows around those of a block: at most 4 KiB of results, and 128 KiB of elements unless columns
/// are contiguous. Threads share rows in groups of 16.
fn around_the_blocks<T: Dtype>() {
    let mut report = Report::new();
    let (most, bytes) = ((4 << 10) / size_of::<T>(), (128 << 10) / size_of::<T>());
    let shapes = [
        (most - 1, 3),
        (most, 1),
        (most + 1, 2),
        (2 * most + 2, 5),
        (most + 3, bytes / most + 9),
        (bytes / 100 + 1, 100),
        (2 * (bytes / 700) + 1, 700),
        (3, bytes - 1),
        (2, bytes + 1),
    ];
    for (m, n) in shapes {
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 94);
        check_all(&mut report, &x, 3, backend::single);
    }
    report.finish();
}

/// Matrices that are large enough for several threads.
fn long_and_many_rows<T: Dtype>() {
    let mut report = Report::new();
    let c = T::CHUNK;
    let shapes = [
        (1, 70 * c + 3),
        (2, 40 * c + 9),
        (5, 16 * c + 11),
        (18, 4 * c + 5),
        (150, 2 * c + 70),
        (1100, 250),
        (4500, 35),
        (50_000, 3),
    ];
    for (m, n) in backend::some(shapes, 3) {
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 95);
        check_all(&mut report, &x, 3, backend::all);
    }
    report.finish();
}

fn special_values_in_rows<T: Dtype>() {
    let mut report = Report::new();
    for n in [1, 5, 16, 33, 64, 70, 200] {
        let rows = cases::one_special::<T>(n, 96);
        let x = Dense {
            rows: rows.len(),
            cols: n,
            data: rows.concat(),
        };
        check_all(&mut report, &x, 3, backend::single);
    }
    report.finish();
}

/// Rows whose squares overflow, or lose digits to underflow, next to others: in a block of rows a few of them, many, or all
/// are computed in another way.
fn rows_of_every_range<T: Dtype>() {
    let mut report = Report::new();
    for (m, n) in [(9, 40), (70, 5), (200, 33), (1100, 4)] {
        for every in [1, 2, 7, 60] {
            let mut x: Dense<T> = cases::dense(Values::Ordinary, m, n, 97);
            for (i, row) in x.data.chunks_exact_mut(n).enumerate().step_by(every) {
                let values = Values::ALL[i / every % Values::ALL.len()];
                row.copy_from_slice(&cases::vector::<T>(values, n, i as u64));
            }
            check_all(&mut report, &x, 3, backend::single);
        }
    }
    report.finish();
}

/// Many vectors of every length up to the number of lanes and a little more.
fn short_rows_and_columns<T: Dtype>() {
    let mut report = Report::new();
    for n in 1..=70 {
        let m = [64, 65, 79, 81, 130, 257][n % 6] + if n <= 8 { 1040 } else { 0 };
        let x: Dense<T> = cases::dense(Values::Wide, m, n, 98);
        check_all(&mut report, &x, 3, backend::single);
    }
    report.finish();
}

/// Outputs that exceed the caches with their inputs: rows of 2 KiB or more, and columns, are then written with non-temporal
/// stores.
fn outputs_beyond_caches<T: Dtype>() {
    let mut report = Report::new();
    let elements = backend::BEYOND_CACHES / size_of::<T>() / 4;
    let n = 2100 / size_of::<T>();
    let x: Dense<T> = cases::dense(Values::Ordinary, elements / n + 5, n, 99);
    for op in row_maps::<T>() {
        let want = op.expected(&x);
        let (rows, columns) = (n as i64, x.rows as i64);
        for (rs, cs) in [(rows, 1), (rows + 3, 1), (1, columns)] {
            let strides = Strides { rs, cs };
            let placed = Placed::matrix(&x, strides, 1);
            for config in backend::single() {
                check(&mut report, &op, config, &placed, &want, strides, 2);
            }
        }
    }
    report.finish();
}
