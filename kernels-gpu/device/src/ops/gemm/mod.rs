//! C = alpha A B + beta C, then bias and clamp.
//!
//! A block computes a tile of C. Its threads bring a slice of A and one of B at a time into shared memory,
//! where both lie with k outermost, while the fma chains of the slice before run; a thread owns a few rows
//! and columns of the tile and keeps their chains in registers. The order of each element is that of the CPU
//! panel: a chain of fma from +0 for each segment of [`KSEG`] of k, then alpha and beta. Segments go to C in
//! global memory one after the other, by the thread that owns the element, so their totals take no registers.
//!
//! Per tile of R by S and step of k: R S fma, R + S elements from global memory, and from shared memory
//! r + s elements for r s fma of a thread. 128 x 128 with 8 x 8 in f32: 32 fma per byte from global memory,
//! and 8 fma instructions per access of 16 bytes to shared memory. A segment moves 2 R S elements of C, 1 / 128
//! of an element per fma.
//!
//! Elements past the edges of A and B are never read: the last one within is read in their place, and what
//! comes of it is not stored. Past the end of k nothing is computed at all, since even adding +0 changes a -0.

mod load;
mod scale;
mod split;
mod tile;
mod write_back;

pub use scale::scale;

use crate::gpu::thread;
use crate::real::Real;
pub use diptych::backend::order::KSEG;
use split::Scratch;
use write_back::Output;

/// How matrices lie, and what follows a product: the bits of `flags`.
pub mod flags {
    /// Threads read A along k.
    pub const A_DEEP: u32 = 1;
    /// A may be read 16 bytes at a time, along k where deep, else along m.
    pub const A_PACKS: u32 = 2;
    /// Threads read B along k.
    pub const B_DEEP: u32 = 4;
    /// B may be read 16 bytes at a time, along k where deep, else along n.
    pub const B_PACKS: u32 = 8;
    /// C may be read and written 16 bytes at a time, along n.
    pub const C_PACKS: u32 = 16;
    /// A bias is added.
    pub const BIAS: u32 = 32;
    /// The result is clamped.
    pub const CLAMP: u32 = 64;
    /// The result is NaN: the clamp has a bound that is.
    pub const NAN: u32 = 128;
}

/// What every thread of a grid is told.
#[derive(Clone, Copy)]
pub(crate) struct Product<T> {
    m: u64,
    n: u64,
    k: u64,
    alpha: T,
    /// The first A; strides along m, along k, of the batch.
    a: (*const T, i64, i64, i64),
    /// The first B; strides along n, along k, of the batch.
    b: (*const T, i64, i64, i64),
    beta: T,
    /// The first C; strides along m, along n, of the batch.
    c: (*mut T, i64, i64, i64),
    /// Strides along m and along n; one of them is 0.
    bias: (*const T, i64, i64),
    bounds: (T, T),
    batch: u64,
    flags: u32,
}

/// Where a block works: which product of the batch, which rows and columns of tiles.
#[derive(Clone, Copy)]
struct Place {
    item: u64,
    row: u32,
    column: u32,
}

