//! Split-K: several blocks share a tile of C, for few tiles and a long k.

use super::tile::Mainloop;
use super::write_back::{WriteBack, index};
use super::{KSEG, Product, TileCoord};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, atomic, thread, unroll};
use crate::real::Real;

/// Global memory through which the blocks of a tile pass their sums to the last one to finish.
pub struct Scratch<T> {
    /// For each tile and segment, the sums of each thread as packs. Pack i of all threads of the block is contiguous,
    /// so accesses are coalesced.
    pub sums: *mut T,
    /// For each tile, the number of blocks that have finished.
    pub counters: *mut u32,
    /// Blocks per tile.
    pub splits: u32,
}

/// The body of the split-K kernels; see [`gemm`](super).
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn split<
    T: Real,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const THREADS: usize,
    const TM: usize,
    const TN: usize,
    const LM: usize,
    const LN: usize,
    const LA: usize,
    const LB: usize,
>(
    p: &Product<T>,
    scratch: Scratch<T>,
) {
    let rows = p.m.div_ceil(BM as u64) as u32;
    let columns = p.n.div_ceil(BN as u64) as u32;
    // `splits` is never 0, but the compiler does not know that: without `max` it would keep a panic.
    let splits = scratch.splits.max(1);
    let (tile_in_item, part) = (
        thread::block_idx_x() / splits,
        thread::block_idx_x() % splits,
    );
    let at = TileCoord::new(tile_in_item, rows, columns);
    if at.item >= p.batch {
        return;
    }
    let segments = p.k.div_ceil(KSEG as u64);
    let tile_number = at.item * (rows as u64 * columns as u64) + tile_in_item as u64;
    let sums = Sums {
        p: scratch
            .sums
            .wrapping_add((tile_number * segments) as usize * (BM * BN))
            .wrapping_add(thread::thread_idx_x() as usize * T::WIDTH as usize),
        threads: THREADS,
    };
    // 32 bits are enough, as scratch memory holds a few thousand segments; a 64-bit division would be a function call.
    let cut = |part: u32| (part * segments as u32 / splits) as u64;
    let (mut segment, end) = (cut(part), cut(part + 1));
    let steps = (segment * KSEG as u64, p.k.min(end * KSEG as u64));
    // SAFETY: as the caller's; all threads of the block have the same tile and part. The part is not empty, since
    // there are no more blocks than segments.
    unsafe {
        let mut tile =
            Mainloop::<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>::new(p, at, steps);
        loop {
            let mut mine = [[T::ZERO; TN]; TM];
            let more = tile.segment(&mut mine);
            sums.store(segment, &mine);
            segment += 1;
            if !more {
                break;
            }
        }
        let counter = scratch.counters.wrapping_add(tile_number as usize);
        if !is_last(counter, scratch.splits) {
            return;
        }
        let output = p.output(at, BM as u32, BN as u32);
        let how = WriteBack {
            alpha: p.alpha,
            beta: p.beta,
            last: false,
        };
        let mut total: [[T; TN]; TM] = sums.load(0);
        unroll!(i in 0..TM => {
            let row = tile.thread_tile.row + index::<T>(i, TM, tile.thread_tile.row_stride);
            unroll!(j in 0..TN => {
                let column = tile.thread_tile.column + index::<T>(j, TN, tile.thread_tile.column_stride);
                if output.has(row, column) {
                    total[i][j] = output.begin(total[i][j], how, row, column);
                }
            });
        });
        let mut segment = 1;
        while segment + 1 < segments {
            let two = [sums.load(segment), sums.load(segment + 1)];
            add_segment(&mut total, p.alpha, &two[0]);
            add_segment(&mut total, p.alpha, &two[1]);
            segment += 2;
        }
        if segment < segments {
            add_segment(&mut total, p.alpha, &sums.load(segment));
        }
        // The totals already are C: alpha of 1 leaves them unchanged.
        let how = WriteBack {
            alpha: T::ONE,
            beta: T::ZERO,
            last: true,
        };
        output.write_back(&total, tile.thread_tile, how);
    }
}

/// Adds alpha times the sums of a segment to the totals.
#[inline(always)]
fn add_segment<T: Real, const M: usize, const N: usize>(
    total: &mut [[T; N]; M],
    alpha: T,
    sums: &[[T; N]; M],
) {
    for (total, sums) in total.iter_mut().zip(sums) {
        for (total, &sum) in total.iter_mut().zip(sums) {
            *total = Vector::fma(alpha, sum, *total);
        }
    }
}

/// Counts this block as finished; returns whether it is the last block of its tile, which then sees what the others
/// wrote.
///
/// # Safety
/// All threads of the block must make this call; before its barrier they may only read shared memory.
#[inline(always)]
pub unsafe fn is_last(counter: *mut u32, blocks: u32) -> bool {
    let answer = Shared::<u32>::at_byte(0);
    // SAFETY: the first barrier separates the reads of the slices from the answer that overwrites them, and orders the
    // block's writes to global memory before the counter; the second separates the answer's store from its loads.
    unsafe {
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            let finished_before = atomic::fetch_increment(counter, blocks - 1);
            answer.store(0, (finished_before == blocks - 1) as u32);
        }
        thread::sync_threads();
        answer.load(0) != 0
    }
}

/// A thread's sums in scratch memory.
struct Sums<T> {
    /// The thread's first pack of the tile's first segment.
    p: *mut T,
    /// Threads per block.
    threads: usize,
}

impl<T: Real> Sums<T> {
    #[inline(always)]
    fn at<const M: usize, const N: usize>(&self, segment: u64, pack: usize) -> *mut T {
        let segment = segment as usize * (M * N * self.threads);
        self.p
            .wrapping_add(segment + pack * self.threads * T::WIDTH as usize)
    }

    /// Stores the thread's sums of a segment.
    ///
    /// # Safety
    /// The scratch memory must have room for the segment.
    #[inline(always)]
    unsafe fn store<const M: usize, const N: usize>(&self, segment: u64, sums: &[[T; N]; M]) {
        let width = T::WIDTH as usize;
        unroll!(pack in 0..M * N / width => {
            let mut values = T::ZERO.pack();
            for (e, x) in values.as_mut().iter_mut().enumerate() {
                let at = pack * width + e;
                *x = sums[at / N][at % N];
            }
            T::store_pack(self.at::<M, N>(segment, pack), values);
        });
    }

    /// Loads the thread's sums of a segment.
    ///
    /// # Safety
    /// The block that computed the segment must have stored it, and counted itself as finished.
    #[inline(always)]
    unsafe fn load<const M: usize, const N: usize>(&self, segment: u64) -> [[T; N]; M] {
        let width = T::WIDTH as usize;
        let mut sums = [[T::ZERO; N]; M];
        unroll!(pack in 0..M * N / width => {
            let values = T::load_pack_relaxed(self.at::<M, N>(segment, pack));
            for (e, &x) in values.as_ref().iter().enumerate() {
                let at = pack * width + e;
                sums[at / N][at % N] = x;
            }
        });
        sums
    }
}
