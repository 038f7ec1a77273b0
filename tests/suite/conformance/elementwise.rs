//! Elementwise operations.

use super::backend::{self, Config};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::ops::{Elementwise, Scalars, elementwise};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

diptych_tests::per_dtype!(
    every_length_and_alignment,
    in_place,
    special_scalars,
    many_elements,
    output_larger_than_the_cache
);

/// Returns how NaNs compare: operations that copy values keep the bits of a NaN, the others promise only some NaN.
fn nan_of<T: Dtype>(op: &Elementwise<T>) -> Nan {
    if op.copies() { Nan::Bits } else { Nan::Any }
}

/// Calls `op` on fresh memory; each operand starts at its own distance, derived from `shift`, after the start of a
/// cache line.
fn check<T: Dtype>(
    report: &mut Report,
    op: &Elementwise<T>,
    config: Config,
    x: &[T],
    y: &[T],
    s: &Scalars<T>,
    shift: usize,
) {
    let n = x.len();
    let (x_at, y_at) = (
        Placed::vector(x, 1, shift),
        Placed::vector(y, 1, shift / 2 + 1),
    );
    let mut out = Placed::vector(y, 1, 2 * shift);
    let want = op.expected(x, y, s, y);
    let status = config.run(|exec| {
        // SAFETY: all three arrays have n elements.
        unsafe { op.call(exec, n as i64, x_at.ptr(), y_at.ptr(), s, out.mut_ptr()) }
    });
    let context = || format!("{} {config}, n = {n}, shift {shift}, {s:?}", op.name);
    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
    report.equal(&out.dense().data, &want, nan_of(op), context);
    report.check(out.gaps_intact(), || {
        format!("{}: wrote outside the output", context())
    });
    let input_unchanged = x_at
        .dense()
        .data
        .iter()
        .zip(x)
        .all(|(a, b)| a.bits() == b.bits());
    report.check(input_unchanged, || {
        format!("{}: changed its input", context())
    });
}

fn every_length_and_alignment<T: Dtype>() {
    let mut report = Report::new();
    for n in cases::elementwise_lengths() {
        let (x, y) = (
            cases::vector(Values::Mixed, n, 1),
            cases::vector(Values::Mixed, n, 2),
        );
        for op in elementwise::<T>() {
            for config in backend::all() {
                check(
                    &mut report,
                    &op,
                    config,
                    &x,
                    &y,
                    &Scalars::ordinary(),
                    n % 17,
                );
            }
        }
    }
    report.finish();
}

fn in_place<T: Dtype>() {
    let mut report = Report::new();
    let s = Scalars::ordinary();
    for n in [0, 1, 3, 8, 31, 64, 65, 200, 1027] {
        let (x, y) = (
            cases::vector::<T>(Values::Mixed, n, 3),
            cases::vector::<T>(Values::Mixed, n, 4),
        );
        for op in elementwise::<T>() {
            for config in backend::single() {
                // The output is the first input, then the second, then both.
                for (first, second) in [(true, false), (false, true), (true, true)] {
                    let old = if first { &x } else { &y };
                    let (a, b) = (if first { old } else { &x }, if second { old } else { &y });
                    let want = op.expected(a, b, &s, old);
                    let mut out = old.clone();
                    let p = out.as_mut_ptr();
                    let a_at = if first { p.cast_const() } else { x.as_ptr() };
                    let b_at = if second { p.cast_const() } else { y.as_ptr() };
                    let status = config.run(|exec| {
                        // SAFETY: all arrays have n elements; the output is exactly an input.
                        unsafe { op.call(exec, n as i64, a_at, b_at, &s, p) }
                    });
                    let context =
                        || format!("{} in place {first} {second}, {config}, n = {n}", op.name);
                    report.check(status.is_ok(), || format!("{}: {status:?}", context()));
                    report.equal(&out, &want, nan_of(&op), context);
                }
            }
        }
    }
    report.finish();
}

fn special_scalars<T: Dtype>() {
    let mut report = Report::new();
    let specials = cases::specials::<T>();
    // Every special value against every other, as x, as y and as scalars.
    let n = specials.len() * specials.len();
    let x: Vec<T> = (0..n).map(|i| specials[i / specials.len()]).collect();
    let y: Vec<T> = (0..n).map(|i| specials[i % specials.len()]).collect();
    for op in elementwise::<T>() {
        for config in backend::single() {
            for (turn, &lo) in specials.iter().enumerate() {
                let his = if op.scalars() > 1 {
                    &specials[..]
                } else {
                    &specials[..1]
                };
                for &hi in his {
                    check(
                        &mut report,
                        &op,
                        config,
                        &x,
                        &y,
                        &Scalars { lo, hi, alpha: lo },
                        turn % 3,
                    );
                }
                if op.scalars() == 0 {
                    break;
                }
            }
        }
    }
    report.finish();
}

fn many_elements<T: Dtype>() {
    let mut report = Report::new();
    let s = Scalars::ordinary();
    for n in [131_072, 300_007] {
        let (x, y) = (
            cases::vector(Values::Mixed, n, 5),
            cases::vector(Values::Ordinary, n, 6),
        );
        for op in elementwise::<T>() {
            for config in backend::all() {
                check(&mut report, &op, config, &x, &y, &s, n % 4);
            }
        }
    }
    report.finish();
}

/// Outputs so large that the kernels may use non-temporal stores; the output does not start at a cache line.
fn output_larger_than_the_cache<T: Dtype>() {
    let mut report = Report::new();
    let s = Scalars::ordinary();
    let n = backend::BEYOND_CACHES / size_of::<T>() + 3;
    let (x, y) = (
        cases::vector::<T>(Values::Wide, n, 7),
        cases::vector::<T>(Values::Wide, n, 8),
    );
    for op in elementwise::<T>() {
        // One operation for each number of inputs, and one that updates its output.
        if ["clamp", "add", "fill", "axpy"].contains(&op.name) {
            for config in backend::single() {
                check(&mut report, &op, config, &x, &y, &s, 1);
            }
        }
    }
    report.finish();
}
