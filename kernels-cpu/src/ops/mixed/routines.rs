//! What the loops need of an instruction that multiplies a pair of types: sizes and functions.

use super::product::MixedGemm;
use crate::matrix::Matrix;

/// Copies steps of `count` rows or columns to a packed panel, which holds its header and then block after block of steps. The
/// matrix has a row for each of them, and a column for each step from `first` on, a whole number of blocks.
///
/// Unsafe to call: the machine must have the instructions, the matrix must be valid for these elements, and there must be
/// room for the panel. If `first` is not 0, the steps before it must have been copied.
pub type Pack =
    unsafe fn(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8);

/// Computes the sums of some rows and columns over all k, from A and B as they are. They begin at row and column `at`; `size` is how
/// many. The sums of a row are contiguous, with `pitch` bytes from one row to the next.
///
/// Unsafe to call: the matrices must be valid, and there must be room for the sums, of columns padded to [`MAX_NR`], in
/// [`MAX_TILE_BYTES`].
pub type InPlace =
    unsafe fn(p: &MixedGemm, at: (usize, usize), size: (usize, usize), sums: *mut u8, pitch: usize);

/// The most rows that an [`InPlace`] function computes.
pub const IN_PLACE_ROWS: usize = 4;

/// A micro-tile in one segment of k.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Its rows and columns.
    pub rows: usize,
    pub columns: usize,
    /// The steps, at least one.
    pub kc: usize,
    /// The packed micro-panels.
    pub a: *const u8,
    pub b: *const u8,
    /// The sums, of as many rows and columns as the micro-panels have with their padding, and the bytes from one row to the
    /// next.
    pub sums: *mut u8,
    pub sums_rs: isize,
    /// Whether to add to the sums that are there.
    pub adds: bool,
}

/// The packed panels of one operand.
#[derive(Clone, Copy)]
pub struct Panels {
    /// The most rows or columns of a micro-panel, MR or NR.
    pub most: usize,
    /// Micro-panels are padded to a multiple of so many rows or columns.
    pub grain: usize,
    /// The bytes of a row or column in a whole [block](Routines::steps) of steps.
    pub bytes: usize,
    /// The bytes of a row or column beside its steps.
    pub header: usize,
    /// See [`Pack`].
    pub pack: Pack,
}

impl Panels {
    /// `grain`, which is not 0: so the compiler sees that no division by it can panic.
    #[inline(always)]
    pub fn grain(&self) -> usize {
        self.grain.max(1)
    }

    /// The bytes of a packed micro-panel.
    #[inline(always)]
    pub fn micro_panel_bytes(&self, count: usize, blocks: usize) -> usize {
        count.next_multiple_of(self.grain()) * (blocks * self.bytes + self.header)
    }

    /// The bytes of a packed micro-panel before the block of steps that begins with step `first`.
    #[inline(always)]
    pub fn offset(&self, count: usize, first: usize, steps: usize) -> usize {
        count.next_multiple_of(self.grain()) * (self.header + first / steps.max(1) * self.bytes)
    }

    /// The rows or columns of the next micro-panel when `rest` are left: the last two are about equal.
    #[inline(always)]
    pub fn next(&self, rest: usize) -> usize {
        let most = self.most / self.grain();
        let grains = rest.div_ceil(self.grain());
        let step = crate::ops::gemm::balanced_step(grains, most);
        rest.min(step * self.grain)
    }
}

/// The functions of one instruction for one pair of types, and what the loops must know of them.
pub struct Routines {
    /// The panels of A.
    pub a: Panels,
    /// The panels of B.
    pub b: Panels,
    /// Panels are padded to whole blocks of so many steps.
    pub steps: usize,
    /// The most steps that a microkernel takes, a multiple of `steps`. Where the order of summation matters, these are the
    /// segments of the order.
    pub segment: usize,
    /// The bytes of a sum.
    pub sum_bytes: usize,
    /// Adds the products of a micro-tile in one segment to the sums, or sets the sums to them.
    pub microkernel: unsafe fn(&Tile),
    /// Prepares the thread for microkernels, and cleans up after them.
    pub enter: unsafe fn(),
    pub leave: unsafe fn(),
    /// The sums of elements that are read in place: for calls without scratch memory, and for products of few rows.
    pub in_place: InPlace,
    /// The most rows for which that is faster than packing.
    pub in_place_rows: usize,
}

impl Routines {
    /// `steps`, which is not 0, as [`Panels::grain`].
    #[inline(always)]
    pub fn steps(&self) -> usize {
        self.steps.max(1)
    }

    /// `segment`, likewise.
    #[inline(always)]
    pub fn segment(&self) -> usize {
        self.segment.max(1)
    }
}

/// For instructions that need no preparation.
pub unsafe fn nothing() {}

/// The most columns and bytes of a micro-tile.
pub const MAX_NR: usize = 128;
pub const MAX_TILE_BYTES: usize = 4 << 10;
