//! C = alpha A B + beta C, then bias and clamp.
//!
//! A block computes a thread-block tile of C. Its threads copy a slice of A and a slice of B (a few steps of k) at a
//! time into shared memory, where both are stored with k outermost, while they compute with the slices before; shared
//! memory is double-buffered. A thread owns a few rows and columns of the tile, its thread tile, whose accumulators
//! stay in registers. Each element is summed in the order of the CPU's kernels: for each segment of [`KSEG`] steps of
//! k a chain of fma that starts from +0, then alpha and beta. The thread that owns an element adds each finished
//! segment to C in global memory, so the total over segments takes no registers.
//!
//! For an R by S tile and r by s thread tiles, a step of k takes R S fma and R + S elements from global memory; for its
//! r s fma, a thread loads r + s elements from shared memory. With 128 x 128 and 8 x 8 in f32 this is 32 fma per byte
//! of global memory, and 8 fma instructions per 16-byte access to shared memory. Adding a segment to C moves 2 R S
//! elements, or 1/128 of an element per fma.
//!
//! Elements past the edges of A and B are never read: the last valid element is read in their place, and the results
//! are not stored. Steps past the end of k are skipped rather than padded, since even adding +0 would change a -0.

mod load;
mod scale;
pub mod skinny;
mod split;
mod tile;
mod write_back;

pub(super) use load::fragment;
pub use scale::scale;
pub(super) use split::is_last;
pub(super) use write_back::{ThreadTile, index};

use crate::gpu::thread;
use crate::real::Real;
pub use diptych::backend::order::KSEG;
use split::Scratch;
use write_back::Output;

/// The bits of a product's `flags`: how the matrices are laid out in memory, and what the epilogue does.
pub mod flags {
    /// The elements of A that a thread loads at a time are consecutive along k, else along m.
    pub const A_ALONG_K: u32 = 1;
    /// A can be loaded 16 bytes at a time, along k with [`A_ALONG_K`], else along m.
    pub const A_PACKS: u32 = 2;
    /// The elements of B that a thread loads at a time are consecutive along k, else along n.
    pub const B_ALONG_K: u32 = 4;
    /// B can be loaded 16 bytes at a time, along k with [`B_ALONG_K`], else along n.
    pub const B_PACKS: u32 = 8;
    /// C can be loaded and stored 16 bytes at a time, along n.
    pub const C_PACKS: u32 = 16;
    /// A bias is added.
    pub const BIAS: u32 = 32;
    /// The result is clamped.
    pub const CLAMP: u32 = 64;
    /// Every element of the result is NaN, because a bound of the clamp is.
    pub const NAN: u32 = 128;
}

/// The arguments of a product, the same for every thread of the grid.
#[derive(Clone, Copy)]
pub(crate) struct Product<T> {
    m: u64,
    n: u64,
    k: u64,
    alpha: T,
    /// The first A of the batch; strides along m, along k, and between items of the batch.
    a: (*const T, i64, i64, i64),
    /// The first B of the batch; strides along n, along k, and between items of the batch.
    b: (*const T, i64, i64, i64),
    beta: T,
    /// The first C of the batch; strides along m, along n, and between items of the batch.
    c: (*mut T, i64, i64, i64),
    /// The bias, and its strides along m and along n, one of which is 0.
    bias: (*const T, i64, i64),
    bounds: (T, T),
    batch: u64,
    flags: u32,
}

/// The tile of a block: which item of the batch, and the row and column in the grid of tiles.
#[derive(Clone, Copy)]
pub(super) struct TileCoord {
    pub item: u64,
    pub row: u32,
    pub column: u32,
}

impl TileCoord {
    /// Returns the coordinates of tile number `tile` of `rows` by `columns` tiles. Tiles are numbered in bands of a few
    /// rows of tiles (block swizzling): blocks that run at the same time then share rows of A and columns of B in L2.
    #[inline(always)]
    pub fn new(tile: u32, rows: u32, columns: u32) -> Self {
        const BAND: u32 = 8;
        // The divisors are never 0, but the compiler does not know that: without `max` it would keep a panic.
        let tiles = (BAND * columns).max(1);
        let (band, inside) = (tile / tiles, tile % tiles);
        let height = (rows - band * BAND).clamp(1, BAND);
        Self {
            item: thread::block_idx_y() as u64 * thread::grid_dim_z() as u64
                + thread::block_idx_z() as u64,
            row: band * BAND + inside % height,
            column: inside / height,
        }
    }
}

impl<T: Real> Product<T> {
    /// Returns whether a bit of `flags` is set.
    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Returns a pointer to element (i, j) of C of an item of the batch.
    #[inline(always)]
    fn c_at(&self, item: u64, i: u64, j: u64) -> *mut T {
        let (c, rs, cs, bs) = self.c;
        c.wrapping_offset(item as isize * bs as isize)
            .wrapping_offset(i as isize * rs as isize + j as isize * cs as isize)
    }

