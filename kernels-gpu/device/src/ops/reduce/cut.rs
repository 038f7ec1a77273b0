//! The rows of a reduction, how they are cut for groups and blocks, and the layout of shared memory.

use super::pass::Pass;
use super::walk::{GROUP, Source};
use crate::gpu::Vector;
use crate::memory::Memory;

/// Groups per block.
pub(super) const GROUPS: u32 = 16;
/// Parts that a thread of a row's last block combines.
pub(super) const PARTS_PER_THREAD: u32 = 8;

/// The layout of shared memory, in bytes from its start: the results of the groups, ...
pub(crate) const RESULTS: u32 = 0;
/// ... flags, whether the block is the last to finish a row, ...
pub(crate) const LAST: u32 = RESULTS + GROUPS * 16;
/// ... the rows' results of the previous pass, ...
pub(super) const KNOWN: u32 = LAST + GROUPS * 4;
/// ... the digits of the groups' binary counters, ...
pub(super) const DIGITS: u32 = KNOWN + GROUPS * 8;
/// ... and after them ([`exchange_at`]) the exchange area of columns: this many values, 16 rows of 16, each padded by
/// one value against bank conflicts.
pub(super) const EXCHANGE: u32 = GROUPS * (GROUP + 1);

/// The rows of a reduction.
#[derive(Clone, Copy)]
pub struct Rows<M: Memory> {
    /// The number of rows.
    pub m: u64,
    /// Elements per row.
    pub n: u64,
    /// The first row.
    pub source: Source<M>,
    /// Stride from one row to the next in the first array; all rows share the second array.
    pub rs: i64,
}

impl<M: Memory> Rows<M> {
    /// Returns whether all rows are contiguous and aligned, and so can be loaded as packs.
    #[inline(always)]
    pub(crate) fn are_packed<P: Pass<M::Number>>(&self) -> bool {
        let s = &self.source;
        let mut bits = s.x.addr();
        let mut contiguous = s.x_inc == 1;
        if self.m > 1 {
            bits |= (self.rs as usize).wrapping_mul(size_of::<M>());
        }
        if P::PAIR {
            bits |= s.y.addr();
            contiguous &= s.y_inc == 1;
        }
        if P::WRITES {
            bits |= s.out.addr();
        }
        contiguous && bits.is_multiple_of(M::Number::WIDTH as usize * size_of::<M>())
    }
}

/// How rows are distributed over groups and blocks. A row has as many parts as the grid has blocks along y; a block's y
/// is its part.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// log2 of the groups in a block that share a row. It must be 4 if a row has several parts, and 0 for columns.
    pub team: u32,
    /// log2 of the chunks in a group's run.
    pub run: u32,
    /// The first pass of this launch ...
    pub first: u32,
    /// ... and the end of its passes (exclusive). A launch may run several passes only if a row has one part.
    pub end: u32,
    /// Room for a value of each part of each row, and behind these for [`known_bytes`](super::known_bytes) of each row.
    pub scratch: *mut u8,
    /// A counter for each row.
    pub counters: *mut u32,
}

/// Returns the greatest number of parts of a row.
pub const fn max_parts(columns: bool) -> u32 {
    PARTS_PER_THREAD * GROUP * if columns { 1 } else { GROUPS }
}

/// Returns the bytes of shared memory that a block needs for runs of 2^run chunks and values of `value` bytes.
pub const fn shared_bytes(columns: bool, run: u32, value: u32) -> u32 {
    let exchange = if columns { EXCHANGE } else { 0 };
    exchange_at(run, value) + exchange * value
}

/// Returns the offset of the exchange area in shared memory, in bytes.
pub(crate) const fn exchange_at(run: u32, value: u32) -> u32 {
    DIGITS + (run + 1) * GROUPS * value
}
