//! The two dtypes as the tests see them: arithmetic of std and bit patterns, with no code of the library.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::raw::Argument;

/// Whether all elements have the same bits.
pub fn same_bits<T: Real>(a: &[T], b: &[T]) -> bool {
    // SAFETY: floating-point numbers have no padding, and any byte is a `u8`.
    let [a, b] = [a, b].map(|x| unsafe { x.align_to::<u8>().1 });
    a == b
}

/// f32 or f64. Bit patterns are passed as `u64`, so that one generic test serves both.
pub trait Real:
    Copy
    + PartialEq
    + PartialOrd
    + Debug
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// "f32" or "f64".
    const DTYPE: &'static str;
    /// Virtual lanes of a reduction (256 bytes).
    const LANE_COUNT: usize;
    /// Elements of one chunk (32 steps of all lanes).
    const CHUNK: usize;
    /// Unit roundoff: 2^-24 or 2^-53.
    const ROUNDOFF: f64;
    /// Bits of the fraction field.
    const FRACTION_BITS: u32;
    /// The largest exponent e such that 2^e and 2^-e are both normal: the limit of the scale factors of nrm2.
    const SCALE_LIMIT: i32;
    /// A sum of squares below 2 to this power may have lost digits to underflow.
    const TINY_SUMSQ_EXPONENT: i32;
    /// The exponent by which elements are scaled for a variance, down or up.
    const VARIANCE_SCALE: i32;
    /// The canonical NaN of reductions.
    const NAN_BITS: u64;

    /// Converts, rounding to nearest even.
    fn of(value: f64) -> Self;
    /// Converts, rounding to nearest even.
    fn of_count(value: usize) -> Self;
    /// Converts exactly.
    fn wide(self) -> f64;
    /// The bit pattern, zero-extended.
    fn bits(self) -> u64;
    /// The inverse of `bits`.
    fn of_bits(bits: u64) -> Self;
    /// self * b + c with one rounding.
    fn fused(self, b: Self, c: Self) -> Self;
    /// Correctly rounded square root.
    fn root(self) -> Self;

    /// +0.
    fn zero() -> Self {
        Self::of(0.0)
    }
    /// 1.
    fn one() -> Self {
        Self::of(1.0)
    }
    /// 2^e, which must be normal.
    fn power_of_two(e: i32) -> Self {
        Self::of(f64::from_bits(((e + 1023) as u64) << 52))
    }
    /// The canonical NaN.
    fn canonical_nan() -> Self {
        Self::of_bits(Self::NAN_BITS)
    }
    /// Whether this is any NaN.
    #[allow(clippy::eq_op)]
    fn nan(self) -> bool {
        self != self
    }
    /// Whether the sign bit is set.
    fn negative(self) -> bool {
        self.bits() >> (8 * size_of::<Self>() - 1) != 0
    }
    /// Clears the sign.
    fn magnitude(self) -> Self {
        if self.negative() { -self } else { self }
    }
}

impl Real for f32 {
    const DTYPE: &'static str = "f32";
    const LANE_COUNT: usize = 64;
    const CHUNK: usize = 2048;
    const ROUNDOFF: f64 = 1.0 / 16777216.0;
    const FRACTION_BITS: u32 = 23;
    const SCALE_LIMIT: i32 = 126;
    const TINY_SUMSQ_EXPONENT: i32 = -90;
    const VARIANCE_SCALE: i32 = 80;
    const NAN_BITS: u64 = 0x7FC0_0000;

    fn of(value: f64) -> f32 {
        value as f32
    }
    fn of_count(value: usize) -> f32 {
        value as f32
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn of_bits(bits: u64) -> f32 {
        f32::from_bits(bits as u32)
    }
    fn fused(self, b: f32, c: f32) -> f32 {
        self.mul_add(b, c)
    }
    fn root(self) -> f32 {
        self.sqrt()
    }
}

impl Real for f64 {
    const DTYPE: &'static str = "f64";
    const LANE_COUNT: usize = 32;
    const CHUNK: usize = 1024;
    const ROUNDOFF: f64 = 1.0 / 9007199254740992.0;
    const FRACTION_BITS: u32 = 52;
    const SCALE_LIMIT: i32 = 1022;
    const TINY_SUMSQ_EXPONENT: i32 = -970;
    const VARIANCE_SCALE: i32 = 600;
    const NAN_BITS: u64 = 0x7FF8_0000_0000_0000;

    fn of(value: f64) -> f64 {
        value
    }
    fn of_count(value: usize) -> f64 {
        value as f64
    }
    fn wide(self) -> f64 {
        self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn of_bits(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
    fn fused(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    fn root(self) -> f64 {
        self.sqrt()
    }
}

/// A dtype that both backends support and the tests can check.
pub trait Dtype: Real + Argument + diptych::Element + diptych_device::real::Real {}

impl<T: Real + Argument + diptych::Element + diptych_device::real::Real> Dtype for T {}
