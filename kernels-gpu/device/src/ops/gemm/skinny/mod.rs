//! Products with few columns and a long k, which read A once.
//!
//! A block owns [`ROWS`] rows of C for each lane of a team, and [`COLUMNS`] columns. Its teams, of 8 or 16 lanes, take one
//! segment of k each, a round of as many segments as there are teams; then the sums of the round are added to the
//! totals in the order of the segments, through shared memory. So a few rows keep a multiprocessor busy without
//! scratch memory in global memory.
//!
//! A lane needs all steps of its own rows. If A is read along k, two neighbours load 32 contiguous bytes of each other's
//! rows and exchange packs by shuffles. A team's lanes load a chunk of B together and keep it in shared memory.
//!
//! Memory: A is read once for 8 columns, B once for each block. Work: an element of A takes 8 fma and half of the 32
//! (f64: 64) bytes of B that its step of k loads from shared memory.

mod operands;

use super::write_back::{Output, WriteBack};
use super::{KSEG, Product, TileCoord, flags};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, no_unroll, thread, unroll};
use crate::real::Real;
use operands::Operands;

/// Columns of a block.
pub const COLUMNS: usize = 8;
/// Rows of a thread: its lane's number, and that many lanes further.
pub const ROWS: usize = 2;
/// Threads of a block.
pub const THREADS: u32 = 512;

/// Returns the elements of shared memory of a team of `lanes` lanes: its sums of one of the rows of each lane, and before
/// these its chunk of B, which is no larger. The padding lets teams of a warp use different banks.
const fn pitch<T: Real>(lanes: u32) -> u32 {
    lanes * COLUMNS as u32 + T::WIDTH
}

/// Returns the bytes of shared memory of a block with teams of `lanes` lanes.
pub const fn shared<T: Real>(lanes: u32) -> u32 {
    THREADS / lanes * pitch::<T>(lanes) * size_of::<T>() as u32
}

/// A thread's place: the number of its team and its lane there, of `lanes`.
#[derive(Clone, Copy)]
struct Place {
    team: u32,
    lane: u32,
    lanes: u32,
}

impl Place {
    #[inline(always)]
    fn new(thread: u32, lanes: u32) -> Self {
        Self {
            team: thread / lanes,
            lane: thread % lanes,
            lanes,
        }
    }
}

/// The sums of a round, in shared memory: of each of `teams` teams, which begin at segment `first`, one for each lane
/// and column. The thread with the number of such a sum adds those of all teams to C.
struct Round<'p, T> {
    product: &'p Product<T>,
    lanes: u32,
    first: u64,
    teams: u32,
}

impl<T: Real> Round<'_, T> {
    /// Adds the sums to C.
    ///
    /// # Safety
    /// All threads of the block must make this call, and no chunk in shared memory may be needed any more.
    #[inline(always)]
    unsafe fn add(&self, sums: &[[T; COLUMNS]; ROWS]) {
        // Computed again here, so that it occupies no registers in the loop over k.
        let place = Place::new(thread::opaque(thread::thread_idx_x()), self.lanes);
        let Place { team, lane, lanes } = place;
        let shared = Shared::at_byte(0).skip(team * pitch::<T>(lanes) + lane);
        unroll!(number in 0..ROWS => {
            // SAFETY: as the caller's. The barriers separate the stores from the loads of other threads, and those from
            // what is stored next.
            unsafe {
                if team < self.teams {
                    unroll!(column in 0..COLUMNS => {
                        shared.store(column as u32 * lanes, sums[number][column]);
                    });
                }
                thread::sync_threads();
                self.add_teams(number as u32);
                thread::sync_threads();
            }
        });
    }

    /// Adds the sums of all teams to the thread's element of C, if it has one, for row `number` of each lane.
    ///
    /// # Safety
    /// The sums must be in shared memory, and C and the bias be valid.
    #[inline(always)]
    unsafe fn add_teams(&self, number: u32) {
        let (product, lanes) = (self.product, self.lanes);
        let thread = thread::opaque(thread::thread_idx_x());
        // Computed again here, so that it occupies no registers in the loop over k.
        let output = output(product, thread::opaque(thread::block_idx_x()), lanes);
        let (i, j) = (thread % lanes + number * lanes, thread / lanes);
        if j >= COLUMNS as u32 || !output.has(i, j) {
            return;
        }
        let how = |beta| WriteBack {
            alpha: product.alpha,
            beta,
            last: false,
        };
        let shared = Shared::at_byte(0).skip(thread);
        let beta = if self.first == 0 {
            product.beta
        } else {
            T::ONE
        };
        let mut total = output.begin(shared.load(0), how(beta), i, j);
        let mut team = 1;
        while team < self.teams {
            no_unroll();
            let sum = shared.load(team * pitch::<T>(lanes));
            total = Vector::fma(product.alpha, sum, total);
            team += 1;
        }
        if (self.first + self.teams as u64) * KSEG as u64 >= product.k {
            total = output.epilogue(total, i, j);
        }
        T::store(output.at(i, j), total);
    }
}

