//! Products whose operands are not what is summed: 16-bit floats and bytes; and those of integers, in the same way.
//! C = alpha A B + beta C, with factors for rows and columns, a bias and a clamp.
//!
//! A, B, what lies in shared memory, the sums and C each have a type of their own. In memory they are bytes at any
//! distance. In shared memory, the elements of a row of A or of a column of B lie in words: of 4 bytes, with the steps
//! of k that fit, or one `i64`. Slices of words are laid out with k outermost, so that [`gemm`](super::gemm)'s fragments
//! serve here too. The sums of a thread tile stay in registers (`sums`).
//!
//! # Order of rounding
//!
//! Integers are exact modulo 2^bits, so their order is free. For floats it is that of the CPU (`ops/mixed` there): two
//! chains for a block of 32 steps of k, whose sums are added to that of a segment of 1024 steps, which is added to the
//! total. A short block is padded with +0, by the loads (`load`). So every slice is whole, and the loop over them needs
//! no other code for the end of k.
//!
//! C may be narrower than a sum, so it is written once, after the last segment. Until then the totals wait in shared
//! memory, or, where several blocks share the segments of a tile, the sums of each segment in scratch memory. They are
//! written element by element by a rolled loop (`write`) in which neighbouring threads have neighbouring elements of C:
//! that takes little code for what can follow a product, and a product has many more multiplications than elements.

mod load;
mod sums;
mod tile;
mod write;

use crate::gpu::parameters::Product;
use crate::ops::gemm::TileCoord;
use sums::{Bytes, Halves, Whole};

/// The bits of a product's `flags`: how the matrices are laid out in memory, which types they have, and what follows.
pub mod flags {
    /// A thread loads steps of k of one row of A, else one step of several rows.
    pub const A_ALONG_K: u32 = 1;
    /// It loads as many bytes at a time as there are in consecutive elements.
    pub const A_PACKS: u32 = 2;
    /// It loads 4 bytes at a time; only with [`A_ALONG_K`].
    pub const A_WORDS: u32 = 4;
    /// As [`A_ALONG_K`], for columns of B.
    pub const B_ALONG_K: u32 = 8;
    /// As [`A_PACKS`].
    pub const B_PACKS: u32 = 16;
    /// As [`A_WORDS`].
    pub const B_WORDS: u32 = 32;
    /// The smaller stride of C is that along m.
    pub const C_ALONG_M: u32 = 64;
    /// The result is clamped.
    pub const CLAMP: u32 = 128;
    /// Every element of the result is NaN, because a bound of the clamp is.
    pub const NAN: u32 = 256;
    /// Of the two types that A can have, it has the second: `bf16` instead of `f16`, or `u8` instead of `i8`.
    pub const SECOND_TYPE: u32 = 512;
    /// The sums of a block have a place of their own in shared memory, beside the slices: it has several segments.
    pub const SEVERAL_SEGMENTS: u32 = 1024;
}

/// Defines the kernels. A row has what a thread sums; rows, and columns, of the thread-block tile; the words of a slice
/// along k; the threads of a block; the thread tile (rows, columns); and whether blocks may share a tile. Warps are 4 by
/// 8 threads.
macro_rules! kernels {
    ($($name:ident: $Sums:ident, tile $e:literal words $k:literal, threads $threads:literal,
       thread $tm:literal $tn:literal, splits $splits:literal;)*) => {$(
        /// The constants of the kernel of this name.
        pub mod $name {
            use super::tile;

            /// Rows, and columns, of the thread-block tile.
            pub const TILE: usize = $e;
            /// Steps of k of a slice.
            pub const STEPS: usize = tile::steps::<super::$Sums<$tm, $tn>, $k, $tm, $tn>();
            /// Whether several blocks may share a tile.
            pub const SPLITS: bool = $splits;

            /// Bytes of shared memory of a block.
            pub const fn shared(several_segments: bool) -> u32 {
                tile::shared::<super::$Sums<$tm, $tn>, $e, $k, $tm, $tn>(several_segments)
            }
        }

        /// Computes a batch of products.
        ///
        /// The blocks along x are tiles, times `splits`; y and z together are the index of the product in the batch, z
        /// fastest.
        ///
        /// # Safety
        /// The matrices and the numbers must be valid and laid out as the flags say, and C must not overlap the others.
        /// With several splits, there must be scratch memory for the sums of each segment of each tile, and a counter
        /// for each tile.
        #[inline(always)]
        pub unsafe fn $name<T>(product: Product) {
            tile::product::<$Sums<$tm, $tn>, $e, $k, $threads, $tm, $tn, $splits>(&product)
        }
    )*};
}

kernels! {
    half_64x64: Halves, tile 64 words 8, threads 128, thread 8 4, splits false;
    half_16x16: Halves, tile 16 words 16, threads 64, thread 2 2, splits true;
    byte_64x64: Bytes, tile 64 words 8, threads 128, thread 8 4, splits false;
    byte_16x16: Bytes, tile 16 words 16, threads 64, thread 2 2, splits true;
    i32_32x32: I32, tile 32 words 8, threads 64, thread 4 4, splits false;
    i64_32x32: I64, tile 32 words 4, threads 64, thread 4 4, splits false;
}

type I32<const M: usize, const N: usize> = Whole<i32, M, N>;
type I64<const M: usize, const N: usize> = Whole<i64, M, N>;

impl Product {
    /// Returns whether a bit of `flags` is set.
    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns the rows and the columns of tiles of `e` by `e` elements.
    #[inline(always)]
    fn tiles(&self, e: usize) -> (u32, u32) {
        let count = |length: u64| length.div_ceil(e as u64) as u32;
        (count(self.m), count(self.n))
    }
}

/// Returns the address `index` steps after `p`.
#[inline(always)]
fn at(p: *const u8, index: u64, step: i64) -> *const u8 {
    p.wrapping_offset((index as i64 * step) as isize)
}

/// Returns the first row and the first column of a tile of `e` by `e` elements.
#[inline(always)]
fn first_of(coord: TileCoord, e: usize) -> (u64, u64) {
    (coord.row as u64 * e as u64, coord.column as u64 * e as u64)
}
