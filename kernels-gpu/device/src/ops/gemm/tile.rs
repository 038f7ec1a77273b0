//! The main loop over k of a thread-block tile of C.

use super::load::{Loader, Operand, fragment};
use super::write_back::{ThreadTile, WriteBack};
use super::{KSEG, Product, TileCoord, flags};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, thread, unroll};
use crate::real::Real;

/// A thread's state in the main loop over k. Its accumulators, `TM` rows by `TN` columns, are arguments of the methods,
/// so that they stay in registers. The parameters are: `BM`, `BN`, `BK` the thread-block tile; `TM`, `TN` the thread
/// tile; `LM`, `LN` the threads of a warp along m and n; `LA`, `LB` the elements of A and B that a thread loads for
/// each slice.
pub struct Mainloop<
    T,
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
> {
    a: Loader<T, BM, BK, THREADS, LA>,
    b: Loader<T, BN, BK, THREADS, LB>,
    pub thread_tile: ThreadTile,
    /// The remaining steps of k, including the slices that are in shared memory.
    left: u64,
    /// Which of the two buffers in shared memory holds these slices.
    buffer: u32,
}

impl<
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
> Mainloop<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>
{
    /// Whether whole slices have a loop of their own, without the instructions for any other slice: where the
    /// accumulators take half of the registers that a thread may have, and no more.
    const PEELS: bool = TM * TN * size_of::<T>() == 256;

    /// Starts the main loop of the tile at `at` for the steps `from..to` of k: copies the first slices to shared
    /// memory.
    ///
    /// # Safety
    /// The matrices must be valid, `from` must be less than `to`, and all threads of the block must make this call.
    #[inline(always)]
    pub unsafe fn new(p: &Product<T>, at: TileCoord, (from, to): (u64, u64)) -> Self {
        let thread = thread::thread_idx_x();
        let operand =
            |(p, row_stride, k_stride, batch): (*const T, i64, i64, i64), first: u64, end: u64| {
                let at = item_offset(at, batch)
                    + first as isize * row_stride as isize
                    + from as isize * k_stride as isize;
                (p.wrapping_offset(at), (end - first))
            };
        let (i, j) = (at.row as u64 * BM as u64, at.column as u64 * BN as u64);
        let (a, rows) = operand(p.a, i, p.m);
        let (b, columns) = operand(p.b, j, p.n);
        let a = Operand {
            p: a,
            row_stride: p.a.1,
            k_stride: p.a.2,
            extent: rows.min(BM as u64) as u32,
            along_k: p.has(flags::A_ALONG_K),
            packs: p.has(flags::A_PACKS),
        };
        let b = Operand {
            p: b,
            row_stride: p.b.1,
            k_stride: p.b.2,
            extent: columns.min(BN as u64) as u32,
            along_k: p.has(flags::B_ALONG_K),
            packs: p.has(flags::B_PACKS),
        };
        let mut tile = Self {
            a: Loader::new(thread, &a),
            b: Loader::new(thread, &b),
            thread_tile: Self::thread_tile(thread),
            left: to - from,
            buffer: 0,
        };
        // SAFETY: as the caller's.
        unsafe {
            let steps = tile.left.min(BK as u64) as u32;
            let a = tile.a.load_global::<false>(steps);
            let b = tile.b.load_global::<false>(steps);
            tile.a.store_shared(a, tile.slices(0).0);
            tile.b.store_shared(b, tile.slices(0).1);
            thread::sync_threads();
        }
        tile
    }

    /// Returns the thread tile of a thread. Where a warp is 16 by 2 threads, two adjacent lanes share rows of A; where
    /// it is 4 by 8, two adjacent lanes share columns of B, and every second lane shares rows. A 16-byte access of the
    /// warp to shared memory then takes two transactions instead of four.
    #[inline(always)]
    fn thread_tile(thread: u32) -> ThreadTile {
        let (warp, lane) = (thread / 32, thread % 32);
        let across = (BN / (LN * TN)) as u32;
        let (row, column) = if LN == 2 {
            (lane >> 1, lane & 1)
        } else {
            (lane & 1 | lane >> 4 << 1, lane >> 1 & 7)
        };
        let width = |n: usize| (T::WIDTH as usize).min(n) as u32;
        ThreadTile {
            row: warp / across * (LM * TM) as u32 + row * width(TM),
            column: warp % across * (LN * TN) as u32 + column * width(TN),
            row_stride: LM as u32,
            column_stride: LN as u32,
        }
    }

    /// Returns the slices of A and B in shared memory.
    #[inline(always)]
    fn slices(&self, buffer: u32) -> (Shared<T>, Shared<T>) {
        let a = Loader::<T, BM, BK, THREADS, LA>::SLICE;
        let b = Loader::<T, BN, BK, THREADS, LB>::SLICE;
        let first = Shared::at_byte(0).skip(buffer * (a + b));
        (first, first.skip(a))
    }

    /// Adds step `k` of the slices in shared memory to the accumulators.
    ///
    /// # Safety
    /// The slices in shared memory must include step `k`.
    #[inline(always)]
    unsafe fn step(&self, sums: &mut [[T; TN]; TM], a: Shared<T>, b: Shared<T>, k: u32) {
        // SAFETY: as the caller's.
        let (a, b): ([T; TM], [T; TN]) = unsafe {
            (
                fragment(
                    a.skip(k * Loader::<T, BM, BK, THREADS, LA>::PITCH),
                    LM as u32,
                ),
                fragment(
                    b.skip(k * Loader::<T, BN, BK, THREADS, LB>::PITCH),
                    LN as u32,
                ),
            )
        };
        for (sums, &a) in sums.iter_mut().zip(&a) {
            for (sum, &b) in sums.iter_mut().zip(&b) {
                *sum = Vector::fma(a, b, *sum);
            }
        }
    }

    /// Accumulates the next segment into `sums`; returns whether more segments follow.
    ///
    /// # Safety
    /// As [`Mainloop::new`], and there must be a next segment.
    #[inline(always)]
    pub unsafe fn segment(&mut self, sums: &mut [[T; TN]; TM]) -> bool {
        let slice = BK as u32;
        let mut steps = self.left.min(KSEG as u64) as u32;
        self.left -= steps as u64;
        let after = self.left.min(BK as u64) as u32;
        if Self::PEELS && self.a.loads_packs() && self.b.loads_packs() {
            while steps >= 2 * slice {
                // SAFETY: as the caller's; the slice in shared memory is complete, and so is the next.
                unsafe { self.slice::<true>(sums, slice, slice) };
                steps -= slice;
            }
        }
        loop {
            let next = if steps > slice {
                (steps - slice).min(slice)
            } else {
                after
            };
            // SAFETY: as the caller's; the slice in shared memory is complete, or the last.
            unsafe { self.slice::<false>(sums, steps.min(slice), next) };
            if steps <= slice {
                return next > 0;
            }
            steps -= slice;
        }
    }

    /// Computes `steps` steps of the slices in shared memory while the next slices, of `next` steps, are being loaded.
    /// `WHOLE` is that of [`Loader::load_global`].
    ///
    /// # Safety
    /// As [`Mainloop::segment`].
    #[inline(always)]
    unsafe fn slice<const WHOLE: bool>(&mut self, sums: &mut [[T; TN]; TM], steps: u32, next: u32) {
        let mut prefetched = ([T::ZERO; LA], [T::ZERO; LB]);
        if next > 0 {
            prefetched = (
                self.a.load_global::<WHOLE>(next),
                self.b.load_global::<WHOLE>(next),
            );
        }
        let (a, b) = self.slices(self.buffer);
        let (a, b) = (
            a.skip(self.thread_tile.row),
            b.skip(self.thread_tile.column),
        );
        if steps >= BK as u32 {
            unroll!(k in 0..BK => self.step(sums, a, b, k as u32));
        } else {
            for k in 0..steps {
                self.step(sums, a, b, k);
            }
        }
        if next > 0 {
            self.buffer ^= 1;
            let (a, b) = self.slices(self.buffer);
            self.a.store_shared(prefetched.0, a);
            self.b.store_shared(prefetched.1, b);
            thread::sync_threads();
        }
    }
}

