//! `gemm` with one small side.

use super::backend;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Strides;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::gemm_case::{Case, Layouts, SCALARS};

diptych_tests::per_dtype!(
    every_small_side,
    with_threads,
    from_memory,
    few_rows_and_a_large_b,
    batches_through_a_layer,
    columns_in_few_sets,
);

/// Layouts of A, B and C: the lowest bits of `turn` choose between row-major and column-major, A and B with gaps in
/// every fourth turn, C in every third.
fn layouts((m, n, k): (usize, usize, usize), turn: usize) -> Layouts {
    let one = |by_columns: bool, (rows, cols): (usize, usize), gap: usize| {
        let (rows, cols) = (rows as i64, cols as i64);
        let (unit, gap) = if gap > 1 { (2, 3) } else { (1, gap as i64) };
        if by_columns {
            Strides {
                rs: unit,
                cs: -(unit * rows + gap),
            }
        } else {
            Strides {
                rs: unit * cols + gap,
                cs: unit,
            }
        }
    };
    [
        one(turn & 1 == 1, (m, k), turn / 4 % 2),
        one(turn & 2 == 2, (k, n), turn / 8 % 2),
        one(turn & 4 == 4, (m, n), turn % 3),
    ]
}

fn every_small_side<T: Dtype>() {
    let mut report = Report::new();
    let mut turn = 0;
    for few in 2..=17 {
        for many in backend::some([2, 8, 16, 17, 32, 33, 70], 2) {
            for k in [1, 2, 7, 8, 15, 16, 17, 31, 255, 256, 257, 300, 513] {
                for (m, n) in [(few, many), (many, few)] {
                    for orientation in 0..4 {
                        turn += 5;
                        let turn = turn / 4 * 4 + orientation;
                        let scalars = SCALARS[turn / 4 % SCALARS.len()];
                        let shape = (m, n, k);
                        let case = Case::<T>::ordinary(shape, layouts(shape, turn), scalars);
                        case.check_each(&mut report, backend::single());
                    }
                }
            }
        }
    }
    report.finish();
}

fn with_threads<T: Dtype>() {
    let mut report = Report::new();
    for (few, many, k) in [(2, 1500, 260), (5, 900, 513), (8, 701, 300), (12, 400, 520)] {
        for (m, n) in [(few, many), (many, few)] {
            for (turn, values) in [0, 3, 5, 6, 12]
                .into_iter()
                .zip(Values::ALL.into_iter().cycle())
            {
                let shape = (m, n, k);
                let (alpha, beta) = SCALARS[turn % 4];
                let scalars = (T::of(alpha), T::of(beta));
                let case = Case::<T>::new(values, shape, layouts(shape, turn), scalars);
                case.check_each(&mut report, backend::all());
            }
        }
    }
    report.finish();
}

/// A large operand that does not fit into the caches: the product equals products of a part of it each.
fn from_memory<T: Dtype>() {
    let mut report = Report::new();
    let (k, part) = (520, 64);
    let n = backend::BEYOND_CACHES / size_of::<T>() / k + 5;
    // With a stride of whole pages, all columns fall on the same set of L1.
    let strides = [k + 3, 1024];
    let b: Vec<T> = cases::vector(Values::Ordinary, n * 1024, 50);
    for (m, b_cs) in [3, 8, 13]
        .into_iter()
        .flat_map(|m| strides.map(|b_cs| (m, b_cs)))
    {
        let a: Vec<T> = cases::vector(Values::Ordinary, m * k, 49);
        for config in backend::single() {
            let [mut c, mut want] = [(); 2].map(|()| vec![T::of(7.0); m * n]);
            let product = |from: usize, cols: usize, c: &mut [T]| {
                let (rows, cols, depth) = (m as i64, cols as i64, k as i64);
                let (b, c) = (b[from * b_cs..].as_ptr(), c[from..].as_mut_ptr());
                let (a, alpha, beta) = (a.as_ptr(), T::of(0.5), T::of(0.25));
                // SAFETY: the arrays contain the matrices.
                config.run(|exec| unsafe {
                    raw::gemm(
                        exec,
                        rows,
                        cols,
                        depth,
                        alpha,
                        a,
                        depth,
                        1,
                        b,
                        1,
                        b_cs as i64,
                        beta,
                        c,
                        n as i64,
                        1,
                    )
                })
            };
            let mut statuses = vec![product(0, n, &mut c)];
            for from in (0..n).step_by(part) {
                statuses.push(product(from, part.min(n - from), &mut want));
            }
            report.check(statuses.iter().all(|status| status.is_ok()), || {
                format!("gemm {config}: {statuses:?}")
            });
            report.equal(&c, &want, Nan::Any, || {
                format!(
                    "gemm {config}, {m} x {n} x {k}, stride {b_cs}, compared with {part} columns at a time"
                )
            });
        }
    }
    report.finish();
}

