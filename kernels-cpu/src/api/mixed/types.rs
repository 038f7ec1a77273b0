//! The types of a product, as values.
#![forbid(unsafe_code)]

/// The types of A and B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operands {
    I8I8,
    U8I8,
    I32,
    I64,
}

/// The type of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// That of the sums.
    Sum,
    /// `f32`.
    F32,
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
        !matches!(self, Self::U8I8)
    }

    /// Returns the bytes of a sum.
    pub const fn sum_bytes(self) -> usize {
        match self {
            Self::I8I8 | Self::U8I8 | Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

impl ProductTypes {
    /// Returns the bytes of an element of C.
    pub const fn c_bytes(self) -> usize {
        match self.output {
            Output::Sum => self.operands.sum_bytes(),
            Output::F32 => 4,
        }
    }
}
