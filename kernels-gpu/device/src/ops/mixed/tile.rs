//! The loop over k of a thread-block tile of C, and what becomes of its sums.

use super::load::{Loader, OfBits, Operand};
use super::sums::{Sums, Total};
use super::{at, first_of, flags};
use crate::gpu::parameters::Product;
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, no_unroll, thread, unroll};
use crate::ops::gemm::{ThreadTile, TileCoord, fragment, index, is_last};

/// Threads of a warp along m and n.
const WARP: (usize, usize) = (4, 8);

/// Returns the steps of k of a slice of `k` words.
pub const fn steps<S: Sums<M, N>, const K: usize, const M: usize, const N: usize>() -> usize {
    K * Loader::<S::Element, 1, K>::STEPS
}

/// Returns the bytes of two buffers of a slice of A and a slice of B, of `K` words of `E` rows each.
const fn buffers<S: Sums<M, N>, const E: usize, const K: usize, const M: usize, const N: usize>()
-> usize {
    2 * 2 * Loader::<S::Element, E, K>::SLICE as usize * size_of::<S::Word>()
}

/// Words from a row of totals in shared memory to the next. With one more than there are, neither the elements of a row
/// nor those of a column are in one bank.
const fn pitch(e: usize) -> usize {
    e + 1
}

/// Returns the bytes of shared memory of a block: slices, and totals, which take the place of the slices where a block has
/// one segment.
pub const fn shared<
    S: Sums<M, N>,
    const E: usize,
    const K: usize,
    const M: usize,
    const N: usize,
>(
    several_segments: bool,
) -> u32 {
    let buffers = buffers::<S, E, K, M, N>();
    let totals = E * pitch(E) * size_of::<S::Bits>();
    let bytes = if several_segments {
        buffers + totals
    } else if buffers > totals {
        buffers
    } else {
        totals
    };
    bytes as u32
}

/// The body of the kernels: `E` rows and columns of a tile, `K` words of a slice, a thread tile of `M` by `N`.
///
/// # Safety
/// As for the kernels.
#[inline(always)]
pub unsafe fn product<
    S: Sums<M, N>,
    const E: usize,
    const K: usize,
    const THREADS: usize,
    const M: usize,
    const N: usize,
    const SPLITS: bool,
>(
    p: &Product,
) where
    S::Word: OfBits,
{
    // `splits` is never 0, but the compiler does not know that: without `max` it would keep a panic.
    let splits = if SPLITS { p.splits.max(1) } else { 1 };
    let (rows, columns) = p.tiles(E);
    let x = thread::block_idx_x();
    let (tile, part) = (x / splits, x % splits);
    let coord = TileCoord::new(tile, rows, columns);
    if coord.item >= p.batch {
        return;
    }
    let is_alone = splits == 1;
    let number = coord.item * (rows as u64 * columns as u64) + tile as u64;
    // 32 bits are enough, as scratch memory holds a few thousand segments; a 64-bit division would be a function call.
    let cut = |part: u32| part * p.segments / splits;
    let mut segments = Segments {
        first: 0,
        slices: (0, slice_count::<S, K, M, N>(p.k)),
    };
    let mut scratch = core::ptr::null_mut();
    if SPLITS && !is_alone {
        let bytes = (E * E * size_of::<S::Bits>()) as u64 * u64::from(p.segments);
        scratch = p.scratch.wrapping_add((number * bytes) as usize);
        segments.first = cut(part);
        let end = (u64::from(cut(part + 1)) * p.run).min(segments.slices.1);
        segments.slices = (u64::from(segments.first) * p.run, end);
    }
    let beside = p.has(flags::SEVERAL_SEGMENTS);
    let first = if beside {
        buffers::<S, E, K, M, N>()
    } else {
        0
    };
    let totals = Totals::<S::Bits, E> {
        shared: Shared::at_byte(first as u32),
        beside,
        scratch,
        segments: p.segments,
    };
    // SAFETY: as the caller's; all threads of the block have the same tile and part.
    unsafe {
        sum::<S, E, K, M, N>(p, coord, segments, totals);
        if is_alone {
            thread::sync_threads();
        } else if !is_last(p.counters.wrapping_add(number as usize), splits) {
            return;
        }
        write::<S, E, THREADS, M, N>(p, coord, totals);
    }
}

/// Returns the slices of `k` steps. The last block is padded.
#[inline(always)]
fn slice_count<S: Sums<M, N>, const K: usize, const M: usize, const N: usize>(k: u64) -> u64 {
    let per_block = if S::BLOCK > K { S::BLOCK / K } else { 1 } as u64;
    k.div_ceil(steps::<S, K, M, N>() as u64 * per_block) * per_block
}