/// Returns the offset of an item of the batch from the first.
#[inline(always)]
fn item_offset(at: TileCoord, stride: i64) -> isize {
    at.item as isize * stride as isize
}

/// The body of the kernels without split-K; see [`gemm`](super).
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn whole<
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
) {
    let rows = p.m.div_ceil(BM as u64) as u32;
    let columns = p.n.div_ceil(BN as u64) as u32;
    let at = TileCoord::new(thread::block_idx_x(), rows, columns);
    if at.item >= p.batch {
        return;
    }
    // SAFETY: as the caller's; all threads of the block have the same tile.
    unsafe {
        let mut tile =
            Mainloop::<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>::new(p, at, (0, p.k));
        let mut beta = p.beta;
        loop {
            let mut sums = [[T::ZERO; TN]; TM];
            let more = tile.segment(&mut sums);
            let how = WriteBack {
                alpha: p.alpha,
                beta,
                last: !more,
            };
            // The tile's coordinates are computed again, so that they occupy no registers in the loop over k.
            let at = TileCoord::new(thread::opaque(thread::block_idx_x()), rows, columns);
            let output = p.output(at, BM as u32, BN as u32);
            output.write_back(&sums, tile.thread_tile, how);
            if !more {
                return;
            }
            beta = T::ONE;
        }
    }
}