    /// Returns the `rows` by `columns` tile of C at the given coordinates.
    #[inline(always)]
    fn output(&self, at: TileCoord, rows: u32, columns: u32) -> Output<T> {
        let (i, j) = (
            at.row as u64 * rows as u64,
            at.column as u64 * columns as u64,
        );
        let (bias, bias_rs, bias_cs) = self.bias;
        Output {
            c: self.c_at(at.item, i, j),
            rs: self.c.1,
            cs: self.c.2,
            rows: (self.m - i).min(rows as u64) as u32,
            columns: (self.n - j).min(columns as u64) as u32,
            bias: bias
                .wrapping_offset(i as isize * bias_rs as isize + j as isize * bias_cs as isize),
            bias_rs,
            bias_cs,
            bounds: self.bounds,
            flags: self.flags,
        }
    }
}

/// Defines a kernel with the parameters of a product and more. Its body is given the product.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident($($more:ident: $More:ty),*), |$product:ident| $body:expr) => {
        $(#[$doc])*
        #[inline(always)]
        pub unsafe fn $name<T: Real>(
            m: u64, n: u64, k: u64, alpha: T,
            a: *const T, a_rs: i64, a_cs: i64, a_bs: i64,
            b: *const T, b_rs: i64, b_cs: i64, b_bs: i64,
            beta: T, c: *mut T, c_rs: i64, c_cs: i64, c_bs: i64,
            bias: *const T, bias_rs: i64, bias_cs: i64, lo: T, hi: T,
            batch: u64, flags: u32 $(, $more: $More)*
        ) {
            let $product = Product {
                m, n, k, alpha, a: (a, a_rs, a_cs, a_bs), b: (b, b_cs, b_rs, b_bs), beta,
                c: (c, c_rs, c_cs, c_bs), bias: (bias, bias_rs, bias_cs), bounds: (lo, hi), batch, flags,
            };
            $body
        }
    };
}

/// Defines the kernels of each tile size. A row has the thread-block tile (rows, columns, steps of k); the threads of a
/// block; the thread tile (rows, columns); the threads of a warp along m and n; and the elements of A and of B that a
/// thread loads for each slice.
macro_rules! tiles {
    ($($module:ident $whole:ident $split:ident: tile $m:literal $n:literal $k:literal, threads $threads:literal,
       thread $tm:literal $tn:literal, warp $lm:literal $ln:literal, loads $la:literal $lb:literal;)*) => {$(
        /// The constants of this tile size.
        pub mod $module {
            /// Rows and columns of the thread-block tile.
            pub const TILE: (u32, u32) = ($m, $n);
            /// Threads per block.
            pub const THREADS: u32 = $threads;

            /// Bytes of shared memory per block: two buffers of a slice of A and a slice of B.
            pub const fn shared<T: crate::real::Real>() -> u32 {
                2 * $k * ($m + $n + 2 * T::WIDTH) * size_of::<T>() as u32
            }
        }

        kernel! {
            /// Computes a product without split-K: a block goes through all of k for its tile.
            ///
            /// The blocks along x are the tiles; y and z together are the index of the product in the batch, z fastest.
            ///
            /// # Safety
            /// The matrices must be valid and laid out as `flags` says, and C must not overlap the others. k and the
            /// batch must not be 0.
            $whole(), |product| {
                tile::whole::<T, $m, $n, $k, $threads, $tm, $tn, $lm, $ln, $la, $lb>(&product)
            }
        }

        kernel! {
            /// Computes a product with split-K: `splits` blocks share a tile, and each takes a range of whole segments
            /// of k. The sums of segments go to `scratch`; the last block of a tile to finish adds them in order.
            ///
            /// The blocks along x are tiles times splits; y and z are as for the kernel without split-K.
            ///
            /// # Safety
            /// As for the kernel without split-K. `scratch` must have room for the sums of each segment of each tile,
            /// and `counters` a counter for each tile.
            $split(splits: u32, scratch: *mut u8, counters: *mut u32), |product| {
                let scratch = Scratch { sums: scratch.cast(), counters, splits };
                split::split::<T, $m, $n, $k, $threads, $tm, $tn, $lm, $ln, $la, $lb>(&product, scratch)
            }
        }
    )*};
}

tiles! {
    tile_128x128 whole_128x128 split_128x128: tile 128 128 8, threads 256, thread 8 8, warp 4 8, loads 4 4;
    tile_128x64 whole_128x64 split_128x64: tile 128 64 8, threads 128, thread 8 8, warp 4 8, loads 8 4;
    tile_64x64 whole_64x64 split_64x64: tile 64 64 8, threads 128, thread 8 4, warp 4 8, loads 4 4;
    tile_128x16 whole_128x16 split_128x16: tile 128 16 8, threads 64, thread 4 8, warp 16 2, loads 16 4;
    tile_32x32 whole_32x32 split_32x32: tile 32 32 8, threads 64, thread 4 4, warp 4 8, loads 4 4;
    tile_16x16 whole_16x16 split_16x16: tile 16 16 16, threads 64, thread 2 2, warp 4 8, loads 4 4;
}

kernel! {
    /// Computes a product with few columns and a long k; teams of `lanes` threads, 8 or 16, take a segment of k each.
    ///
    /// The blocks along x are blocks of rows, and within each the groups of columns; y and z are as for the tiles.
    ///
    /// # Safety
    /// As for the kernels of tiles without split-K.
    few_columns(lanes: u32), |product| skinny::body(&product, lanes)
}
