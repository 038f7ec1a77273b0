//! Reductions of integers. Results are exact modulo 2^64, so that the order of elements makes no difference; an index is that
//! of the first of several equal elements.
//!
//! ```text
//! for each group of results that a block has:
//!     for each thread of a result: fold its elements of the part
//!     combine the threads of the result in shared memory
//!     if a result has several parts, a block each:
//!         store the part to scratch memory
//!         the last block to finish combines all parts
//! ```
//!
//! The threads of a block that share a result read adjacent elements of it or, where adjacent results lie closer together in
//! memory, adjacent threads have adjacent results.

use super::{Integer, packed_log};
use crate::gpu::parameters::{INT, Reduction, Type};
use crate::gpu::value::Value;
use crate::gpu::{Bits, no_unroll, thread, unroll, words};
use crate::ops::gemm::is_last;

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Bytes of shared memory of a block: the totals of its threads, and their indices.
pub const SHARED: u32 = 2 * INDICES;
const INDICES: u32 = 8 * THREADS;
/// The most axes of the elements of a result.
pub const RANK: usize = 8;
/// Elements of a part are a multiple of this: whole packs.
pub const GRAIN: u64 = 128;

/// The total of some elements, and for an index that of the first element that is the total.
#[derive(Clone, Copy)]
struct Found {
    total: i64,
    index: i64,
}

impl Found {
    /// That of no elements: an index behind all others.
    const fn none(total: i64) -> Self {
        Self {
            total,
            index: i64::MAX,
        }
    }

    #[inline(always)]
    unsafe fn read_shared(thread: u32) -> Self {
        Self {
            total: i64::read_shared(0, THREADS, thread),
            index: i64::read_shared(INDICES, THREADS, thread),
        }
    }

    #[inline(always)]
    unsafe fn write_shared(self, thread: u32) {
        self.total.write_shared(0, THREADS, thread);
        self.index.write_shared(INDICES, THREADS, thread);
    }

    #[inline(always)]
    unsafe fn read_scratch(array: *const u8, i: u64) -> Self {
        Self {
            total: i64::read_scratch(array, 2 * i),
            index: i64::read_scratch(array, 2 * i + 1),
        }
    }

    #[inline(always)]
    unsafe fn write_scratch(self, array: *mut u8, i: u64) {
        self.total.write_scratch(array, 2 * i);
        self.index.write_scratch(array, 2 * i + 1);
    }
}

/// A fold.
trait Fold {
    /// The total of no elements.
    const START: i64;
    /// Whether the result is an index.
    const FINDS: bool = false;

    /// Returns what an element adds to a total.
    #[inline(always)]
    fn of(element: i64) -> i64 {
        element
    }

    /// Returns the total of two.
    fn both(a: i64, b: i64) -> i64;

    /// Adds an element behind those before.
    #[inline(always)]
    fn add(found: Found, element: i64, index: u64) -> Found {
        let total = Self::both(found.total, Self::of(element));
        let is_new = Self::FINDS && (total != found.total || found.index == i64::MAX);
        Found {
            total,
            index: if is_new { index as i64 } else { found.index },
        }
    }

    /// Joins two of any elements.
    #[inline(always)]
    fn join(a: Found, b: Found) -> Found {
        let total = Self::both(a.total, b.total);
        let index = match (total == a.total, total == b.total) {
            _ if !Self::FINDS => a.index,
            (true, true) => a.index.min(b.index),
            (true, false) => a.index,
            _ => b.index,
        };
        Found { total, index }
    }
}

