//! `gemm`.

use core::mem::MaybeUninit;

use super::backend;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Strides, input_layouts, output_layouts};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::gemm_case::{Case, SCALARS, columns, row_major};

diptych_tests::per_dtype!(
    every_small_shape,
    lengths_of_k_round_the_segments,
    every_layout,
    scalars_and_special_values,
    matrix_times_vector,
    wide_and_tall,
    one_register_of_columns,
    large_with_threads,
    rows_of_b_far_apart,
    workspace_is_optional_and_kept_to,
    more_than_caches_hold,
);

fn every_small_shape<T: Dtype>() {
    let mut report = Report::new();
    let rows = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 25, 33,
    ];
    let cols = [
        0, 1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 20, 23, 24, 25, 31, 32, 33, 38, 47, 48, 49, 63, 64,
        65, 97,
    ];
    for (turn, &m) in rows.iter().enumerate() {
        for (other, &n) in backend::some(cols.iter().enumerate(), 4) {
            for k in [0, 1, 2, 5, 17] {
                let scalars = SCALARS[(turn + other + k) % SCALARS.len()];
                let case = Case::<T>::ordinary((m, n, k), row_major(n, k), scalars);
                case.check_each(&mut report, backend::single());
            }
        }
    }
    report.finish();
}

fn lengths_of_k_round_the_segments<T: Dtype>() {
    let mut report = Report::new();
    let mut lengths: Vec<usize> = (0..=34).collect();
    lengths.extend([
        63, 64, 65, 127, 128, 129, 255, 256, 257, 258, 383, 511, 512, 513, 767, 768, 769, 1031,
    ]);
    for (turn, k) in lengths.into_iter().enumerate() {
        for (m, n) in [(8, 48), (7, 29), (13, 18), (2, 2)] {
            let [mut a, mut b, c] = row_major(n, k);
            if turn % 2 == 0 {
                (a, b) = (columns(m + 1), columns(k + 2));
            }
            for scalars in [SCALARS[turn % SCALARS.len()], SCALARS[3]] {
                let case = Case::<T>::ordinary((m, n, k), [a, b, c], scalars);
                case.check_each(&mut report, backend::single());
            }
        }
    }
    report.finish();
}

fn every_layout<T: Dtype>() {
    let mut report = Report::new();
    let mut turn = 0;
    for (m, n, k) in [(7, 19, 9), (1, 13, 20), (14, 1, 5), (3, 2, 261)] {
        for a in input_layouts(m, k) {
            for b in input_layouts(k, n) {
                for c in backend::some(output_layouts(m, n), 6) {
                    turn += 1;
                    // Only a third of the combinations for the shape with a large k, to save time.
                    if k > 100 && turn % 3 != 0 {
                        continue;
                    }
                    let case =
                        Case::<T>::ordinary((m, n, k), [a, b, c], SCALARS[turn % SCALARS.len()]);
                    case.check_each(&mut report, backend::single());
                }
            }
        }
    }
    report.finish();
}

fn scalars_and_special_values<T: Dtype>() {
    let mut report = Report::new();
    let special = cases::specials::<T>();
    for (m, n, k) in [
        (5, 18, 6),
        (1, 9, 70),
        (10, 1, 3),
        (6, 16, 258),
        (40, 4, 258),
        (4, 4, 0),
        (1, 4, 0),
        (4, 1, 0),
        (9, 50, 0),
    ] {
        for values in Values::ALL {
            for scalars in SCALARS {
                let scalars = (T::of(scalars.0), T::of(scalars.1));
                let case = Case::<T>::new(values, (m, n, k), row_major(n, k), scalars);
                case.check_each(&mut report, backend::single());
            }
        }
        for &alpha in backend::some(&special, 4) {
            for &beta in &special {
                let case =
                    Case::<T>::new(Values::Ordinary, (m, n, k), row_major(n, k), (alpha, beta));
                case.check_each(&mut report, backend::single());
            }
        }
    }
    report.finish();
}