/// Few rows of C and a B with contiguous rows that exceeds L2, or all caches with the gaps between its rows; and the
/// transposes of these products. The widths are around multiples of registers and of the runs that B is read in.
fn few_rows_and_a_large_b<T: Dtype>() {
    let mut report = Report::new();
    let run = (4 << 10) / size_of::<T>();
    let beyond_caches = backend::BEYOND_CACHES / size_of::<T>() / 256;
    let mut cases = Vec::new();
    for (turn, m) in (2..=17).enumerate() {
        let n = [run, run - 3, run + 1, 2 * run + 16][turn % 4];
        let k = [256, 257, 259, 300, 515][turn % 5];
        let b_rs = [run, beyond_caches, n + 1][turn % 3].max(n) as i64;
        cases.push((turn, m, n, k, b_rs));
    }
    for (turn, m, n, k, b_rs) in backend::some(cases, 4) {
        let rows = |n: usize| Strides {
            rs: n as i64,
            cs: 1,
        };
        let flipped = |s: Strides| Strides { rs: s.cs, cs: s.rs };
        let with_gaps = Strides {
            rs: 2 * n as i64,
            cs: 2,
        };
        let b = Strides { rs: b_rs, cs: 1 };
        for (c, scalars) in [
            (rows(n), SCALARS[turn % SCALARS.len()]),
            (
                [with_gaps, flipped(rows(m))][turn % 2],
                SCALARS[1 + turn % 3],
            ),
        ] {
            let straight = Case::<T>::ordinary((m, n, k), [rows(k), b, c], scalars);
            let transposed = Case::<T>::ordinary(
                (n, m, k),
                [flipped(b), flipped(rows(k)), flipped(c)],
                scalars,
            );
            for config in backend::all() {
                straight.check(&mut report, config, None);
                transposed.check(&mut report, config, None);
            }
        }
    }
    report.finish();
}

/// Batches of rows times a B whose columns are contiguous, as the weights of a layer are stored.
fn batches_through_a_layer<T: Dtype>() {
    let mut report = Report::new();
    let ks = [96, 256, 255, 257, 300, 513];
    let mut cases = Vec::new();
    for (turn, m) in (4..=26)
        .chain([31, 32, 33, 40, 48, 49, 63, 64, 65])
        .enumerate()
    {
        // Around multiples of the rows that are computed together on some level.
        let n = (4 * m).max([64, 256][turn % 2]) + [0, 1, 5, 7, 11, 15][turn % 6];
        cases.push((turn, (m, n, ks[turn / 2 % 6].max(2 * m))));
    }
    // The packed A exceeds the scratch memory.
    cases.extend([(0, (24, 256, 1100)), (1, (24, 299, 1100))]);
    for (turn, (m, n, k)) in backend::some(cases, 8) {
        let (rows, columns) = (m as i64, k as i64);
        let a = [
            Strides { rs: columns, cs: 1 },
            Strides {
                rs: 1,
                cs: rows + 3,
            },
            Strides {
                rs: 2 * columns,
                cs: 2,
            },
        ][turn % 3];
        let b = Strides {
            rs: 1,
            cs: [columns, columns + 5, -columns][turn / 3 % 3],
        };
        let c = Strides {
            rs: n as i64 + turn as i64 % 4,
            cs: 1,
        };
        for which in [turn, turn + 3, turn + 5] {
            let (alpha, beta) = SCALARS[which % SCALARS.len()];
            let values = Values::ALL[which % Values::ALL.len()];
            let scalars = (T::of(alpha), T::of(beta));
            let case = Case::<T>::new(values, (m, n, k), [a, b, c], scalars);
            for config in backend::all() {
                case.check(&mut report, config, None);
            }
        }
    }
    report.finish();
}

/// Distances between the contiguous columns of B that map them to few sets of L1, beside one that does not.
fn columns_in_few_sets<T: Dtype>() {
    let mut report = Report::new();
    let mut turn = 0;
    for m in [2, 3, 4] {
        for n in backend::some([16, 31, 32, 47, 64, 70], 3) {
            for k in [16, 17, 64, 129, 256, 300, 513] {
                for apart in [2 << 10, 4 << 10, 6 << 10, 600 * size_of::<T>()] {
                    let columns = (apart / size_of::<T>()) as i64;
                    if columns < k as i64 {
                        continue;
                    }
                    turn += 1;
                    let row = |length: usize| Strides {
                        rs: length as i64 + turn % 2,
                        cs: 1,
                    };
                    let flipped = |s: Strides| Strides { rs: s.cs, cs: s.rs };
                    let b = Strides {
                        rs: 1,
                        cs: [columns, -columns][turn as usize % 3 / 2],
                    };
                    let values = Values::ALL[turn as usize % Values::ALL.len()];
                    let (alpha, beta) = SCALARS[turn as usize % SCALARS.len()];
                    let scalars = (T::of(alpha), T::of(beta));
                    let (a, c) = (row(k), row(n));
                    let straight = Case::<T>::new(values, (m, n, k), [a, b, c], scalars);
                    let layouts = [flipped(b), row(m), row(m)];
                    let transposed = Case::<T>::new(values, (n, m, k), layouts, scalars);
                    for config in backend::single() {
                        straight.check(&mut report, config, None);
                        transposed.check(&mut report, config, None);
                    }
                }
            }
        }
    }
    report.finish();
}