/// Returns the coordinates of block `block` of a product.
#[inline(always)]
fn coordinates<T: Real>(p: &Product<T>, block: u32) -> TileCoord {
    // Never 0, but the compiler does not know that: without `max` it would keep a panic.
    let groups = (p.n.div_ceil(COLUMNS as u64) as u32).max(1);
    TileCoord {
        row: block / groups,
        column: block % groups,
        ..TileCoord::new(0, 1, 1)
    }
}

/// Returns the part of C of block `block`.
#[inline(always)]
fn output<T: Real>(p: &Product<T>, block: u32, lanes: u32) -> Output<T> {
    p.output(coordinates(p, block), ROWS as u32 * lanes, COLUMNS as u32)
}

/// The body of the kernel; see [`few_columns`](super::few_columns).
///
/// # Safety
/// As for the kernel.
#[inline(always)]
pub(super) unsafe fn body<T: Real>(p: &Product<T>, lanes: u32) {
    // 8 or 16, but the compiler does not know that it is not 0.
    let lanes = lanes.max(1);
    let number = thread::thread_idx_x();
    let place = Place::new(number, lanes);
    let at = coordinates(p, thread::block_idx_x());
    if at.item >= p.batch {
        return;
    }
    let Output { rows, columns, .. } = output(p, thread::block_idx_x(), lanes);
    let part = |(p, along, k, batch): (*const T, i64, i64, i64), first: u64| {
        let offset = at.item as isize * batch as isize + first as isize * along as isize;
        (p.wrapping_offset(offset), along as isize, k as isize)
    };
    let operands = Operands {
        a: part(p.a, at.row as u64 * (ROWS as u32 * lanes) as u64),
        b: part(p.b, at.column as u64 * COLUMNS as u64),
        rows,
        columns,
        packs: p.has(flags::A_ALONG_K) && p.has(flags::A_PACKS),
        place,
        shared: Shared::at_byte(0).skip(place.team * pitch::<T>(lanes)),
    };
    let steps_of = |segment: u64| {
        let left = p.k - (segment * KSEG as u64).min(p.k);
        left.min(KSEG as u64) as u32
    };
    let teams = THREADS / lanes;
    let segments = p.k.div_ceil(KSEG as u64);
    let mut first = 0;
    // SAFETY: as the caller's; all threads of the block do the same rounds.
    unsafe {
        while first < segments {
            let segment = first + place.team as u64;
            let of_warp = first + (number / 32 * 32 / lanes) as u64;
            let start = segment * KSEG as u64;
            let sums = operands.segment(start, steps_of(segment), steps_of(of_warp));
            Round {
                product: p,
                lanes,
                first,
                teams: (segments - first).min(teams as u64) as u32,
            }
            .add(&sums);
            first += teams as u64;
        }
    }
}
