//! The structs that kernels take as parameters.

use crate::memory::Memory;

/// The elements of a launch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The number of elements along three axes: that around the tiles, their rows and their columns.
    pub counts: [u64; 3],
    /// log2 of the threads of a block that share a row of a tile.
    pub lanes: u32,
    /// Whether the elements are one row that is contiguous in every array.
    pub contiguous: u32,
}

impl Shape {
    /// `n` contiguous elements.
    pub fn contiguous(n: u64) -> Self {
        Self {
            counts: [1, 1, n],
            lanes: 0,
            contiguous: 1,
        }
    }
}

/// An array that is read, or a number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Input<M: Memory> {
    /// The first element; null for a number.
    pub p: *const M,
    /// The number.
    pub value: M::Number,
    /// Elements from one to the next along each axis of the [`Shape`].
    pub strides: [i64; 3],
}

/// An array that is written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Output<T> {
    /// The first element.
    pub p: *mut T,
    /// Elements from one to the next along each axis of the [`Shape`].
    pub strides: [i64; 3],
}

/// A type of elements, as DLPack describes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The kind of numbers: [`INT`] and so on.
    pub code: u32,
    /// Bits of an element: 8, 16, 32 or 64.
    pub bits: u32,
}

/// Signed integers.
pub const INT: u32 = 0;
/// Unsigned integers.
pub const UINT: u32 = 1;
/// Floats of IEEE 754.
pub const FLOAT: u32 = 2;
/// `bf16`.
pub const BFLOAT: u32 = 4;
/// Booleans, of which any byte but 0 is true.
pub const BOOL: u32 = 6;

impl Type {
    pub(crate) fn is_float(self) -> bool {
        matches!(self.code, FLOAT | BFLOAT)
    }
}

/// An array that is read, or a number.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The first element; null for a number.
    pub p: *const u8,
    /// The bits of the number.
    pub number: u64,
    /// Bytes from one element to the next along each axis of the [`Shape`].
    pub steps: [i64; 3],
}

/// An array that is written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The first element.
    pub p: *mut u8,
    /// Bytes from one element to the next along each axis of the [`Shape`].
    pub steps: [i64; 3],
}
