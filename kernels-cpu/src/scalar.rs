//! What each elementwise operation, and each map over rows, does to one element, generic over [`Simd`], so that every level and the GPU run the
//! same source.
#![forbid(unsafe_code)]

pub mod integers;

use crate::element::Element;
use crate::simd::Simd;

/// x limited to lo..hi. NaN stays NaN, lo > hi gives hi, a value equal to a bound is returned as it is (-0 stays -0).
/// The bounds must not be NaN: callers handle NaN bounds before.
#[inline(always)]
pub fn clamp<S: Simd>(s: S, x: S::V, lo: S::V, hi: S::V) -> S::V {
    s.min_or_second(hi, s.max_or_second(lo, x))
}

/// The gradient of clamp: grad where lo <= x <= hi, else +0, also where x or a bound is NaN.
#[inline(always)]
pub fn clamp_backward<S: Simd>(s: S, x: S::V, grad: S::V, lo: S::V, hi: S::V) -> S::V {
    let zero = s.splat(S::T::ZERO);
    s.select(s.le(lo, x), s.select(s.le(x, hi), grad, zero), zero)
}

/// x + y.
#[inline(always)]
pub fn add<S: Simd>(s: S, x: S::V, y: S::V) -> S::V {
    s.add(x, y)
}

/// x - y.
#[inline(always)]
pub fn sub<S: Simd>(s: S, x: S::V, y: S::V) -> S::V {
    s.sub(x, y)
}

/// x * y.
#[inline(always)]
pub fn mul<S: Simd>(s: S, x: S::V, y: S::V) -> S::V {
    s.mul(x, y)
}

/// x / y.
#[inline(always)]
pub fn div<S: Simd>(s: S, x: S::V, y: S::V) -> S::V {
    s.div(x, y)
}

/// x / nrm2.
#[inline(always)]
pub fn normalize<S: Simd>(s: S, x: S::V, nrm2: S::V) -> S::V {
    s.div(x, nrm2)
}

/// alpha * x.
#[inline(always)]
pub fn scale<S: Simd>(s: S, alpha: S::V, x: S::V) -> S::V {
    s.mul(alpha, x)
}

/// alpha * x + y with one rounding.
#[inline(always)]
pub fn axpy<S: Simd>(s: S, alpha: S::V, x: S::V, y: S::V) -> S::V {
    s.fma(alpha, x, y)
}

/// x * x.
#[inline(always)]
pub fn square<S: Simd>(s: S, x: S::V) -> S::V {
    s.mul(x, x)
}

/// |x|.
#[inline(always)]
pub fn abs<S: Simd>(s: S, x: S::V) -> S::V {
    s.abs(x)
}

/// -x, as a product with -1, which is exact and changes the sign of zeros too.
#[inline(always)]
pub fn neg<S: Simd>(s: S, x: S::V) -> S::V {
    s.mul(s.splat(S::T::ZERO - S::T::ONE), x)
}

/// Returns `value`.
#[inline(always)]
pub fn fill<S: Simd>(_s: S, value: S::V) -> S::V {
    value
}

/// The minimum of IEEE 754-2019: a NaN operand gives a NaN, -0 < +0.
#[inline(always)]
pub fn minimum<S: Simd>(s: S, a: S::V, b: S::V) -> S::V {
    s.select(s.unordered(a, b), s.add(a, b), s.min_ordered(a, b))
}

/// The maximum of IEEE 754-2019: a NaN operand gives a NaN, -0 < +0.
#[inline(always)]
pub fn maximum<S: Simd>(s: S, a: S::V, b: S::V) -> S::V {
    s.select(s.unordered(a, b), s.add(a, b), s.max_ordered(a, b))
}

/// The sum of the squared distances of `n` numbers from their mean, from the sum of the squared distances from a number
/// near it (`squares`), and of the distances (`sum`).
#[inline(always)]
pub fn squares_about_mean<S: Simd>(s: S, squares: S::V, sum: S::V, n: S::V) -> S::V {
    let v = s.sub(squares, s.mul(sum, s.div(sum, n)));
    // A NaN stays one.
    let v = s.max_or_second(s.splat(S::T::ZERO), v);
    let is_infinite = s.eq(squares, s.splat(S::T::INFINITY));
    s.select(is_infinite, squares, v)
}

/// e^x for x <= 0, within 1 ulp; +0 below `EXP_FLUSH`, where the result is or soon becomes subnormal.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2 (Cody and Waite, "Software Manual for the Elementary
/// Functions", 1980: ln 2 in two parts), then the Taylor polynomial of e^r by Horner's rule.
#[inline(always)]
pub fn exp_nonpositive<S: Simd>(s: S, x: S::V) -> S::V {
    let magic = s.splat(S::T::ROUNDING_MAGIC);
    let n = s.sub(s.fma(x, s.splat(S::T::LOG2_E), magic), magic);
    let r = s.fma(n, s.splat(S::T::NEG_LN2_HIGH), x);
    let r = s.fma(n, s.splat(S::T::NEG_LN2_LOW), r);
    let mut p = s.splat(S::T::INVERSE_FACTORIALS[0]);
    for &c in &S::T::INVERSE_FACTORIALS[1..] {
        p = s.fma(p, r, s.splat(c));
    }
    let zero = s.splat(S::T::ZERO);
    s.select(s.le(s.splat(S::T::EXP_FLUSH), x), s.mul(p, s.pow2(n)), zero)
}

/// The constants of [`exp_nonpositive`].
pub trait ExpConstants: Sized + 'static {
    /// 1 / ln 2.
    const LOG2_E: Self;
    /// Minus the leading bits of ln 2, few enough that n times them is exact.
    const NEG_LN2_HIGH: Self;
    /// Minus the rest of ln 2.
    const NEG_LN2_LOW: Self;
    /// The bound below which the result is +0.
    const EXP_FLUSH: Self;
    /// 1/k!, from the highest power k down to k = 0.
    const INVERSE_FACTORIALS: &'static [Self];
}