/// Defines the folds, and calls one by its number.
macro_rules! folds {
    ($($(#[$doc:meta])* $Name:ident = $start:expr, |$element:ident| $of:expr, |$a:ident, $b:ident| $both:expr, finds $finds:literal;)*) => {
        /// A fold, as the kernel takes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Kind {
            $($(#[$doc])* $Name,)*
        }

        $(
            struct $Name;
            impl Fold for $Name {
                const START: i64 = $start;
                const FINDS: bool = $finds;
                #[inline(always)]
                fn of($element: i64) -> i64 {
                    $of
                }
                #[inline(always)]
                fn both($a: i64, $b: i64) -> i64 {
                    $both
                }
            }
        )*

        /// Reduces the elements of some results.
        ///
        /// Blocks have 256 threads; those along x loop over the results, and those along y are the parts of each. With several
        /// parts there must be a block along x for all results, with a counter for each block, and scratch memory for two
        /// numbers of 64 bits of each part of each result.
        ///
        /// # Safety
        /// The elements, the results and the scratch memory must be valid.
        #[inline(always)]
        pub unsafe fn fold<T>(p: Reduction) {
            match p.kind {
                $(kind if kind == Kind::$Name as u32 => results::<$Name>(&p),)*
                _ => {}
            }
        }
    };
}

folds! {
    /// The sum.
    Sum = 0, |x| x, |a, b| a.wrapping_add(b), finds false;
    /// The sum of the magnitudes.
    AbsSum = 0, |x| x.wrapping_abs(), |a, b| a.wrapping_add(b), finds false;
    /// The sum of the squares.
    SumSq = 0, |x| x.wrapping_mul(x), |a, b| a.wrapping_add(b), finds false;
    /// How many are not 0.
    Nonzero = 0, |x| i64::from(x != 0), |a, b| a.wrapping_add(b), finds false;
    /// The product.
    Product = 1, |x| x, |a, b| a.wrapping_mul(b), finds false;
    /// The least.
    Min = i64::MAX, |x| x, |a, b| a.min(b), finds false;
    /// The greatest.
    Max = i64::MIN, |x| x, |a, b| a.max(b), finds false;
    /// The index of the first that is the least.
    ArgMin = i64::MAX, |x| x, |a, b| a.min(b), finds true;
    /// The index of the first that is the greatest.
    ArgMax = i64::MIN, |x| x, |a, b| a.max(b), finds true;
}

/// The place of a thread among those that share the results of a block.
#[derive(Clone, Copy)]
struct Place {
    /// The result.
    result: u32,
    /// The thread, of those of the result.
    lane: u32,
    /// log2 of these.
    lanes: u32,
}

impl Place {
    #[inline(always)]
    fn new(p: &Reduction) -> Self {
        let (thread, lanes) = (thread::thread_idx_x(), THREADS.ilog2() - p.results);
        let (result, lane) = if p.across != 0 {
            (thread & ((1 << p.results) - 1), thread >> p.results)
        } else {
            (thread >> lanes, thread & ((1 << lanes) - 1))
        };
        Self {
            result,
            lane,
            lanes,
        }
    }

    /// Returns what all threads of the result have found; valid in its first thread.
    #[inline(always)]
    unsafe fn combine<F: Fold>(self, mut found: Found) -> Found {
        let at = |lane: u32| self.result << self.lanes | lane;
        let mut rest = 1 << self.lanes;
        while rest > 1 {
            no_unroll();
            found.write_shared(at(self.lane));
            thread::sync_threads();
            rest /= 2;
            if self.lane < rest {
                found = F::join(found, Found::read_shared(at(self.lane + rest)));
            }
            thread::sync_threads();
        }
        found
    }
}

/// Reduces the results of this block.
#[inline(always)]
unsafe fn results<F: Fold>(p: &Reduction) {
    let place = Place::new(p);
    let all = p.counts[0] * p.counts[1];
    let (part, parts) = (thread::block_idx_y(), thread::grid_dim_y());
    let from = u64::from(part) * p.part;
    let to = p.n.min(from + p.part);
    let mut base = u64::from(thread::block_idx_x()) << p.results;
    while base < all {
        no_unroll();
        let number = base + u64::from(place.result);
        let is_there = number < all;
        let (matrix, row) = if is_there {
            divided(number, p.counts[0])
        } else {
            (0, 0)
        };
        let of = |steps: [i64; 2]| (row as i64 * steps[0] + matrix as i64 * steps[1]) as isize;
        let mut found = Found::none(F::START);
        if is_there {
            let x = p.x.wrapping_offset(of(p.x_steps));
            found = elements::<F>(p, x, (from, to), place);
        }
        found = place.combine::<F>(found);
        let writes = is_there && place.lane == 0;
        if parts > 1 {
            let first = number * u64::from(parts);
            if writes {
                found.write_scratch(p.scratch, first + u64::from(part));
            }
            if !is_last(
                p.counters.wrapping_add(thread::block_idx_x() as usize),
                parts,
            ) {
                return;
            }
            found = Found::none(F::START);
            let mut part = place.lane;
            while is_there && part < parts {
                no_unroll();
                found = F::join(
                    found,
                    Found::read_scratch(p.scratch, first + u64::from(part)),
                );
                part += 1 << place.lanes;
            }
            // All threads have read whether the block is the last one, which lies where totals will.
            thread::sync_threads();
            found = place.combine::<F>(found);
        }
        if writes {
            let result = if F::FINDS { found.index } else { found.total };
            write(p.to, p.out.wrapping_offset(of(p.out_steps)), result as u64);
        }
        base += u64::from(thread::grid_dim_x()) << p.results;
    }
}

/// Folds this thread's elements, of those from `from` to `to` of a result whose elements begin at `x`.
#[inline(always)]
unsafe fn elements<F: Fold>(
    p: &Reduction,
    x: *const u8,
    (from, to): (u64, u64),
    place: Place,
) -> Found {
    let lanes = 1 << place.lanes;
    let mut found = Found::none(F::START);
    let mut done = from;
    let step = p.steps[RANK - 1];
    let size = i64::from(p.of.bits / 8);
    let is_row = p.rank < 2;
    if is_row && step == size && p.across == 0 {
        let first = x.wrapping_offset((from as i64 * size) as isize);
        if first.addr().is_multiple_of(16) {
            let log = packed_log(p.of);
            let packs = (to - from) >> log;
            done += packs << log;
            let mut i = u64::from(place.lane);
            while i < packs {
                no_unroll();
                let pack = words::load_four(first.cast::<u32>().wrapping_add(4 * i as usize));
                found = add_pack::<F>(p.of, found, pack, from + (i << log));
                i += lanes;
            }
        }
    }
    let mut i = done + u64::from(place.lane);
    while i < to {
        no_unroll();
        let at = if is_row {
            i as i64 * step
        } else {
            offset(p, i)
        };
        found = F::add(found, load(p.of, x.wrapping_offset(at as isize)), i);
        i += lanes;
    }
    found
}

/// Adds the elements of 16 bytes, of which the first has this index.
#[inline(always)]
unsafe fn add_pack<F: Fold>(of: Type, found: Found, pack: [u32; 4], first: u64) -> Found {
    #[inline(always)]
    fn each<F: Fold, T: Integer>(mut found: Found, pack: [u32; 4], first: u64) -> Found {
        if T::BITS == 64 {
            unroll!(half in 0..2 => {
                let bits = u64::from(pack[2 * half + 1]) << 32 | u64::from(pack[2 * half]);
                found = F::add(found, T::of_bits(bits).wide(), first + half as u64);
            });
        } else {
            let lanes = (32 / T::BITS) as usize;
            unroll!(word in 0..4 => unroll!(lane in 0..lanes => {
                let element = T::of_bits(u64::from(pack[word] >> (lane as u32 * T::BITS)));
                found = F::add(found, element.wide(), first + (word * lanes + lane) as u64);
            }));
        }
        found
    }
    match (of.bits, of.code) {
        (8, INT) => each::<F, i8>(found, pack, first),
        (8, _) => each::<F, u8>(found, pack, first),
        (32, _) => each::<F, i32>(found, pack, first),
        _ => each::<F, i64>(found, pack, first),
    }
}

/// Returns the quotient and the remainder; `b` is not 0.
#[inline(always)]
fn divided(a: u64, b: u64) -> (u64, u64) {
    // A division of 64 bits takes several times as long. A division by 0 would be a panic.
    let quotient = if (a | b) >> 32 == 0 {
        u64::from((a as u32).checked_div(b as u32).unwrap_or(0))
    } else {
        a.checked_div(b).unwrap_or(0)
    };
    (quotient, a - quotient * b)
}

/// Returns the bytes from the first element to element `i` in row-major order.
#[inline(always)]
fn offset(p: &Reduction, mut i: u64) -> i64 {
    let mut bytes = 0;
    unroll!(from_last in 0..RANK => {
        let axis = RANK - 1 - from_last;
        if (from_last as u32) < p.rank {
            let (rest, index) = divided(i, p.axes[axis]);
            bytes += index as i64 * p.steps[axis];
            i = rest;
        }
    });
    bytes
}

/// Loads an element.
#[inline(always)]
unsafe fn load(of: Type, p: *const u8) -> i64 {
    match (of.bits, of.code) {
        (8, INT) => i8::of_bits(<u8 as Bits>::load(p)).wide(),
        (8, _) => u8::of_bits(<u8 as Bits>::load(p)).wide(),
        (32, _) => i32::of_bits(<u32 as Bits>::load(p.cast())).wide(),
        _ => i64::of_bits(<u64 as Bits>::load(p.cast())),
    }
}

/// Writes a result modulo 2^bits.
#[inline(always)]
unsafe fn write(to: Type, p: *mut u8, bits: u64) {
    match to.bits {
        8 => <u8 as Bits>::store(p, bits),
        32 => <u32 as Bits>::store(p.cast(), bits),
        _ => <u64 as Bits>::store(p.cast(), bits),
    }
}
