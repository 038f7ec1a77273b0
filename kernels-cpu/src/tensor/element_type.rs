//! From a type as a value to a type parameter.

use crate::element::Dtype;

/// The types with the trait [`Element`](crate::Element), as a value: those of arithmetic, and of all kernels of the GPU
/// except the conversion.
///
/// Its own type, so that what is compiled for these types cannot be called for another: memory of 16-bit elements would be
/// read as `f32`, beyond its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ElementType {
    F32,
    F64,
}

impl ElementType {
    /// Returns the type if it has arithmetic of its own.
    #[inline(always)]
    pub const fn of(dtype: Dtype) -> Option<Self> {
        match dtype {
            Dtype::F32 => Some(Self::F32),
            Dtype::F64 => Some(Self::F64),
            Dtype::F16 | Dtype::Bf16 => None,
        }
    }

    /// Returns the type in memory.
    #[inline(always)]
    pub const fn dtype(self) -> Dtype {
        match self {
            Self::F32 => Dtype::F32,
            Self::F64 => Dtype::F64,
        }
    }

    /// Returns the number of bytes of an element.
    #[inline(always)]
    pub const fn size(self) -> usize {
        self.dtype().size()
    }
}

/// The types of integers that operations compute with, modulo 2^bits.
///
/// Their own type, as [`ElementType`] is: there are more integers in memory, which can only be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IntegerType {
    I8,
    U8,
    I32,
    I64,
}

/// The types that elementwise operations compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NumberType {
    Float(Dtype),
    Integer(IntegerType),
}

impl IntegerType {
    /// Returns the number of bytes of an element.
    #[inline(always)]
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I32 => 4,
            Self::I64 => 8,
        }
    }
}

impl NumberType {
    /// Returns the type if it has arithmetic of its own and is a floating-point type.
    #[inline(always)]
    pub const fn element(self) -> Option<ElementType> {
        match self {
            Self::Float(dtype) => ElementType::of(dtype),
            Self::Integer(_) => None,
        }
    }

    /// Returns the number of bytes of an element.
    #[inline(always)]
    pub const fn size(self) -> usize {
        match self {
            Self::Float(dtype) => dtype.size(),
            Self::Integer(of) => of.size(),
        }
    }
}

/// `with_element!(of, T => expression)` is the expression with the type that an [`ElementType`] names as `T`.
#[macro_export]
#[doc(hidden)]
macro_rules! with_element {
    ($of:expr, $T:ident => $value:expr) => {
        match $of {
            $crate::backend::tensor::ElementType::F32 => {
                type $T = f32;
                $value
            }
            $crate::backend::tensor::ElementType::F64 => {
                type $T = f64;
                $value
            }
        }
    };
}

/// `with_storage!(dtype, T => expression)` is the expression with the type that a [`Dtype`] names as `T`.
macro_rules! with_storage {
    ($dtype:expr, $T:ident => $value:expr) => {
        match $dtype {
            Dtype::F32 => {
                type $T = f32;
                $value
            }
            Dtype::F64 => {
                type $T = f64;
                $value
            }
            Dtype::F16 => {
                type $T = crate::half::f16;
                $value
            }
            Dtype::Bf16 => {
                type $T = crate::half::bf16;
                $value
            }
        }
    };
}
pub(crate) use with_storage;
