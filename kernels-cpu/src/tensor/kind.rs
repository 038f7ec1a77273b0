//! What a tensor is made of and where: the types of elements, and the memory that backends take.

use super::element_type::{ElementType, IntegerType, NumberType};
use super::operand::Tensor;
use crate::element::Dtype;

/// Where a backend takes tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Plain memory, memory page-locked by CUDA, and memory managed by CUDA.
    Host,
    /// Memory of a CUDA device, and memory managed by CUDA.
    Device,
    /// Memory of the host that is not managed: what the host may read while a device is running, as it does numbers
    /// beside arrays of the device.
    HostOnly,
}

impl Location {
    /// The values of `DLDeviceType`: `kDLCPU`, `kDLCUDA`, `kDLCUDAHost`, `kDLCUDAManaged`.
    pub const fn holds(self, device_type: i32) -> bool {
        match self {
            Self::Host => matches!(device_type, 1 | 3 | 13),
            Self::Device => matches!(device_type, 2 | 13),
            Self::HostOnly => matches!(device_type, 1 | 3),
        }
    }

    /// Returns where `tensor` has to be if arrays are in this memory: on a device, a tensor without axes may also be a
    /// number on the host.
    pub const fn of_operand(self, tensor: &Tensor) -> Self {
        let is_number = tensor.ndim == 0 && Self::HostOnly.holds(tensor.device_type);
        match self {
            Self::Device if is_number => Self::HostOnly,
            _ => self,
        }
    }

    /// Returns where scalars are beside arrays in this memory.
    pub const fn of_scalars(self) -> Self {
        match self {
            Self::Host => Self::Host,
            _ => Self::HostOnly,
        }
    }
}

/// `kDLInt`, `kDLUInt`, `kDLFloat`, `kDLBfloat`, `kDLBool`.
const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const BOOL: u8 = 6;

/// The type of elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    Float(Dtype),
    Bool,
    Integer(Integer),
}

/// A type of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Integer {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl Type {
    /// Returns the type with a code and a number of bits of DLPack.
    #[inline(always)]
    pub fn of(code: u8, bits: u8) -> Option<Self> {
        Some(match (code, bits) {
            (FLOAT, 32) => Self::Float(Dtype::F32),
            (FLOAT, 64) => Self::Float(Dtype::F64),
            (FLOAT, 16) => Self::Float(Dtype::F16),
            (BFLOAT, 16) => Self::Float(Dtype::Bf16),
            (BOOL, 8) => Self::Bool,
            (INT, 8) => Self::Integer(Integer::I8),
            (INT, 16) => Self::Integer(Integer::I16),
            (INT, 32) => Self::Integer(Integer::I32),
            (INT, 64) => Self::Integer(Integer::I64),
            (UINT, 8) => Self::Integer(Integer::U8),
            (UINT, 16) => Self::Integer(Integer::U16),
            (UINT, 32) => Self::Integer(Integer::U32),
            (UINT, 64) => Self::Integer(Integer::U64),
            _ => return None,
        })
    }

    /// Returns the type if kernels compute in it.
    #[inline(always)]
    pub const fn element(self) -> Option<ElementType> {
        match self {
            Self::Float(dtype) => ElementType::of(dtype),
            Self::Bool | Self::Integer(_) => None,
        }
    }

    /// Returns the type if elementwise operations compute with it.
    #[inline(always)]
    pub const fn number(self) -> Option<NumberType> {
        match self {
            Self::Float(dtype) => Some(NumberType::Float(dtype)),
            Self::Bool => None,
            Self::Integer(integer) => match integer.computed() {
                Some(of) => Some(NumberType::Integer(of)),
                None => None,
            },
        }
    }

    /// Returns its code of DLPack.
    pub const fn code(self) -> u8 {
        match self {
            Self::Float(Dtype::Bf16) => BFLOAT,
            Self::Float(Dtype::F32 | Dtype::F64 | Dtype::F16) => FLOAT,
            Self::Bool => BOOL,
            Self::Integer(integer) => integer.code(),
        }
    }

    /// Returns the number of bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::Float(dtype) => dtype.size(),
            Self::Bool => 1,
            Self::Integer(integer) => integer.size(),
        }
    }
}

impl Integer {
    /// Returns the type if operations compute with it.
    #[inline(always)]
    pub const fn computed(self) -> Option<IntegerType> {
        match self {
            Self::I8 => Some(IntegerType::I8),
            Self::U8 => Some(IntegerType::U8),
            Self::I32 => Some(IntegerType::I32),
            Self::I64 => Some(IntegerType::I64),
            Self::I16 | Self::U16 | Self::U32 | Self::U64 => None,
        }
    }

    /// Returns its code of DLPack.
    const fn code(self) -> u8 {
        match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => INT,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => UINT,
        }
    }

    /// Returns the number of bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }
}
