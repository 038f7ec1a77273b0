//! From a type as a value to a type parameter.

use crate::element::Dtype;

/// The types with the trait [`Element`](crate::Element), as a value: the types of products and gradients, and of all
/// kernels of the GPU except the conversion.
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