/// The segments that a block sums.
#[derive(Clone, Copy)]
struct Segments {
    /// The number of the first one.
    first: u32,
    /// The first slice, and the end.
    slices: (u64, u64),
}

/// Where the sums of the segments that are done are.
#[derive(Clone, Copy)]
struct Totals<B, const E: usize> {
    /// In shared memory, the total of each element.
    shared: Shared<B>,
    /// Whether that is beside the slices, not in their place.
    beside: bool,
    /// In scratch memory, the sum of each element for each segment; null if the block has all segments of its tile.
    scratch: *mut u8,
    segments: u32,
}

impl<B: Total, const E: usize> Totals<B, E> {
    /// Returns where the sum of an element for a segment is in scratch memory.
    #[inline(always)]
    fn at(&self, segment: u32, i: u32, j: u32) -> *mut u8 {
        let element = (segment as usize * E + i as usize) * E + j as usize;
        self.scratch.wrapping_add(element * size_of::<B>())
    }

    /// Adds the sums of a segment of a thread. `is_first`: there is no total yet.
    ///
    /// # Safety
    /// All threads of the block must make this call.
    #[inline(always)]
    unsafe fn add<S: Sums<M, N, Bits = B>, const M: usize, const N: usize>(
        &self,
        sums: &S,
        segment: u32,
        is_first: bool,
    ) {
        if self.scratch.is_null() && !self.beside {
            thread::sync_threads();
        }
        let tile = thread_tile::<S::Word, E, M, N>();
        unroll!(i in 0..M => {
            let row = tile.row + index::<S::Word>(i, M, tile.row_stride);
            unroll!(j in 0..N => {
                let column = tile.column + index::<S::Word>(j, N, tile.column_stride);
                if self.scratch.is_null() {
                    let at = row * pitch(E) as u32 + column;
                    let before = if is_first { B::default() } else { self.shared.load(at) };
                    self.shared.store(at, S::plus(before, sums.sum(i, j)));
                } else {
                    sums.sum(i, j).store(self.at(segment, row, column));
                }
            });
        });
    }

    /// Returns the total of an element.
    ///
    /// # Safety
    /// All segments must have been added, and a barrier passed.
    #[inline(always)]
    unsafe fn get<S: Sums<M, N, Bits = B>, const M: usize, const N: usize>(
        &self,
        i: u32,
        j: u32,
    ) -> B {
        if self.scratch.is_null() {
            return self.shared.load(i * pitch(E) as u32 + j);
        }
        let mut total = B::default();
        for segment in 0..self.segments {
            total = S::plus(total, B::load_relaxed(self.at(segment, i, j)));
        }
        total
    }
}

/// Returns the part of an operand that belongs to a tile. `row` is its first row there, of `rows` in all.
#[inline(always)]
fn operand(
    (p, steps): (*const u8, [i64; 3]),
    (row, rows): (u64, u64),
    (k, item): (u64, u64),
    extent: usize,
) -> Operand {
    Operand {
        p: at(at(at(p, item, steps[2]), row, steps[0]), k, steps[1]),
        row_step: steps[0],
        k_step: steps[1],
        extent: (rows - row).min(extent as u64) as u32,
        along_k: false,
        packs: false,
        words: false,
    }
}

/// Returns the loaders of A and B of a thread, at step `k` of a tile.
#[inline(always)]
fn loaders<T, const E: usize, const K: usize>(
    p: &Product,
    coord: TileCoord,
    k: u64,
) -> (Loader<T, E, K>, Loader<T, E, K>) {
    let (i, j) = first_of(coord, E);
    let a = Operand {
        along_k: p.has(flags::A_ALONG_K),
        packs: p.has(flags::A_PACKS),
        words: p.has(flags::A_WORDS),
        ..operand((p.a, p.a_steps), (i, p.m), (k, coord.item), E)
    };
    let b = Operand {
        along_k: p.has(flags::B_ALONG_K),
        packs: p.has(flags::B_PACKS),
        words: p.has(flags::B_WORDS),
        ..operand((p.b, p.b_steps), (j, p.n), (k, coord.item), E)
    };
    let thread = thread::thread_idx_x();
    (Loader::new(thread, a), Loader::new(thread, b))
}

/// Returns the thread tile of a thread, as in `gemm`: two adjacent lanes share columns of B, and every second lane shares
/// rows of A, so that a 16-byte access of the warp takes two transactions instead of four.
#[inline(always)]
fn thread_tile<W: Vector, const E: usize, const M: usize, const N: usize>() -> ThreadTile {
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let across = (E / (WARP.1 * N)) as u32;
    let (row, column) = (lane & 1 | lane >> 4 << 1, lane >> 1 & 7);
    let width = |n: usize| (W::WIDTH as usize).min(n) as u32;
    ThreadTile {
        row: warp / across * (WARP.0 * M) as u32 + row * width(M),
        column: warp % across * (WARP.1 * N) as u32 + column * width(N),
        row_stride: WARP.0 as u32,
        column_stride: WARP.1 as u32,
    }
}