/// With m = 1 or n = 1 the product has the order of `dot`, in every combination of orientations.
fn matrix_times_vector<T: Dtype>() {
    let mut report = Report::new();
    let lane = T::LANE_COUNT;
    let lengths = [
        1,
        2,
        3,
        4,
        7,
        8,
        15,
        16,
        17,
        lane - 1,
        lane,
        lane + 1,
        2 * lane,
        3 * lane + 5,
        4 * lane,
        300,
        T::CHUNK,
        T::CHUNK + 77,
    ];
    for (turn, k) in lengths.into_iter().enumerate() {
        for other in [1, 2, 3, 5, 8, 16, 31, 64, 67, 130] {
            let scalars = SCALARS[[0, 1, 3, 6, 7][(turn + other) % 5]];
            let (tall, flat) = ((other, 1, k), (1, other, k));
            for (m, n, k) in [tall, flat] {
                let by_rows = row_major(n, k);
                let by_cols = [columns(m), columns(k), columns(m)];
                let strided = [
                    Strides {
                        rs: 3,
                        cs: 3 * m as i64 + 2,
                    },
                    Strides {
                        rs: 2,
                        cs: -(2 * k as i64),
                    },
                    Strides {
                        rs: 2,
                        cs: 2 * m as i64,
                    },
                ];
                for layouts in [by_rows, by_cols, strided] {
                    let case = Case::<T>::ordinary((m, n, k), layouts, scalars);
                    case.check_each(&mut report, backend::single());
                }
            }
        }
    }
    report.finish();
}

/// Shapes with several blocks of columns or of rows, where the other sizes are small to save time.
fn wide_and_tall<T: Dtype>() {
    let mut report = Report::new();
    for (m, n, k) in [
        (9, 1600, 5),
        (3, 3200, 3),
        (1600, 9, 5),
        (13, 800, 259),
        (800, 7, 300),
        (2, 2, 5000),
    ] {
        for scalars in [SCALARS[1], SCALARS[3]] {
            let transposed = [columns(m), columns(k), columns(m)];
            for layouts in [row_major(n, k), transposed] {
                let case = Case::<T>::ordinary((m, n, k), layouts, scalars);
                case.check_each(&mut report, backend::single());
            }
        }
    }
    report.finish();
}

/// Columns of C that fill one register of some level, with an A whose columns are contiguous and that L1 does not hold.
fn one_register_of_columns<T: Dtype>() {
    let mut report = Report::new();
    let (m, k) = (133, 259);
    for n in [2, 3, 4, 5, 8, 9, 13, 15, 16, 18, 22, 31] {
        for scalars in [SCALARS[1], SCALARS[3]] {
            let [_, b, c] = row_major(n, k);
            let a = columns(m);
            let case = Case::<T>::ordinary((m, n, k), [a, b, c], scalars);
            case.check_each(&mut report, backend::single());
        }
    }
    report.finish();
}

fn large_with_threads<T: Dtype>() {
    let mut report = Report::new();
    for (m, n, k) in [
        (150, 201, 270),
        (7, 900, 260),
        (900, 7, 260),
        (517, 1, 520),
        (1, 517, 520),
        (1, 512, 2100),
        (8, 8, 9000),
        (1, 1, 300_001),
    ] {
        let transposed = [columns(m + 1), columns(k), columns(m)];
        for (layouts, scalars) in [(row_major(n, k), SCALARS[3]), (transposed, SCALARS[0])] {
            let case = Case::<T>::ordinary((m, n, k), layouts, scalars);
            case.check_each(&mut report, backend::all());
        }
    }
    report.finish();
}

/// A large B that is packed although its rows are contiguous, because they are 8 KiB apart and so compete for the same
/// cache sets.
fn rows_of_b_far_apart<T: Dtype>() {
    let mut report = Report::new();
    let (m, k) = (66, 260);
    let apart = (8 << 10) / size_of::<T>();
    let b = Strides {
        rs: apart as i64,
        cs: 1,
    };
    let with_gaps = Strides {
        rs: 2 * apart as i64,
        cs: 2,
    };
    let mut cases = Vec::new();
    for n in [512, 525] {
        let [a, _, c] = row_major(n, k);
        cases.extend([
            (n, [a, b, c], SCALARS[0]),
            (n, [a, b, c], SCALARS[3]),
            (n, [columns(m), b, c], SCALARS[2]),
            (n, [a, b, with_gaps], SCALARS[1]),
        ]);
    }
    for (n, layouts, scalars) in backend::some(cases, 8) {
        let case = Case::<T>::ordinary((m, n, k), layouts, scalars);
        case.check_each(&mut report, backend::all());
    }
    report.finish();
}

