//! The 16-bit types: what lies in memory. Arithmetic on them is that of `f32`.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // As the primitive types are called.

use crate::element::{Dtype, Storage};

/// An IEEE 754 binary16 number.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct f16(u16);

/// The upper 16 bits of an `f32`: its range, with 8 significant bits.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct bf16(u16);

macro_rules! half {
    ($T:ident, $Dtype:ident, $widen:path, $round:path) => {
        impl $T {
            /// The number of this bit pattern.
            pub const fn from_bits(bits: u16) -> Self {
                Self(bits)
            }
            /// The bit pattern.
            pub const fn to_bits(self) -> u16 {
                self.0
            }
            /// Rounded to nearest even; a NaN stays a NaN.
            #[inline(always)]
            pub fn from_f32(value: f32) -> Self {
                Self($round(value))
            }
            /// The same number, exactly.
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

#[inline(always)]
fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Half of the last place that stays, less one where the last bit is even, carries into it.
#[inline(always)]
fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
    // A NaN stays one, and becomes quiet.
    let nan = bits >> 16 | 0x40;
    (if value.is_nan() { nan } else { rounded }) as u16
}

/// The exponent of binary16 is moved to that of `f32` by a multiplication, which is exact and takes care of
/// subnormal numbers too.
#[inline(always)]
fn f16_to_f32(bits: u16) -> f32 {
    const SCALE: f32 = f32::from_bits((127 + 127 - 15) << 23); // 2^112
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7FFF));
    let scaled = f32::from_bits(magnitude << 13) * SCALE;
    let infinite = (magnitude << 13) | 0x7F80_0000;
    // NaN become quiet, as the CPU's conversion has them.
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
    /// 2^-14, the least normal number, and 0.5, whose last place is that of the subnormal ones.
    const NORMAL: u32 = (127 - 14) << 23;
    const HALF: f32 = 0.5;
    let bits = value.to_bits();
    let (sign, magnitude) = (bits >> 16 & 0x8000, bits & 0x7FFF_FFFF);
    // The addition rounds to the last place of binary16's subnormal numbers, 2^-24.
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
