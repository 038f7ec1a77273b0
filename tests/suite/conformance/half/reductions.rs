//! Reductions, of vectors and of rows.

use diptych_tests::cases;
use diptych_tests::half::{Half, Reduction, counts_and_indices, reductions};
use diptych_tests::machines::is_another;
use diptych_tests::ops;
use diptych_tests::report::Report;
use diptych_tests::threads::{self, Config};

use super::{numbers, patterns, per_half, same, widened};

per_half!(
    of_every_length_and_stride,
    of_many_elements,
    of_rows,
    of_columns_in_parts,
    counts_and_indices_are_those_of_widened_elements,
);

/// Returns the model's result for `x`.
fn reduced(name: &str, x: &[f32]) -> Option<f32> {
    let all = ops::reductions::<f32>();
    let op = all.iter().find(|op| op.name == name);
    op.expect("a reduction of the table").expected(x)
}

/// Checks every reduction of `x`, placed in memory with stride `inc`.
fn check_reductions<H: Half>(report: &mut Report, configs: &[Config], x: &[H], inc: i64) {
    // The gaps between the elements hold a NaN, which must not be read.
    let nan = H::of_pattern(0x7FFF);
    let n = x.len();
    let span = n.saturating_sub(1) * inc.unsigned_abs() as usize + 1;
    let mut memory = vec![nan; span];
    let first = if inc < 0 { span - 1 } else { 0 };
    let at = |i: usize| (first as i64 + i as i64 * inc) as usize;
    for (i, &v) in x.iter().enumerate() {
        memory[at(i)] = v;
    }
    let shown: Vec<H> = (0..n).map(|i| memory[at(i)]).collect();
    for op in reductions::<H>() {
        let want = reduced(op.name, &widened(&shown));
        for config in configs {
            let mut out = [nan];
            let p = memory.as_ptr().wrapping_add(first);
            // SAFETY: `memory` has n elements at stride inc, out has one.
            let status =
                config.run_on_cpu(|e| unsafe { (op.one)(e, n as i64, p, inc, out.as_mut_ptr()) });
            let context = || format!("{} {config}, n = {n}, stride {inc}", op.name);
            report.check(status.is_ok() == want.is_some(), || {
                format!("{}: {status:?}", context())
            });
            if let Some(want) = want {
                same(report, &out, &[want], context);
            }
        }
    }
}

fn of_every_length_and_stride<H: Half>() {
    let mut report = Report::new();
    for n in cases::reduction_lengths::<f32>() {
        for inc in [1, 2, -1, -3, 0] {
            let x = numbers::<H>(n, 6);
            check_reductions(&mut report, &threads::single(), &x, inc);
        }
        // Inputs with infinities and NaN, and sums that overflow.
        check_reductions(&mut report, &threads::single(), &patterns::<H>(n, 7), 1);
    }
    report.finish();
}

fn of_many_elements<H: Half>() {
    let mut report = Report::new();
    for n in [131_072, 600_007] {
        for inc in [1, -2] {
            check_reductions(&mut report, &threads::all(), &numbers::<H>(n, 8), inc);
        }
    }
    report.finish();
}

/// Places a matrix in memory with these strides, and returns the memory and the index of the first element.
fn matrix<H: Half>(x: &[H], (m, n): (i64, i64), (rs, cs): (i64, i64)) -> (Vec<H>, usize) {
    let span = |size: i64, stride: i64| (size - 1).max(0) * stride.abs();
    let len = (span(m, rs) + span(n, cs) + 1) as usize;
    let first = if rs < 0 { span(m, rs) } else { 0 };
    let mut memory = vec![H::of_pattern(0x7FFF); len];
    for (place, &v) in (0..).zip(x) {
        memory[(first + place / n * rs + place % n * cs) as usize] = v;
    }
    (memory, first as usize)
}

/// Checks every reduction of the rows of the row-major matrix `x`, placed in memory with these strides.
fn check_rows<H: Half>(
    report: &mut Report,
    x: &[H],
    (m, n): (usize, usize),
    (rs, cs): (i64, i64),
    inc_out: i64,
) {
    let (mi, ni) = (m as i64, n as i64);
    let (memory, first) = matrix(x, (mi, ni), (rs, cs));
    let wide = widened(x);
    let untouched = H::of_pattern(0x1234);
    for op in reductions::<H>() {
        let row = |i: usize| reduced(op.name, &wide[i * n..(i + 1) * n]);
        let want: Option<Vec<f32>> = (0..m).map(row).collect();
        for config in threads::all() {
            let step = inc_out.unsigned_abs() as usize;
            let mut out = vec![untouched; m.saturating_sub(1) * step + 1];
            let start = if inc_out < 0 { out.len() - 1 } else { 0 };
            let p = memory.as_ptr().wrapping_add(first);
            let q = out.as_mut_ptr().wrapping_add(start);
            // SAFETY: `memory` has m by n elements at these strides, `out` has m.
            let status =
                config.run_on_cpu(|e| unsafe { (op.rows)(e, mi, ni, p, rs, cs, q, inc_out) });
            let context = || {
                let name = op.name;
                format!("{name}_rows {config}, {m} x {n}, rs {rs}, cs {cs}, inc_out {inc_out}")
            };
            report.check(status.is_ok() == want.is_some(), || {
                format!("{}: {status:?}", context())
            });
            if let Some(want) = &want {
                let place = |i: usize| (start as i64 + i as i64 * inc_out) as usize;
                let got: Vec<H> = (0..m).map(|i| out[place(i)]).collect();
                same(report, &got, want, context);
            }
            let written = |i: usize| want.is_some() && m > 0 && i.is_multiple_of(step);
            let mut gaps = (0..out.len()).filter(|&i| !written(i));
            report.check(
                gaps.all(|i| out[i].pattern() == untouched.pattern()),
                || format!("{}: wrote outside the output", context()),
            );
        }
    }
}