fn workspace_is_optional_and_kept_to<T: Dtype>() {
    let mut report = Report::new();
    let canary = MaybeUninit::new(0xA5u8);
    for (m, n, k) in [
        (0, 3, 2),
        (3, 5, 4),
        (1, 50, 60),
        (60, 1, 50),
        (30, 70, 300),
        (5, 70, 300),
        (70, 5, 300),
        (150, 150, 150),
        (3, 1030, 260),
        (1024, 5, 257),
        (20, 260, 1100),
    ] {
        let transposed = [columns(m + 1), columns(k), columns(m)];
        let [a, b, c] = row_major(n, k);
        let b_transposed = [a, transposed[1], c];
        for layouts in [[a, b, c], transposed, b_transposed] {
            let case = Case::<T>::ordinary((m, n, k), layouts, SCALARS[3]);
            for config in backend::all() {
                let size =
                    config.run(|exec| raw::gemm_workspace::<T>(exec, m as i64, n as i64, k as i64));
                let size = size.expect("a size for a valid shape");
                // At an odd address, exactly as large as requested, with canaries on both sides.
                let mut memory = vec![canary; size + 64];
                let start = memory.as_ptr().align_offset(16) + 1;
                case.check(&mut report, config, Some(&mut memory[start..start + size]));
                let outside = memory[..start].iter().chain(&memory[start + size..]);
                // SAFETY: every byte was initialised, and kernels may only write bytes.
                let intact = outside
                    .clone()
                    .all(|byte| unsafe { byte.assume_init() } == 0xA5);
                report.check(intact, || {
                    format!("gemm {config}, {m} x {n} x {k}: wrote outside the workspace")
                });
            }
        }
    }
    report.finish();
}

/// A product whose C is larger than the caches, with rows that are whole cache lines apart and do not start at one:
/// it equals products of a few rows each. The gaps between the rows are not written.
fn more_than_caches_hold<T: Dtype>() {
    let mut report = Report::new();
    let (m, k, few) = (1201, 3, 7);
    let c_rs = backend::BEYOND_CACHES / size_of::<T>() / 1200 / 16 * 16;
    let n = c_rs - 5;
    let a: Vec<T> = cases::vector(Values::Ordinary, m * k, 49);
    let b: Vec<T> = cases::vector(Values::Ordinary, k * n, 50);
    for config in backend::single() {
        let [mut c, mut want] = [(); 2].map(|()| vec![T::of(7.0); m * c_rs]);
        let product = |from: usize, rows: usize, c: &mut [T]| {
            let (cols, depth, c_rs) = (n as i64, k as i64, c_rs as i64);
            let (a, c) = (&a[from * k..], &mut c[from * c_rs as usize + 3..]);
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            let (rows, alpha, beta) = (rows as i64, T::of(0.5), T::zero());
            // SAFETY: the arrays contain the matrices; C starts at element 3, and its rows have n <= c_rs - 5 elements.
            config.run(|exec| unsafe {
                raw::gemm(
                    exec, rows, cols, depth, alpha, a, depth, 1, b, cols, 1, beta, c, c_rs, 1,
                )
            })
        };
        let mut statuses = vec![product(0, m, &mut c)];
        for from in (0..m).step_by(few) {
            statuses.push(product(from, few.min(m - from), &mut want));
        }
        report.check(statuses.iter().all(|status| status.is_ok()), || {
            format!("gemm {config}: {statuses:?}")
        });
        report.equal(&c, &want, Nan::Any, || {
            format!("gemm {config}, {m} x {n} x {k}, compared with {few} rows at a time")
        });
    }
    report.finish();
}
