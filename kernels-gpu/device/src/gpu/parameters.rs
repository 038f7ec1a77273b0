//! The structs that kernels take as parameters.

use crate::memory::Memory;
use crate::ops::integers::RANK;

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

/// A batch of products whose operands are not what is summed. Steps are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Rows of A and C.
    pub m: u64,
    /// Columns of B and C.
    pub n: u64,
    /// Columns of A, rows of B; with 0, the two are not read.
    pub k: u64,
    /// The number of products.
    pub batch: u64,
    /// The first A; steps along m, along k, and between the products.
    pub a: *const u8,
    /// See `a`.
    pub a_steps: [i64; 3],
    /// The first B; steps along n, along k, and between the products.
    pub b: *const u8,
    /// See `b`.
    pub b_steps: [i64; 3],
    /// The first C; steps along m, along n, and between the products.
    pub c: *mut u8,
    /// See `c`.
    pub c_steps: [i64; 3],
    /// A factor of `f32` for each row, and the step; null: none.
    pub row_scale: *const u8,
    /// See `row_scale`.
    pub row_scale_step: i64,
    /// A factor of `f32` for each column, and the step; null: none.
    pub column_scale: *const u8,
    /// See `column_scale`.
    pub column_scale_step: i64,
    /// The bias, and its steps along m and n, one of which is 0; null: none.
    pub bias: *const u8,
    /// See `bias`.
    pub bias_steps: [i64; 2],
    /// The slices of k of a segment.
    pub run: u64,
    /// Scratch memory for the sums of each segment of each tile, if several blocks share a tile.
    pub scratch: *mut u8,
    /// For each tile, the number of blocks that have finished.
    pub counters: *mut u32,
    /// Blocks per tile.
    pub splits: u32,
    /// Segments, if several blocks share a tile.
    pub segments: u32,
    /// The bits of `ops::mixed::flags`.
    pub flags: u32,
    /// The type of C.
    pub c_type: Type,
    /// The type of the bias.
    pub bias_type: Type,
    /// The factor of A B.
    pub alpha: f32,
    /// The factor of C, which is not read if this is 0.
    pub beta: f32,
    /// The bounds of the results.
    pub lo: f32,
    /// See `lo`.
    pub hi: f32,
}

/// A reduction of integers. Steps are bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// The first element of the first result.
    pub x: *const u8,
    /// The first result.
    pub out: *mut u8,
    /// Results along two axes, of which the first is the inner one.
    pub counts: [u64; 2],
    /// The steps from the elements of one result to those of the next.
    pub x_steps: [i64; 2],
    /// The steps from one result to the next.
    pub out_steps: [i64; 2],
    /// Elements of a result.
    pub n: u64,
    /// Their axes in row-major order, right-aligned, ...
    pub axes: [u64; RANK],
    /// ... and the steps along these.
    pub steps: [i64; RANK],
    /// How many axes there are.
    pub rank: u32,
    /// A `ops::integers::Kind`.
    pub kind: u32,
    /// The type of the elements.
    pub of: Type,
    /// The type of the results.
    pub to: Type,
    /// log2 of the results that a block has at once.
    pub results: u32,
    /// Whether adjacent threads have adjacent results, not adjacent elements.
    pub across: u32,
    /// Elements of a part.
    pub part: u64,
    /// Scratch memory for the parts of each result, if there are several.
    pub scratch: *mut u8,
    /// For each block along x, the number of parts that have finished.
    pub counters: *mut u32,
}