fn of_rows<H: Half>() {
    let mut report = Report::new();
    let shapes = [
        (0, 3),
        (3, 0),
        (1, 70),
        (3, 4),
        (17, 33),
        (33, 65),
        (65, 7),
        (2, 2300),
        (70, 66),
        (300, 200),
        (500, 600),
        // Long columns: whose chunks are widened at once or not, and of a matrix that exceeds L2.
        (4, 9000),
        (19, 33_000),
        (100, 11_000),
    ];
    for (m, n) in shapes {
        let (mi, ni) = (m as i64, n as i64);
        // With infinities and NaN, in rows and columns.
        if m * n <= 60_000 {
            let x = patterns::<H>(m * n, 10);
            check_rows(&mut report, &x, (m, n), (1, mi + 3), 1);
            check_rows(&mut report, &x, (m, n), (ni, 1), 1);
        }
        let x = numbers::<H>(m * n, 9);
        // Column-major, without and with gaps; row-major; reversed rows with gaps; row-major into a reversed output.
        for (strides, inc_out) in [
            ((1, mi), 1),
            ((1, mi + 5), -2),
            ((ni, 1), 1),
            ((-2 * ni - 1, 2), 3),
            ((ni, 1), -1),
        ] {
            check_rows(&mut report, &x, (m, n), strides, inc_out);
        }
    }
    report.finish();
}

/// Columns are reduced some at a time, as many as L1 holds or, of a matrix that exceeds L2, a part of that.
fn of_columns_in_parts<H: Half>() {
    is_another();
    let mut report = Report::new();
    for (m, n) in [(90, 70), (600, 500)] {
        check_rows(
            &mut report,
            &numbers::<H>(m * n, 11),
            (m, n),
            (1, m as i64),
            1,
        );
    }
    report.finish();
}

/// The integer that a reduction gives, of a vector; that of rows, of each row.
fn integers<T>(
    config: &Config,
    op: &Reduction<T, i64>,
    x: &[T],
    (m, rs, cs): (usize, i64, i64),
) -> Vec<i64> {
    let mut out = vec![-7; m];
    let (n, p) = ((x.len() / m) as i64, x.as_ptr());
    // SAFETY: `x` has m by n elements, `out` has m.
    let status = config.run_on_cpu(|e| unsafe {
        if m == 1 {
            (op.one)(e, n, p, cs, out.as_mut_ptr())
        } else {
            (op.rows)(e, m as i64, n, p, rs, cs, out.as_mut_ptr(), 1)
        }
    });
    assert_eq!(status, Ok(()), "{}", op.name);
    out
}

fn counts_and_indices_are_those_of_widened_elements<H: Half>() {
    let shapes = [
        (1, 1),
        (1, 70),
        (1, 2049),
        (1, 300_000),
        (3, 5),
        (33, 65),
        (400, 90),
        (70, 5000),
        (5000, 3),
    ];
    for (seed, (m, n)) in shapes.into_iter().enumerate() {
        let mut kinds = vec![patterns::<H>(m * n, 20 + seed as u64)];
        // Few values, of which some are 0, so that extremes occur more than once; with and without a NaN at the end.
        let few = numbers::<H>(m * n, 21).into_iter();
        let few: Vec<H> = few
            .map(|x| H::from_compute((x.into_compute() * 3.0).trunc()))
            .collect();
        let mut with_nan = few.clone();
        with_nan[m * n - 1] = H::from_compute(f32::NAN);
        kinds.extend([few, with_nan]);
        for x in kinds {
            let wide = widened(&x);
            let all = counts_and_indices::<H>();
            for (op, of_wide) in all.iter().zip(counts_and_indices::<f32>()) {
                for layout in [(m, n as i64, 1), (m, 1, m as i64)] {
                    let want = integers(&threads::single()[0], &of_wide, &wide, layout);
                    for config in threads::all() {
                        let got = integers(&config, op, &x, layout);
                        assert_eq!(got, want, "{} {config}, {m} x {n}, {layout:?}", op.name);
                    }
                }
            }
        }
    }
}
