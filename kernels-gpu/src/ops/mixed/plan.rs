//! Chooses the kernel of a product, and how its k is divided. No choice changes a bit of a result.
#![forbid(unsafe_code)]

use core::ptr;
use diptych::backend::mixed::{Integers, MixedGemm, Operands};
use diptych_device::launch::{Device, entry};
use diptych_device::ops::mixed::{
    byte_16x16, byte_64x64, half_16x16, half_64x64, i32_32x32, i64_32x32,
};
use diptych_device::table::Entry;

/// Steps of k of a segment of 16-bit floats, which the order of rounding fixes.
const SEGMENT: usize = 1024;

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    LargeHalf,
    SmallHalf,
    LargeByte,
    SmallByte,
    I32,
    I64,
}

/// The constants of a kernel.
#[derive(Clone, Copy)]
pub struct Data {
    entry: &'static Entry,
    /// Rows, and columns, of a tile.
    pub tile: usize,
    /// Steps of k of a slice.
    steps: usize,
    /// Whether several blocks may share a tile.
    splits: bool,
    /// Bytes of shared memory of a block, which has several segments or not.
    pub shared: fn(bool) -> u32,
}

macro_rules! data {
    ($entry:ident $module:ident) => {
        Data {
            entry: &entry::$entry,
            tile: $module::TILE,
            steps: $module::STEPS,
            splits: $module::SPLITS,
            shared: $module::shared,
        }
    };
}

impl Kernel {
    /// Blocks with small tiles that a multiprocessor should have at once, to hide the latency of memory.
    pub const RESIDENT: usize = 16;

    /// Returns the constants.
    pub fn data(self) -> Data {
        match self {
            Self::LargeHalf => data!(mixed_half_64x64 half_64x64),
            Self::SmallHalf => data!(mixed_half_16x16 half_16x16),
            Self::LargeByte => data!(mixed_byte_64x64 byte_64x64),
            Self::SmallByte => data!(mixed_byte_16x16 byte_16x16),
            Self::I32 => data!(mixed_i32 i32_32x32),
            Self::I64 => data!(mixed_i64 i64_32x32),
        }
    }

    /// Returns the kernel for a batch of products, the first of which is `p`.
    pub fn of<D: Device>(device: &D, operands: Operands, p: &MixedGemm, count: usize) -> Self {
        let [large, small] = match operands {
            Operands::Half(_) => [Self::LargeHalf, Self::SmallHalf],
            Operands::Integers(Integers::I8I8 | Integers::U8I8) => {
                [Self::LargeByte, Self::SmallByte]
            }
            Operands::Integers(Integers::I32) => return Self::I32,
            Operands::Integers(Integers::I64) => return Self::I64,
        };
        let is_demanded = |kernel: Self| {
            let demanded = device.product_kernel();
            demanded.is_some_and(|entry| ptr::eq(entry, kernel.data().entry))
        };
        // A large tile has more multiplications for each element that is loaded, if its elements exist; but there must be
        // enough of them for a good part of the multiprocessors.
        let tiles = large.tiles(p).saturating_mul(count);
        let is_narrow = p.m.min(p.n) <= small.data().tile;
        let fills = tiles >= device.multiprocessors() as usize / 4;
        if is_demanded(large) || fills && !is_narrow && !is_demanded(small) {
            large
        } else {
            small
        }
    }

    /// Returns the tiles of a product.
    pub fn tiles(self, p: &MixedGemm) -> usize {
        let tile = self.data().tile;
        p.m.div_ceil(tile).saturating_mul(p.n.div_ceil(tile))
    }
}

/// How the k of a tile is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Slices of a segment.
    pub run: usize,
    /// Segments.
    pub count: usize,
    /// Blocks that share them.
    pub splits: usize,
}

impl Segments {
    /// Returns the segments of a tile, which `most` blocks may share.
    pub fn new(kernel: Kernel, is_half: bool, k: usize, most: usize) -> Self {
        /// The fewest slices that are worth a block of their own.
        const FEWEST: usize = 8;
        let Data { steps, splits, .. } = kernel.data();
        let most = if splits { most.max(1) } else { 1 };
        let slices = k.div_ceil(steps).max(1);
        let run = if is_half {
            SEGMENT / steps
        } else if most == 1 {
            slices
        } else {
            slices.div_ceil(most).max(FEWEST)
        };
        let count = slices.div_ceil(run);
        Self {
            run,
            count,
            splits: most.min(count),
        }
    }
}
