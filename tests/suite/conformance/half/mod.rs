//! The 16-bit types: each result is the operation in f32 on widened inputs, rounded once.

mod elementwise;
mod reductions;
mod wide;

use diptych_tests::half::{Half, magnitude, round, widen};
use diptych_tests::report::Report;
use diptych_tests::threads;
use fastrand::Rng;

/// Makes one test per type from each generic function.
macro_rules! per_half {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn f16() {
                super::$name::<diptych::f16>();
            }
            #[test]
            fn bf16() {
                super::$name::<diptych::bf16>();
            }
        }
    )*};
}
pub(crate) use per_half;

per_half!(conversions_of_every_pattern, rounding_at_every_boundary);

/// Returns random bit patterns, half of them arbitrary and half numbers near 1 and -1.
fn patterns<H: Half>(n: usize, seed: u64) -> Vec<H> {
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9).wrapping_add(n as u64));
    let one = round::<H>(1.0).expect("a number");
    let mut draw = || {
        let any = rng.u16(..);
        // Five binades around 1.
        let spread = 5 << H::FRACTION_BITS;
        let near = one - spread / 2 + rng.u16(0..spread);
        H::of_pattern(if rng.bool() { any } else { near | any & 0x8000 })
    };
    (0..n).map(|_| draw()).collect()
}

/// Returns numbers in -1..1, whose sums stay finite.
fn numbers<H: Half>(n: usize, seed: u64) -> Vec<H> {
    let mut rng = Rng::with_seed(seed.wrapping_add(n as u64));
    let mut draw = || H::from_compute(rng.f32() * 2.0 - 1.0);
    (0..n).map(|_| draw()).collect()
}

fn widened<H: Half>(x: &[H]) -> Vec<f32> {
    x.iter().map(|v| widen::<H>(v.pattern())).collect()
}

/// Records a failure unless each `got` is `want` rounded; if `want` is NaN, any NaN is right.
fn same<H: Half>(report: &mut Report, got: &[H], want: &[f32], context: impl Fn() -> String) {
    let right = |&(got, want): &(&H, &f32)| match round::<H>(*want) {
        Some(pattern) => got.pattern() == pattern,
        None => H::is_nan(got.pattern()),
    };
    let wrong = got.iter().zip(want).position(|pair| !right(&pair));
    report.check(wrong.is_none() && got.len() == want.len(), || {
        let i = wrong.unwrap_or(0);
        let (got, want) = (got[i].pattern(), want[i]);
        format!(
            "{} {}: element {i} is {got:#06x}, not {want:e} rounded",
            context(),
            H::NAME
        )
    });
}

/// Checks widening and rounding of every pattern, by each level and by the methods of the types.
fn conversions_of_every_pattern<H: Half>() {
    let mut report = Report::new();
    let all: Vec<H> = (0..=u16::MAX).map(H::of_pattern).collect();
    let wide = widened(&all);
    for (x, wide) in all.iter().zip(&wide) {
        let found = x.into_compute();
        let right = found.to_bits() == wide.to_bits() || found.is_nan() && wide.is_nan();
        report.check(right, || format!("{:#06x} is {found:e}", x.pattern()));
        same(&mut report, &[H::from_compute(found)], &[*wide], || {
            "there and back".into()
        });
    }
    let half: Vec<f32> = wide.iter().map(|v| v * 0.5).collect();
    for config in threads::single() {
        // Arrays of whole vectors, and arrays shorter than a vector.
        for length in [all.len(), 5] {
            for (from, wide) in all.chunks(length).zip(wide.chunks(length)) {
                let mut out = vec![H::default(); from.len()];
                config
                    .run_on_cpu(|e| diptych::scale(e, 1.0, from, &mut out))
                    .expect("scale");
                same(&mut report, &out, wide, || format!("times 1 {config}"));
            }
        }
        // Half of a subnormal number must be rounded.
        let mut out = vec![H::default(); all.len()];
        config
            .run_on_cpu(|e| diptych::scale(e, 0.5, &all, &mut out))
            .expect("scale");
        same(&mut report, &out, &half, || format!("times 0.5 {config}"));
    }
    report.finish();
}

/// Checks rounding of all numbers of the type, the midpoints between them, the f32 next to each of these, and random
/// f32.
fn rounding_at_every_boundary<H: Half>() {
    let mut values = Vec::new();
    for pattern in 0..=H::infinity() {
        let value = magnitude::<H>(pattern);
        let next = magnitude::<H>(pattern.min(H::infinity() - 1) + 1);
        for value in [value as f32, ((value + next) / 2.0) as f32] {
            let near = [value, value.next_up(), value.next_down()];
            values.extend(near.iter().flat_map(|&v| [v, -v]));
        }
    }
    let mut rng = Rng::with_seed(16);
    values.extend((0..100_000).map(|_| f32::from_bits(rng.u32(..))));
    values.extend([f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::NAN]);
    // Signalling NaNs, among them some whose payload lies only in the lower 16 bits.
    values.extend([0x7F80_0001, 0xFF80_FFFF, 0x7FA0_0000].map(f32::from_bits));
    let mut report = Report::new();
    for &value in &values {
        same(&mut report, &[H::from_compute(value)], &[value], || {
            format!("{value:e}")
        });
    }
    // Whole vectors of every level and one element more; `fill` rounds its scalar.
    const LENGTH: usize = 33;
    for config in threads::single() {
        config.run_on_cpu(|e| {
            let mut out = [H::default(); LENGTH];
            for &value in &values {
                diptych::fill(e, value, &mut out).expect("fill");
                same(&mut report, &out, &[value; LENGTH], || {
                    format!("{value:e} {config}")
                });
            }
        });
    }
    report.finish();
}
