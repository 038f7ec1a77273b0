//! The types of a product, as values.
#![forbid(unsafe_code)]

use crate::element::Dtype;
use crate::error::{Error, Result};

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

impl Half {
    /// Returns the type of elements.
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::F16 => Dtype::F16,
            Self::Bf16 => Dtype::Bf16,
        }
    }
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

    /// Returns the bytes of an element of B.
    pub const fn b_bytes(self) -> usize {
        match self {
            Self::Integers(Integers::I8I8 | Integers::U8I8) => 1,
            Self::Integers(Integers::I32) => 4,
            Self::Integers(Integers::I64) => 8,
            Self::Half(_) => 2,
        }
    }

    /// Returns the bytes of a sum.
    pub const fn sum_bytes(self) -> usize {
        match self {
            Self::Integers(Integers::I64) => 8,
            Self::Integers(Integers::I8I8 | Integers::U8I8 | Integers::I32) | Self::Half(_) => 4,
        }
    }
}

/// What a caller asks for beside the product of A and B.
pub struct Options {
    /// The factor of A B.
    pub alpha: f64,
    /// The factor of C.
    pub beta: f64,
    /// Whether these are given.
    pub has_bias: bool,
    pub has_clamp: bool,
    pub has_row_scale: bool,
    pub has_column_scale: bool,
}

impl Options {
    /// Refuses scales.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub fn check_without_scales(&self) -> Result<()> {
        if self.has_row_scale {
            return Err(Error::InvalidValue { arg: "row_scale" });
        }
        if self.has_column_scale {
            return Err(Error::InvalidValue {
                arg: "column_scale",
            });
        }
        Ok(())
    }
}

impl ProductTypes {
    /// Refuses options that a product of these types does not have: scales are for integers that become floats, and where C
    /// holds integers, nothing but the addition of C is possible.
    ///
    /// # Errors
    /// `InvalidValue`.
    pub fn check(self, options: &Options) -> Result<()> {
        let holds_sums = self.output == Output::Sum;
        let has_scales = !holds_sums && matches!(self.operands, Operands::Integers(_));
        if !has_scales {
            options.check_without_scales()?;
        }
        if !holds_sums {
            return Ok(());
        }
        let refused = [
            (options.alpha != 1.0, "alpha"),
            (options.beta != 0.0 && options.beta != 1.0, "beta"),
            (options.has_bias, "bias"),
            (options.has_clamp, "clamp"),
        ];
        match refused.into_iter().find(|&(is_refused, _)| is_refused) {
            Some((_, arg)) => Err(Error::InvalidValue { arg }),
            None => Ok(()),
        }
    }

    /// Returns the bytes of an element of C.
    pub const fn c_bytes(self) -> usize {
        match self.output {
            Output::Sum => self.operands.sum_bytes(),
            Output::F32 => 4,
            Output::F16 | Output::Bf16 => 2,
        }
    }
}
