//! A block's tile of C.

use super::load::{Loader, Operand, fragment};
use super::write_back::{Owner, WriteBack};
use super::{KSEG, Place, Product, flags};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, thread, unroll};
use crate::real::Real;

/// The sums of a thread, `TM` rows of `TN`, while its block goes through k.
pub struct Tile<
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
    pub owner: Owner,
    /// Steps of k that are left, from the slice on that lies in shared memory.
    left: u64,
    /// Which of the two places for slices that is.
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
> Tile<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>
{
    /// The tile at a place, for the steps `from..to` of k; the first slice is brought to shared memory.
    ///
    /// # Safety
    /// The matrices must be valid; `from` is less than `to`, and all threads of the block come here.
    #[inline(always)]
    pub unsafe fn new(p: &Product<T>, at: Place, (from, to): (u64, u64)) -> Self {
        let thread = thread::thread_idx_x();
        let operand = |(p, along, depth, batch): (*const T, i64, i64, i64),
                       first: u64,
                       end: u64| {
            let at =
                item(at, batch) + first as isize * along as isize + from as isize * depth as isize;
            (p.wrapping_offset(at), (end - first))
        };
        let (i, j) = (at.row as u64 * BM as u64, at.column as u64 * BN as u64);
        let (a, rows) = operand(p.a, i, p.m);
        let (b, columns) = operand(p.b, j, p.n);
        let a = Operand {
            p: a,
            along: p.a.1,
            depth: p.a.2,
            extent: rows.min(BM as u64) as u32,
            deep: p.has(flags::A_DEEP),
            packs: p.has(flags::A_PACKS),
        };
        let b = Operand {
            p: b,
            along: p.b.1,
            depth: p.b.2,
            extent: columns.min(BN as u64) as u32,
            deep: p.has(flags::B_DEEP),
            packs: p.has(flags::B_PACKS),
        };
        let mut tile = Self {
            a: Loader::new(thread, &a),
            b: Loader::new(thread, &b),
            owner: Self::owner(thread),
            left: to - from,
            buffer: 0,
        };
        // SAFETY: as the caller's.
        unsafe {
            let steps = tile.left.min(BK as u64) as u32;
            let a = tile.a.fetch(steps);
            let b = tile.b.fetch(steps);
            tile.a.stash(a, tile.slices(0).0);
            tile.b.stash(b, tile.slices(0).1);
            thread::sync_threads();
        }
        tile
    }

    /// What a thread owns. Neighbouring lanes, or the next ones, share rows, and the others columns: an access
    /// of 16 bytes to shared memory then takes two turns and not four.
    #[inline(always)]
    fn owner(thread: u32) -> Owner {
        let (warp, lane) = (thread / 32, thread % 32);
        let across = (BN / (LN * TN)) as u32;
        let (row, column) = if LN == 2 {
            (lane >> 1, lane & 1)
        } else {
            (lane & 1 | lane >> 4 << 1, lane >> 1 & 7)
        };
        let width = |n: usize| (T::WIDTH as usize).min(n) as u32;
        Owner {
            row: warp / across * (LM * TM) as u32 + row * width(TM),
            column: warp % across * (LN * TN) as u32 + column * width(TN),
            rows: LM as u32,
            columns: LN as u32,
        }
    }

    /// Where in shared memory a slice of A and one of B lie.
    #[inline(always)]
    fn slices(&self, buffer: u32) -> (Shared<T>, Shared<T>) {
        let a = Loader::<T, BM, BK, THREADS, LA>::SLICE;
        let b = Loader::<T, BN, BK, THREADS, LB>::SLICE;
        let first = Shared::at_byte(0).skip(buffer * (a + b));
        (first, first.skip(a))
    }

    /// One step of k.
    ///
    /// # Safety
    /// It must lie in the slice in shared memory.
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

    /// The sums of the next segment; whether there are more segments.
    ///
    /// # Safety
    /// As [`Tile::new`], and there must be a next segment.
    #[inline(always)]
    pub unsafe fn segment(&mut self, sums: &mut [[T; TN]; TM]) -> bool {
        let slice = BK as u32;
        let mut steps = self.left.min(KSEG as u64) as u32;
        self.left -= steps as u64;
        let after = self.left.min(BK as u64) as u32;
        loop {
            let next = if steps > slice {
                (steps - slice).min(slice)
            } else {
                after
            };
            // SAFETY: as the caller's; the slice in shared memory is whole, or the last.
            unsafe { self.slice(sums, steps.min(slice), next) };
            if steps <= slice {
                return next > 0;
            }
            steps -= slice;
        }
    }

    /// `steps` of the slice in shared memory, while the next, of `next` steps, is under way.
    ///
    /// # Safety
    /// As [`Tile::segment`].
    #[inline(always)]
    unsafe fn slice(&mut self, sums: &mut [[T; TN]; TM], steps: u32, next: u32) {
        let mut ahead = ([T::ZERO; LA], [T::ZERO; LB]);
        // SAFETY: as the caller's.
        unsafe {
            if next > 0 {
                ahead = (self.a.fetch(next), self.b.fetch(next));
            }
            let (a, b) = self.slices(self.buffer);
            let (a, b) = (a.skip(self.owner.row), b.skip(self.owner.column));
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
                self.a.stash(ahead.0, a);
                self.b.stash(ahead.1, b);
                thread::sync_threads();
            }
        }
    }
}

/// How far a product of the batch is from the first.
#[inline(always)]
fn item(at: Place, stride: i64) -> isize {
    at.item as isize * stride as isize
}

/// See the entries.
///
/// # Safety
/// As theirs.
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
    let at = Place::new(thread::block_idx_x(), rows, columns);
    if at.item >= p.batch {
        return;
    }
    // SAFETY: as the caller's; all threads of the block have the same place.
    unsafe {
        let mut tile = Tile::<T, BM, BN, BK, THREADS, TM, TN, LM, LN, LA, LB>::new(p, at, (0, p.k));
        let output = p.output(at, BM as u32, BN as u32);
        let mut beta = p.beta;
        loop {
            let mut sums = [[T::ZERO; TN]; TM];
            let more = tile.segment(&mut sums);
            let how = WriteBack {
                alpha: p.alpha,
                beta,
                last: !more,
            };
            output.write_back(&sums, tile.owner, how);
            if !more {
                return;
            }
            beta = T::ONE;
        }
    }
}