impl Place {
    /// The place of tile `tile` of a matrix of `rows` by `columns` tiles, in bands of a few rows of tiles: the
    /// blocks that run at one time then share rows of A and columns of B.
    #[inline(always)]
    fn new(tile: u32, rows: u32, columns: u32) -> Self {
        const BAND: u32 = 8;
        // Nothing here is 0, which the compiler does not know: it would keep a panic.
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
    /// Whether a bit is set.
    #[inline(always)]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// C at an element of a product of the batch.
    #[inline(always)]
    fn c_at(&self, item: u64, i: u64, j: u64) -> *mut T {
        let (c, rs, cs, bs) = self.c;
        c.wrapping_offset(item as isize * bs as isize)
            .wrapping_offset(i as isize * rs as isize + j as isize * cs as isize)
    }

    /// The tile of C of `rows` by `columns` at a place.
    #[inline(always)]
    fn output(&self, at: Place, rows: u32, columns: u32) -> Output<T> {
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

/// The kernels of a size of tiles: rows, columns and steps of k of a tile; threads; rows and columns of a
/// thread; rows and columns of the threads of a warp; elements of A and of B that a thread loads at a time.
macro_rules! tiles {
    ($($module:ident $whole:ident $split:ident: tile $m:literal $n:literal $k:literal, threads $threads:literal,
       thread $tm:literal $tn:literal, warp $lm:literal $ln:literal, loads $la:literal $lb:literal;)*) => {$(
        /// Tiles of this size.
        pub mod $module {
            /// Rows and columns.
            pub const TILE: (u32, u32) = ($m, $n);
            /// Threads of a block.
            pub const THREADS: u32 = $threads;

            /// Bytes of shared memory of a block.
            pub const fn shared<T: crate::real::Real>() -> u32 {
                2 * $k * ($m + $n + 2 * T::WIDTH) * size_of::<T>() as u32
            }
        }

        /// A product whose blocks go through all of k.
        ///
        /// Blocks along x are tiles; y and z together number the products of the batch, z first.
        ///
        /// # Safety
        /// The matrices must be valid, and lie as `flags` says; C must be apart from the rest. k and the
        /// batch are not 0.
        #[inline(always)]
        pub unsafe fn $whole<T: Real>(
            m: u64, n: u64, k: u64, alpha: T,
            a: *const T, a_rs: i64, a_cs: i64, a_bs: i64,
            b: *const T, b_rs: i64, b_cs: i64, b_bs: i64,
            beta: T, c: *mut T, c_rs: i64, c_cs: i64, c_bs: i64,
            bias: *const T, bias_rs: i64, bias_cs: i64, lo: T, hi: T,
            batch: u64, flags: u32,
        ) {
            let product = Product {
                m, n, k, alpha, a: (a, a_rs, a_cs, a_bs), b: (b, b_cs, b_rs, b_bs), beta,
                c: (c, c_rs, c_cs, c_bs), bias: (bias, bias_rs, bias_cs), bounds: (lo, hi), batch, flags,
            };
            // SAFETY: as the caller's.
            unsafe { tile::whole::<T, $m, $n, $k, $threads, $tm, $tn, $lm, $ln, $la, $lb>(&product) }
        }

        /// A product each of whose tiles is shared by `splits` blocks, which take whole segments of k. The
        /// sums of segments go to `scratch`, and the last block of a tile folds them in their order.
        ///
        /// Blocks along x are tiles times splits, else as the kernel without splits.
        ///
        /// # Safety
        /// As there. `scratch` has room for each segment of each tile, `counters` for each tile.
        #[inline(always)]
        pub unsafe fn $split<T: Real>(
            m: u64, n: u64, k: u64, alpha: T,
            a: *const T, a_rs: i64, a_cs: i64, a_bs: i64,
            b: *const T, b_rs: i64, b_cs: i64, b_bs: i64,
            beta: T, c: *mut T, c_rs: i64, c_cs: i64, c_bs: i64,
            bias: *const T, bias_rs: i64, bias_cs: i64, lo: T, hi: T,
            batch: u64, flags: u32, splits: u32, scratch: *mut u8, counters: *mut u32,
        ) {
            let product = Product {
                m, n, k, alpha, a: (a, a_rs, a_cs, a_bs), b: (b, b_cs, b_rs, b_bs), beta,
                c: (c, c_rs, c_cs, c_bs), bias: (bias, bias_rs, bias_cs), bounds: (lo, hi), batch, flags,
            };
            let scratch = Scratch { sums: scratch.cast(), counters, splits };
            // SAFETY: as the caller's.
            unsafe { split::split::<T, $m, $n, $k, $threads, $tm, $tn, $lm, $ln, $la, $lb>(&product, scratch) }
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
