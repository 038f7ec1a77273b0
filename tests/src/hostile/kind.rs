//! The types of elements of tensors.

use core::fmt;

use diptych::{bf16, f16};
use fastrand::Rng;

use crate::cases::{self, Values};
use crate::real::Real;

/// A type of elements, by its code in DLPack and its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// 0 signed, 1 unsigned, 2 IEEE 754, 4 bfloat16, 6 boolean.
    pub code: u8,
    /// The bits of an element.
    pub bits: u8,
}

impl Kind {
    /// `float`.
    pub const F32: Kind = Kind { code: 2, bits: 32 };
    /// `double`.
    pub const F64: Kind = Kind { code: 2, bits: 64 };
    /// The result of a reduction to an index.
    pub const I64: Kind = Kind { code: 0, bits: 64 };
    /// The floats of 16 bits.
    pub const HALVES: [Kind; 2] = [Kind { code: 2, bits: 16 }, Kind { code: 4, bits: 16 }];
    /// What products take.
    pub const WIDE: [Kind; 2] = [Kind::F32, Kind::F64];
    /// What elementwise operations take.
    pub const FLOATS: [Kind; 4] = [Kind::F32, Kind::F64, Kind::HALVES[0], Kind::HALVES[1]];
    /// The integers that operations compute with.
    pub const INTEGERS: [Kind; 4] = [
        Kind { code: 0, bits: 8 },
        Kind { code: 1, bits: 8 },
        Kind::I32,
        Kind::I64,
    ];
    /// What totals of integers go to, too.
    pub const I32: Kind = Kind { code: 0, bits: 32 };
    /// `bool`.
    pub const BOOL: Kind = Kind { code: 6, bits: 8 };
    /// All that the library knows.
    pub const ALL: [Kind; 13] = [
        Kind::F32,
        Kind::F64,
        Kind::HALVES[0],
        Kind::HALVES[1],
        Kind::BOOL,
        Kind { code: 0, bits: 8 },
        Kind { code: 0, bits: 16 },
        Kind::I32,
        Kind::I64,
        Kind { code: 1, bits: 8 },
        Kind { code: 1, bits: 16 },
        Kind { code: 1, bits: 32 },
        Kind { code: 1, bits: 64 },
    ];

    /// Returns the bytes of an element; some number for a type that the library does not know.
    pub fn bytes(self) -> usize {
        if Kind::ALL.contains(&self) {
            usize::from(self.bits / 8)
        } else {
            4
        }
    }

    /// Returns whether these are the bits of a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        match self {
            Kind::F32 => f32::from_bits(bits as u32).is_nan(),
            Kind::F64 => f64::from_bits(bits).is_nan(),
            Kind { code: 2, .. } => bits & 0x7FFF > 0x7C00,
            Kind { code: 4, .. } => bits & 0x7FFF > 0x7F80,
            _ => false,
        }
    }

    /// Returns memory full of elements.
    pub fn words(self, values: Values, words: usize, seed: u64) -> Vec<u64> {
        fn of<T: Real>(values: Values, n: usize, seed: u64) -> Vec<u64> {
            let numbers = cases::vector::<T>(values, n, seed);
            numbers.into_iter().map(T::bits).collect()
        }
        let n = words * 8 / self.bytes();
        let mut rng = Rng::with_seed(seed);
        let elements = match self {
            Kind::F32 => of::<f32>(values, n, seed),
            Kind::F64 => of::<f64>(values, n, seed),
            // Each kind of number occurs among few bits.
            _ if Kind::HALVES.contains(&self) && seed.is_multiple_of(4) => {
                (0..n).map(|_| rng.u64(..) & 0xFFFF).collect()
            }
            Kind { code: 2, bits: 16 } | Kind { code: 4, .. } => {
                let numbers = cases::vector::<f32>(values, n, seed).into_iter();
                let half = |v: f32| match self.code {
                    2 => f16::from_f32(v).to_bits(),
                    _ => bf16::from_f32(v).to_bits(),
                };
                numbers.map(|v| half(v).into()).collect()
            }
            Kind::BOOL => (0..n).map(|_| rng.u64(..2)).collect(),
            _ => {
                let mask = u64::MAX >> (64 - 8 * self.bytes());
                let mut draw = || (rng.u64(..).wrapping_shr(rng.u32(..)) as i64, rng.bool());
                let signed = |(v, negative): (i64, bool)| if negative { !v } else { v };
                (0..n).map(|_| signed(draw()) as u64 & mask).collect()
            }
        };
        self.packed(&elements)
    }

    /// Returns the words in which elements with these bits lie one after the other; the last word is filled with zeros.
    pub fn packed(self, elements: &[u64]) -> Vec<u64> {
        let word = |elements: &[u64]| {
            let place = |(i, v): (usize, &u64)| v << (8 * self.bytes() * i);
            elements.iter().enumerate().map(place).sum()
        };
        elements.chunks(8 / self.bytes()).map(word).collect()
    }

    /// Returns the bits of the first `count` elements in these words.
    pub fn unpacked(self, words: &[u64], count: usize) -> Vec<u64> {
        let mask = u64::MAX >> (64 - 8 * self.bytes());
        let of_word = |word: &u64| {
            let word = *word;
            (0..8 / self.bytes()).map(move |i| word >> (8 * self.bytes() * i) & mask)
        };
        words.iter().flat_map(of_word).take(count).collect()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type {} of {} bits", self.code, self.bits)
    }
}
