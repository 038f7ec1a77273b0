//! A tile of C by several blocks: for few tiles and a long k.

use super::tile::Tile;
use super::write_back::{WriteBack, index};
use super::{KSEG, Place, Product};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, atomic, thread, unroll};
use crate::real::Real;

/// Where blocks leave the sums of segments for the last of them.
pub struct Scratch<T> {
    /// Per tile and segment, the sums of each thread: its packs lie a block of packs apart.
    pub sums: *mut T,
    /// Per tile, how many blocks are done.
    pub counters: *mut u32,
    /// Blocks of a tile.
    pub splits: u32,
}

/// See the entries.
///
/// # Safety
/// As theirs.
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
    // There is a split, which the compiler does not know: it would keep a panic.
    let splits = scratch.splits.max(1);
    let (number_in_item, part) = (
        thread::block_idx_x() / splits,
        thread::block_idx_x() % splits,
    );
    let at = Place::new(number_in_item, rows, columns);
    if at.item >= p.batch {
        return;
    }
    let segments = p.k.div_ceil(KSEG as u64);
    let number = at.item * (rows as u64 * columns as u64) + number_in_item as u64;
    let sums = Sums {
        p: scratch
            .sums
            .wrapping_add((number * segments) as usize * (BM * BN))
            .wrapping_add(thread::thread_idx_x() as usize * T::WIDTH as usize),
        threads: THREADS,
    };
    // 32 bits, since a division of 64 is a call: scratch memory holds a few thousand segments.
    let cut = |part: u32| (part * segments as u32 / splits) as u64;
    let (mut segment, end) = (cut(part), cut(part + 1));
    let steps = (segment * KSEG as u64, p.k.min(end * KSEG as u64));
    // SAFETY: as the caller's; all threads of the block have the same place and part, which is not empty
    // since there are no more blocks than segments.
    unsafe {
        let mut tile = Tile::<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>::new(p, at, steps);
        loop {
            let mut mine = [[T::ZERO; TN]; TM];
            let more = tile.segment(&mut mine);
            sums.put(segment, &mine);
            segment += 1;
            if !more {
                break;
            }
        }
        let counter = scratch.counters.wrapping_add(number as usize);
        if !is_last(counter, scratch.splits) {
            return;
        }
        let output = p.output(at, BM as u32, BN as u32);
        let how = WriteBack {
            alpha: p.alpha,
            beta: p.beta,
            last: false,
        };
        let mut total: [[T; TN]; TM] = sums.get(0);
        unroll!(i in 0..TM => {
            let row = tile.owner.row + index::<T>(i, TM, tile.owner.rows);
            unroll!(j in 0..TN => {
                let column = tile.owner.column + index::<T>(j, TN, tile.owner.columns);
                if output.has(row, column) {
                    total[i][j] = output.begin(total[i][j], how, row, column);
                }
            });
        });
        let mut segment = 1;
        while segment + 1 < segments {
            let two = [sums.get(segment), sums.get(segment + 1)];
            fold(&mut total, p.alpha, &two[0]);
            fold(&mut total, p.alpha, &two[1]);
            segment += 2;
        }
        if segment < segments {
            fold(&mut total, p.alpha, &sums.get(segment));
        }
        // The totals are C already: 1 changes nothing.
        let how = WriteBack {
            alpha: T::ONE,
            beta: T::ZERO,
            last: true,
        };
        output.write_back(&total, tile.owner, how);
    }
}

/// One more segment.
#[inline(always)]
fn fold<T: Real, const M: usize, const N: usize>(
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

/// Whether the other blocks of the tile are done; then what they wrote is seen.
///
/// # Safety
/// All threads of the block must come here, done with shared memory but for reading slices.
#[inline(always)]
unsafe fn is_last(counter: *mut u32, blocks: u32) -> bool {
    let answer = Shared::<u32>::at_byte(0);
    // SAFETY: the first barrier comes before the answer overwrites a slice, and after what the threads wrote
    // to global memory; the second before it is read.
    unsafe {
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            let before = atomic::fetch_increment(counter, blocks - 1);
            answer.store(0, (before == blocks - 1) as u32);
        }
        thread::sync_threads();
        answer.load(0) != 0
    }
}

/// A thread's sums in scratch memory.
struct Sums<T> {
    /// Its first pack of the tile's first segment.
    p: *mut T,
    threads: usize,
}

impl<T: Real> Sums<T> {
    #[inline(always)]
    fn at<const M: usize, const N: usize>(&self, segment: u64, pack: usize) -> *mut T {
        let segment = segment as usize * (M * N * self.threads);
        self.p
            .wrapping_add(segment + pack * self.threads * T::WIDTH as usize)
    }

    /// # Safety
    /// There must be room.
    #[inline(always)]
    unsafe fn put<const M: usize, const N: usize>(&self, segment: u64, sums: &[[T; N]; M]) {
        let width = T::WIDTH as usize;
        unroll!(pack in 0..M * N / width => {
            let mut together = T::ZERO.pack();
            for (e, x) in together.as_mut().iter_mut().enumerate() {
                let at = pack * width + e;
                *x = sums[at / N][at % N];
            }
            // SAFETY: as the caller's.
            unsafe { T::store_pack(self.at::<M, N>(segment, pack), together) };
        });
    }

    /// # Safety
    /// All blocks must have put theirs.
    #[inline(always)]
    unsafe fn get<const M: usize, const N: usize>(&self, segment: u64) -> [[T; N]; M] {
        let width = T::WIDTH as usize;
        let mut sums = [[T::ZERO; N]; M];
        unroll!(pack in 0..M * N / width => {
            // SAFETY: as the caller's.
            let together = unsafe { T::load_pack_fresh(self.at::<M, N>(segment, pack)) };
            for (e, &x) in together.as_ref().iter().enumerate() {
                let at = pack * width + e;
                sums[at / N][at % N] = x;
            }
        });
        sums
    }
}
