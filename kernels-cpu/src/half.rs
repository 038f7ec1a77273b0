//! The 16-bit types, which exist in memory only: arithmetic on them is done in `f32`.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // Named like the primitive types.

use crate::element::{Dtype, Storage};

/// An IEEE 754 binary16 number: 5 exponent bits, 11 significant bits.
///
/// The type is for storage. It has no arithmetic of its own; operations compute in `f32` and round each result once.
///
/// ```
/// use diptych::{Exec, f16};
///
/// let x = [1.5_f32, -2.0, 1.0e6].map(f16::from_f32);
/// assert_eq!(x[2].to_f32(), f32::INFINITY); // Larger than the largest binary16 number, 65504.
/// let mut out = [f16::default(); 3];
/// diptych::scale(&Exec::new(), 0.5_f32, &x, &mut out)?;
/// assert_eq!(out[0].to_f32(), 0.75);
/// # Ok::<(), diptych::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct f16(u16);

/// A bfloat16 number, the upper 16 bits of an `f32`: the same 8 exponent bits, so the same range, and 8 significant
/// bits.
///
/// The type is for storage. It has no arithmetic of its own; operations compute in `f32` and round each result once.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct bf16(u16);

macro_rules! half {
    ($T:ident, $Dtype:ident, $widen:path, $round:path) => {
        impl $T {
            /// Returns the number with this bit pattern.
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }
            /// Returns the bit pattern.
            pub const fn to_bits(self) -> u16 {
                self.0
            }
            /// Rounds `value` to nearest even; a NaN stays a NaN, and too large a value becomes an infinity.
            #[inline(always)]
            pub fn from_f32(value: f32) -> Self {
                Self($round(value))
            }
            /// Returns the same number as an `f32`, which is exact.
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                $widen(self.0)
            }
        }

        impl PartialEq for $T {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $T {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl From<$T> for f32 {
            fn from(value: $T) -> f32 {
                value.to_f32()
            }
        }

        impl Storage for $T {
            type Compute = f32;
            crate::isa::registers!(f32);
            const TYPE: Dtype = Dtype::$Dtype;

            #[inline(always)]
            fn into_compute(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn from_compute(value: f32) -> Self {
                Self::from_f32(value)
            }
        }
    };
}

half!(f16, F16, f16_to_f32, f32_to_f16);
half!(bf16, Bf16, bf16_to_f32, f32_to_bf16);

/// Rounds to an `f32` whose last bit is 1 if it is not exact, so that rounding it again, to 16 bits, gives what one
/// rounding gives.
#[inline(always)]
pub fn round_to_odd(x: f64) -> u32 {
    let nearest = x as f32;
    let (bits, back) = (nearest.to_bits(), f64::from(nearest));
    let is_larger = back.to_bits() << 1 > x.to_bits() << 1;
    let odd = bits.wrapping_sub(u32::from(is_larger)) | 1;
    if back == x || x.is_nan() { bits } else { odd }
}

/// Returns a magnitude as an `f64`, such that rounding it once more, to fewer than 42 bits, gives what one rounding gives:
/// a magnitude of more than 53 bits loses the 11 lowest, and the last bit that stays is 1 if one of them was.
#[inline(always)]
pub fn sticky(magnitude: u64) -> f64 {
    const LOW: u64 = 0x7FF;
    let kept = magnitude & !LOW | u64::from(magnitude & LOW != 0) << 11;
    (if magnitude >> 53 == 0 {
        magnitude
    } else {
        kept
    }) as f64
}

#[inline(always)]
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds to nearest even by adding to the 16 bits that are cut off: 0x7FFF, or 0x8000 where the last bit that stays is
/// 1, carries into that bit exactly when the value is to be rounded up.
#[inline(always)]
fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    // The quiet bit keeps a NaN a NaN when its payload is cut off.
    let nan = bits >> 16 | 0x40;
    (if value.is_nan() { nan } else { rounded }) as u16
}

/// A multiplication by 2^112 turns the exponent bias of binary16 into that of `f32`. It is exact, and normalises
/// subnormal numbers too.
#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 127 - 15) << 23); // 2^112
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7FFF));
    let scaled = f32::from_bits(magnitude << 13) * SCALE;
    let infinite = (magnitude << 13) | 0x7F80_0000;
    // A signaling NaN becomes quiet, as with the CPU's conversion instructions.
    let quiet = u32::from(magnitude > 0x7C00) << 22;
    f32::from_bits(
        sign | if magnitude >= 0x7C00 {
            infinite | quiet
        } else {
            scaled.to_bits()
        },
    )
}

#[inline(always)]
fn f32_to_f16(value: f32) -> u16 {
    /// The bits of 2^-14, the smallest normal number of binary16.
    const NORMAL: u32 = (127 - 14) << 23;
    /// A number whose last place is 2^-24, that of binary16's subnormal numbers.
    const HALF: f32 = 0.5;
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    // Adding 0.5 rounds to a multiple of 2^-24.
    let subnormal = (f32::from_bits(magnitude) + HALF).to_bits() - HALF.to_bits();
    let normal = magnitude
        .wrapping_sub((127 - 15) << 23)
        .wrapping_add(0xFFF + (magnitude >> 13 & 1))
        >> 13;
    let rounded = if magnitude < NORMAL {
        subnormal
    } else {
        normal.min(0x7C00)
    };
    let nan = 0x7E00 | (magnitude >> 13 & 0x3FF);
    let finite_or_infinite = if magnitude >= 0x4780_0000 {
        0x7C00
    } else {
        rounded
    };
    (sign
        | if magnitude > 0x7F80_0000 {
            nan
        } else {
            finite_or_infinite
        }) as u16
}
