//! The inputs: numbers made of integers, so that every machine has the same.

use crate::element::Dtype;
use crate::tensor::kind::Type;

/// What inputs are like.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// 16 exponents and full fractions: another order of a sum has other bits.
    Wide,
    /// Magnitudes near 1, whose products neither overflow nor underflow.
    Narrow,
    /// In turn [`RUN`] numbers of each of [`CLASSES`] classes: tiny ones and zeros, huge ones, infinities, NaNs.
    Special,
}

/// The number of classes of special numbers.
pub(super) const CLASSES: usize = 6;
/// The length of a run of numbers of one class.
pub(super) const RUN: usize = 40;

/// Returns the next number of a sequence: splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
pub(super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A floating-point format.
#[derive(Clone, Copy)]
struct Format {
    /// Bits of a number.
    bits: u32,
    /// Bits of the fraction.
    fraction: u32,
    /// The exponent field of 1.
    bias: u64,
}

impl Format {
    fn of(of: Type) -> Option<Self> {
        let Type::Float(dtype) = of else {
            return None;
        };
        let (bits, fraction, bias) = match dtype {
            Dtype::F32 => (32, 23, 127),
            Dtype::F64 => (64, 52, 1023),
            Dtype::F16 => (16, 10, 15),
            Dtype::Bf16 => (16, 7, 127),
        };
        Some(Self {
            bits,
            fraction,
            bias,
        })
    }

    fn largest_exponent(self) -> u64 {
        2 * self.bias + 1
    }

    fn number(self, negative: bool, exponent: u64, fraction: u64) -> u64 {
        u64::from(negative) << (self.bits - 1) | exponent << self.fraction | fraction
    }

    fn is_nan(self, number: u64) -> bool {
        let magnitude = number & !self.number(true, 0, 0);
        magnitude > self.number(false, self.largest_exponent(), 0)
    }
}

/// Returns 1 of a floating-point type.
pub(super) fn one(of: Type) -> u64 {
    Format::of(of).map_or(1, |format| format.number(false, format.bias, 0))
}

/// Returns a number between 2 and 4, or between -4 and -2.
pub(super) fn bound(of: Type, negative: bool, r: u64) -> u64 {
    Format::of(of).map_or(r, |format| {
        format.number(negative, format.bias + 1, r >> (64 - format.fraction))
    })
}

/// Returns the bits of a number; all NaNs give the bits of one.
pub(super) fn canonical(of: Type, number: u64) -> u64 {
    match Format::of(of) {
        Some(format) if format.is_nan(number) => u64::MAX,
        _ => number,
    }
}

/// Returns the bits of input `index`, made of a random number.
pub(super) fn number(of: Type, kind: Kind, index: usize, r: u64) -> u64 {
    let Some(format) = Format::of(of) else {
        // Integers of all magnitudes.
        return if of == Type::Bool {
            r & 1
        } else {
            (r as i64 >> (r & 63)) as u64
        };
    };
    let negative = r & 16 != 0;
    let fraction = r >> (64 - format.fraction);
    let wide = format.number(negative, format.bias - 8 + (r & 15), fraction);
    match kind {
        Kind::Wide => wide,
        // The mean of log2(1 + fraction) is 0.557, that of the exponent -0.56.
        Kind::Narrow => {
            let halved = (r & 1) + u64::from(index.is_multiple_of(16));
            format.number(negative, format.bias - halved, fraction)
        }
        Kind::Special => {
            let (class, pick) = (index / RUN % CLASSES, r >> 5 & 7);
            let infinite = format.number(false, format.largest_exponent(), 0);
            match (class, pick) {
                (0, 0 | 1) | (5, 3) => format.number(negative, 0, 0),
                (0, 2 | 3) => format.number(negative, 0, 1),
                (0, 4 | 5) | (5, 4) => format.number(negative, 0, fraction),
                (0, 6) => format.number(negative, 1, 0),
                (0, _) => format.number(negative, 1, fraction),
                (1, 0..=3) | (5, 5) => {
                    format.number(negative, format.largest_exponent() - 1, fraction)
                }
                (2, 0) => infinite,
                (3 | 5, 0 | 1) => format.number(negative, format.largest_exponent(), 0),
                (4, 0) | (5, 2) => infinite | format.number(negative, 0, fraction | 1),
                _ => wide,
            }
        }
    }
}

/// Writes a number of this type.
///
/// # Safety
/// `p` must be valid for writing.
pub(super) unsafe fn store(of: Type, p: *mut u8, bits: u64) {
    // SAFETY: as the caller's.
    unsafe {
        match of.size() {
            1 => p.write(bits as u8),
            2 => p.cast::<u16>().write(bits as u16),
            4 => p.cast::<u32>().write(bits as u32),
            _ => p.cast::<u64>().write(bits),
        }
    }
}

/// Reads the bits of a number of this type.
///
/// # Safety
/// `p` must be valid for reading.
pub(super) unsafe fn load(of: Type, p: *const u8) -> u64 {
    // SAFETY: as the caller's.
    unsafe {
        match of.size() {
            1 => p.read().into(),
            2 => p.cast::<u16>().read().into(),
            4 => p.cast::<u32>().read().into(),
            _ => p.cast::<u64>().read(),
        }
    }
}