/// Sums the segments of a block. While it computes with a slice, it loads the next one.
///
/// # Safety
/// As [`product`].
#[inline(always)]
unsafe fn sum<S: Sums<M, N>, const E: usize, const K: usize, const M: usize, const N: usize>(
    p: &Product,
    coord: TileCoord,
    segments: Segments,
    totals: Totals<S::Bits, E>,
) where
    S::Word: OfBits,
{
    let slice = Loader::<S::Element, E, K>::SLICE;
    let steps = steps::<S, K, M, N>() as u64;
    let (from, to) = segments.slices;
    let (mut a, mut b) = loaders::<S::Element, E, K>(p, coord, from * steps);
    // The steps of k from the next slice on, and the slice after the last of the segment.
    let (mut left, mut end) = (p.k - (from * steps).min(p.k), from + p.run);
    let (mut next, mut segment, mut buffer) = (from, segments.first, 0);
    let mut sums = S::zero();
    loop {
        let more = next < to;
        let mut words = ([0; 4], [0; 4]);
        if more {
            words = (a.load(left), b.load(left));
            left -= left.min(steps);
        }
        if next > from {
            let slices = Shared::at_byte(0).skip((buffer ^ 1) * 2 * slice);
            add_slice::<S, E, K, M, N>(p, &mut sums, (slices, slices.skip(slice)));
            if S::BLOCK > 0 && (next as u32 * K as u32).is_multiple_of(S::BLOCK as u32) {
                sums.end_block();
            }
            if next == end || !more {
                totals.add(&sums, segment, segment == segments.first);
                sums = S::zero();
                (segment, end) = (segment + 1, end + p.run);
            }
        }
        if !more {
            return;
        }
        let slices = Shared::at_byte(0).skip(buffer * 2 * slice);
        a.store::<S::Word>(words.0, slices);
        b.store::<S::Word>(words.1, slices.skip(slice));
        thread::sync_threads();
        (next, buffer) = (next + 1, buffer ^ 1);
    }
}

/// Adds the products of slices of A and B in shared memory.
///
/// # Safety
/// The slices must have been written.
#[inline(always)]
unsafe fn add_slice<
    S: Sums<M, N>,
    const E: usize,
    const K: usize,
    const M: usize,
    const N: usize,
>(
    p: &Product,
    sums: &mut S,
    (a, b): (Shared<S::Word>, Shared<S::Word>),
) {
    let tile = thread_tile::<S::Word, E, M, N>();
    let (a, b) = (a.skip(tile.row), b.skip(tile.column));
    let pitch = Loader::<S::Element, E, K>::PITCH;
    let fragments = |k: usize| {
        let (a, b) = (a.skip(k as u32 * pitch), b.skip(k as u32 * pitch));
        (
            fragment::<S::Word, M>(a, WARP.0 as u32),
            fragment::<S::Word, N>(b, WARP.1 as u32),
        )
    };
    if S::HAS_SECOND && p.has(flags::SECOND_TYPE) {
        unroll!(k in 0..K => {
            let (a, b) = fragments(k);
            sums.add::<true>(&a, &b);
        });
    } else {
        unroll!(k in 0..K => {
            let (a, b) = fragments(k);
            sums.add::<false>(&a, &b);
        });
    }
}

/// Writes a tile of C.
///
/// # Safety
/// As [`Totals::get`], and as for the kernels.
#[inline(always)]
unsafe fn write<
    S: Sums<M, N>,
    const E: usize,
    const THREADS: usize,
    const M: usize,
    const N: usize,
>(
    p: &Product,
    coord: TileCoord,
    totals: Totals<S::Bits, E>,
) {
    let first = first_of(coord, E);
    let c = at(p.c, coord.item, p.c_steps[2]);
    let mut element = thread::thread_idx_x();
    // `opaque` hides the bound from the compiler, which would unroll the loop into much code.
    while element < thread::opaque((E * E) as u32) {
        no_unroll();
        let (far, near) = (element / E as u32, element % E as u32);
        let (i, j) = if p.has(flags::C_ALONG_M) {
            (near, far)
        } else {
            (far, near)
        };
        let (row, column) = (first.0 + i as u64, first.1 + j as u64);
        if row < p.m && column < p.n {
            let total = if p.k > 0 {
                Some(totals.get::<S, M, N>(i, j))
            } else {
                None
            };
            let c = at(at(c, row, p.c_steps[0]), column, p.c_steps[1]);
            S::write(p, (row, column), c.cast_mut(), total);
        }
        element += THREADS as u32;
    }
}
