//! Elementwise operations.

use std::collections::BTreeSet;

use diptych_tests::cases;
use diptych_tests::half::{Half, elementwise};
use diptych_tests::ops::{self, Scalars};
use diptych_tests::report::Report;
use diptych_tests::threads::{self, BEYOND_CACHES, Config};

use super::{numbers, patterns, per_half, same, widened};

per_half!(
    of_every_length,
    in_place,
    with_special_scalars,
    of_many_elements,
    beyond_the_caches,
);

/// Elements before and after each output, which must not change.
const MARGIN: usize = 40;

/// Checks every elementwise operation out of place, with inputs that start `shift` elements into their arrays.
fn check_elementwise<H: Half>(
    report: &mut Report,
    configs: &[Config],
    n: usize,
    s: &Scalars<f32>,
    shift: usize,
) {
    let (x, y) = (patterns::<H>(n + shift, 1), patterns::<H>(n + shift + 1, 2));
    let (x, y) = (&x[shift..], &y[shift + 1..]);
    let before = patterns::<H>(n + 2 * MARGIN, 3);
    let (wide_x, wide_y) = (widened(x), widened(y));
    let old = widened(&before[MARGIN..MARGIN + n]);
    for (op, call) in ops::elementwise::<f32>().iter().zip(elementwise::<H>()) {
        let want = op.expected(&wide_x, &wide_y, s, &old);
        for config in configs {
            let mut out = before.clone();
            let p = out[MARGIN..].as_mut_ptr();
            // SAFETY: all arrays have n elements.
            let status =
                config.run_on_cpu(|e| unsafe { call(e, n as i64, [x.as_ptr(), y.as_ptr()], s, p) });
            let context = || format!("{} {config}, n = {n}, shift {shift}, {s:?}", op.name);
            report.check(status.is_ok(), || format!("{}: {status:?}", context()));
            same(report, &out[MARGIN..MARGIN + n], &want, context);
            let unchanged = |part: std::ops::Range<usize>| {
                let pairs = out[part.clone()].iter().zip(&before[part]);
                pairs.fold(true, |all, (a, b)| all && a.pattern() == b.pattern())
            };
            report.check(
                unchanged(0..MARGIN) && unchanged(MARGIN + n..n + 2 * MARGIN),
                || format!("{}: wrote outside the output", context()),
            );
        }
    }
}

fn of_every_length<H: Half>() {
    let mut report = Report::new();
    let mut lengths = cases::elementwise_lengths();
    lengths.extend([2047, 2048, 2049, 10_001]);
    for n in lengths {
        let s = Scalars::ordinary();
        check_elementwise::<H>(&mut report, &threads::single(), n, &s, n % 17);
    }
    report.finish();
}

fn in_place<H: Half>() {
    let mut report = Report::new();
    let s = Scalars::ordinary();
    for n in [0, 1, 3, 8, 15, 16, 17, 31, 33, 64, 65, 200, 1027, 2100] {
        let (x, y) = (patterns::<H>(n, 4), patterns::<H>(n, 5));
        for (op, call) in ops::elementwise::<f32>().iter().zip(elementwise::<H>()) {
            // The output is the first input, then the second, then both.
            for (first, second) in [(true, false), (false, true), (true, true)] {
                let old = if first { &x } else { &y };
                let b = if second { old } else { &y };
                let want = op.expected(&widened(&x), &widened(b), &s, &widened(old));
                for config in threads::single() {
                    let mut out = old.clone();
                    let p = out.as_mut_ptr();
                    let a = if first { p.cast_const() } else { x.as_ptr() };
                    let b = if second { p.cast_const() } else { y.as_ptr() };
                    // SAFETY: all arrays have n elements; the output is exactly an input.
                    let status = config.run_on_cpu(|e| unsafe { call(e, n as i64, [a, b], &s, p) });
                    let context =
                        || format!("{} in place {first} {second} {config}, n = {n}", op.name);
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    same(&mut report, &out, &want, context);
                }
            }
        }
    }
    report.finish();
}

fn with_special_scalars<H: Half>() {
    let mut report = Report::new();
    let specials = cases::specials::<f32>();
    for (turn, &lo) in specials.iter().enumerate() {
        for &hi in &specials {
            let s = Scalars { lo, hi, alpha: hi };
            check_elementwise::<H>(&mut report, &threads::single(), 77, &s, turn);
        }
    }
    report.finish();
}

/// Enough elements for several threads.
fn of_many_elements<H: Half>() {
    let mut report = Report::new();
    check_elementwise::<H>(
        &mut report,
        &threads::all(),
        600_007,
        &Scalars::ordinary(),
        3,
    );
    report.finish();
}

/// Outputs so large that the kernels may use non-temporal stores; the output does not start at a cache line. The bits
/// are the same as when the operation runs on pieces.
fn beyond_the_caches<H: Half>() {
    let mut report = Report::new();
    let (s, n) = (Scalars::ordinary(), BEYOND_CACHES / size_of::<H>() + 3);
    let fill = |seed| {
        numbers::<H>(100_003, seed)
            .into_iter()
            .cycle()
            .take(n)
            .collect::<Vec<H>>()
    };
    let (x, y, before) = (fill(10), fill(11), fill(12));
    let mut kinds = BTreeSet::new();
    for (op, call) in ops::elementwise::<f32>().iter().zip(elementwise::<H>()) {
        // One operation for each number of inputs, and one that updates its output.
        if !kinds.insert((op.inputs(), op.row.updates)) {
            continue;
        }
        for config in threads::single() {
            let run = |out: &mut [H], from: usize, length: usize| {
                let inputs = [x[from..].as_ptr(), y[from..].as_ptr()];
                let p = out[from..].as_mut_ptr();
                // SAFETY: all arrays have `length` elements from `from` on.
                let status =
                    config.run_on_cpu(|e| unsafe { call(e, length as i64, inputs, &s, p) });
                status.expect(op.name);
            };
            let (mut whole, mut pieces) = (before.clone(), before.clone());
            run(&mut whole, 1, n - 2);
            for from in (1..n - 1).step_by(10_000) {
                run(&mut pieces, from, (n - 1 - from).min(10_000));
            }
            report.check(bytes(&whole) == bytes(&pieces), || {
                format!("{} {config}", op.name)
            });
        }
    }
    report.finish();
}

/// Returns the bytes of an array.
fn bytes<H: Half>(x: &[H]) -> &[u8] {
    // SAFETY: the 16-bit types have no padding.
    unsafe { core::slice::from_raw_parts(x.as_ptr().cast(), size_of_val(x)) }
}
