//! What is reduced, how it is cut, and where a block keeps what in shared memory.

use super::lanes::{GROUP, Source};
use super::pass::Pass;
use crate::real::Real;

/// Groups of a block.
pub(super) const GROUPS: u32 = 16;
/// Parts that a thread of the last block folds.
pub(super) const PARTS_PER_THREAD: u32 = 8;

/// Shared memory, in bytes from its start: the results of groups, ...
pub(crate) const RESULTS: u32 = 0;
/// ... which of them are the last of their row, ...
pub(crate) const LAST: u32 = RESULTS + GROUPS * 16;
/// ... what is known of rows between passes, ...
pub(super) const KNOWN: u32 = LAST + GROUPS * 4;
/// ... the digits of the groups' counters, ...
pub(super) const DIGITS: u32 = KNOWN + GROUPS * 8;
/// ... and, behind those, the lanes of 16 rows: a value more a row, against bank conflicts.
pub(super) const EXCHANGE: u32 = GROUPS * (GROUP + 1);

/// Rows that are reduced.
#[derive(Clone, Copy)]
pub struct Rows<T> {
    /// How many rows.
    pub m: u64,
    /// Elements of each.
    pub n: u64,
    /// The first row.
    pub source: Source<T>,
    /// Elements from one row to the next, in the first array; the second is the same for all.
    pub rs: i64,
}

impl<T: Real> Rows<T> {
    /// Whether all rows are contiguous and multiples of 16.
    #[inline(always)]
    pub(crate) fn are_packed<P: Pass<T>>(&self) -> bool {
        let s = &self.source;
        let mut bits = s.x.addr();
        let mut contiguous = s.x_inc == 1;
        if self.m > 1 {
            bits |= (self.rs as usize).wrapping_mul(size_of::<T>());
        }
        if P::PAIR {
            bits |= s.y.addr();
            contiguous &= s.y_inc == 1;
        }
        if P::WRITES {
            bits |= s.out.addr();
        }
        contiguous && bits.is_multiple_of(16)
    }
}

/// How rows are cut into the work of groups and blocks. A block's y is its part of the row.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// log2 of the groups that share a row in a block: 4 where it has several parts, 0 for columns.
    pub team: u32,
    /// log2 of the chunks that a group walks.
    pub run: u32,
    /// The passes from this one ...
    pub first: u32,
    /// ... up to before this one. Several passes at once only where a row has one part.
    pub end: u32,
    /// For each row a value of each part.
    pub scratch: *mut u8,
    /// One for each row.
    pub counters: *mut u32,
}

/// The most parts of a row.
pub const fn max_parts(columns: bool) -> u32 {
    PARTS_PER_THREAD * GROUP * if columns { 1 } else { GROUPS }
}

/// Bytes of shared memory that a block needs for runs of 2^run chunks, of values of so many bytes.
pub const fn shared_bytes(columns: bool, run: u32, value: u32) -> u32 {
    let exchange = if columns { EXCHANGE } else { 0 };
    exchange_at(run, value) + exchange * value
}

/// Where the lanes of 16 rows are in shared memory.
pub(crate) const fn exchange_at(run: u32, value: u32) -> u32 {
    DIGITS + (run + 1) * GROUPS * value
}