impl ExpConstants for f32 {
    const LOG2_E: f32 = core::f32::consts::LOG2_E;
    const NEG_LN2_HIGH: f32 = -0.693_359_4;
    const NEG_LN2_LOW: f32 = 2.121_944_4e-4;
    const EXP_FLUSH: f32 = -87.0;
    const INVERSE_FACTORIALS: &'static [f32] = &[
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
}

impl ExpConstants for f64 {
    const LOG2_E: f64 = core::f64::consts::LOG2_E;
    const NEG_LN2_HIGH: f64 = -6.931_471_803_691_238e-1;
    const NEG_LN2_LOW: f64 = -1.908_214_929_270_587_7e-10;
    const EXP_FLUSH: f64 = -708.0;
    const INVERSE_FACTORIALS: &'static [f64] = &[
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
}

/// The natural logarithm of a positive, normal, finite number, within 1 ulp: the algorithm of FreeBSD's `e_log.c`, with
/// the bits of `libm::log`. It has no branches and no integers that a register of `f64` lanes cannot hold, so that a loop
/// over many numbers vectorises.
///
/// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); ln(1 + f) = 2 artanh(s) with s = f / (2 + f), by a
/// polynomial in s^2.
///
/// Of `e_log.c`: Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun
/// Microsystems, Inc. business. Permission to use, copy, modify, and distribute this software is freely granted,
/// provided that this notice is preserved.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    /// The upper word of sqrt(1/2).
    const ROOT: u64 = 0x3FE6_A09E << 32;
    const ONE: u64 = 0x3FF0_0000 << 32;
    const FRACTION: u64 = (1 << 52) - 1;
    /// 2^52, whose lowest bit is 1.
    const UNIT: f64 = (1u64 << 52) as f64;
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const EVEN: [f64; 3] = [
        3.999_999_999_940_942e-1,
        2.222_219_843_214_978_4e-1,
        1.531_383_769_920_937_3e-1,
    ];
    const ODD: [f64; 4] = [
        6.666_666_666_666_735e-1,
        2.857_142_874_366_239e-1,
        1.818_357_216_161_805e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let bits = x.to_bits().wrapping_add(ONE - ROOT);
    let k = f64::from_bits(UNIT.to_bits() | bits >> 52) - (UNIT + 1023.0);
    let f = f64::from_bits((bits & FRACTION) + ROOT) - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (EVEN[0] + w * (EVEN[1] + w * EVEN[2]));
    let odd = z * (ODD[0] + w * (ODD[1] + w * (ODD[2] + w * ODD[3])));
    s * (half_square + (odd + even)) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

/// x * y + z with one rounding, in `f64` arithmetic. The product is exact in `f64`. The sum is rounded to odd, so that
/// the second rounding, to `f32`, gives the correctly rounded result (Boldo and Melquiond, "Emulation of FMA and
/// correctly rounded sums: proved algorithms using rounding to odd", 2008).
#[inline(always)]
pub fn fma_f32(x: f32, y: f32, z: f32) -> f32 {
    let (p, z) = (x as f64 * y as f64, z as f64);
    let sum = p + z;
    let z_part = sum - p;
    let error = (p - (sum - z_part)) + (z - z_part);
    let bits = sum.to_bits();
    let inexact_even = f64::abs(error) > 0.0 && bits & 1 == 0;
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    f64::from_bits(if inexact_even { odd } else { bits }) as f32
}

#[cfg(test)]
mod tests {
    use super::ln;
    use crate::Element;

    /// A step between bit patterns that is no multiple of a power of two.
    const STEP: usize = 10_007;

    #[test]
    fn logarithms_have_the_bits_of_libm() {
        let singles = (0x0080_0000..0x7F80_0000).step_by(STEP);
        let near_one = (0x3FE0_0000_0000_0000..0x4080_0000_0000_0000).step_by(STEP << 24);
        let doubles = (0x0010_0000_0000_0000..0x7FF0_0000_0000_0000).step_by(STEP << 36);
        for x in singles
            .map(|bits| f64::from(f32::from_bits(bits)))
            .chain(near_one.chain(doubles).map(f64::from_bits))
            .chain((1..1000).map(f64::from))
        {
            assert_eq!(ln(x).to_bits(), libm::log(x).to_bits(), "ln({x})");
        }
    }

    /// The suites use `libm`'s `arch`, where a machine has an instruction for it; what is shipped does not.
    #[test]
    fn fused_multiplication_without_an_instruction_has_the_bits_of_std() {
        let mut state = 1_u64;
        let mut random = || {
            state = state
                .wrapping_mul(0x5851_F42D_4C95_7F2D)
                .wrapping_add(0x1405_7B7E_F767_814F);
            state ^ state >> 29
        };
        for turn in 0..1_000_000 {
            let [a, b, any] = [random(), random(), random()].map(f64::from_bits);
            // Near the product, and such that it cancels, with low bits that decide how the result is rounded.
            let near = -a * b;
            let c = match turn % 4 {
                0 => any,
                1 => near,
                2 => f64::from_bits(near.to_bits() ^ any.to_bits() >> 12),
                _ => f64::from_bits(near.to_bits().wrapping_sub(53 << 52)),
            };
            let (ours, right) = (Element::fma(a, b, c), a.mul_add(b, c));
            assert!(
                ours.to_bits() == right.to_bits() || ours.is_nan() && right.is_nan(),
                "fma({a:e}, {b:e}, {c:e}) is {ours:e}, not {right:e}"
            );
        }
    }
}
