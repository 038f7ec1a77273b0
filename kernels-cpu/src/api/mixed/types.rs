//! The types of a product, as values.
#![forbid(unsafe_code)]

/// The types of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operands {
    Integers(Integers),
    Half(Half),
}

/// Integers, summed as integers: `i32` for bytes, else their own type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Integers {
    I8I8,
    U8I8,
    I32,
    I64,
}

/// 16-bit numbers, summed in `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Half {
    F16,
    Bf16,
}

/// The type of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// That of the sums.
    Sum,
    /// `f32`.
    F32,
    /// `f16`.
    F16,
    /// `bf16`.
    Bf16,
}

/// The types of A, B and C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ProductTypes {
    pub operands: Operands,
    pub output: Output,
}

impl Operands {
    /// Whether A and B have one type.
    pub const fn is_symmetric(self) -> bool {
        !matches!(self, Self::Integers(Integers::U8I8))
    }

    /// Returns the bytes of a sum.
    pub const fn sum_bytes(self) -> usize {
        match self {
            Self::Integers(Integers::I64) => 8,
            Self::Integers(Integers::I8I8 | Integers::U8I8 | Integers::I32) | Self::Half(_) => 4,
        }
    }
}

impl ProductTypes {
    /// Returns the bytes of an element of C.
    pub const fn c_bytes(self) -> usize {
        match self.output {
            Output::Sum => self.operands.sum_bytes(),
            Output::F32 => 4,
            Output::F16 | Output::Bf16 => 2,
        }
    }
}
