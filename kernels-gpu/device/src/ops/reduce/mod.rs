//! Reductions of rows in the canonical order ("CANONICAL ORDERS" in `include/diptych.h`), along either axis of memory.
//! A group of 16 threads (half a warp) reduces one chunk of 8 KiB at a time; a block has 16 groups. 2^team groups, a
//! team, share a row, which may be cut into parts for several blocks:
//!
//! ```text
//! for each pass of the recipe:                        # most reductions have one
//!     for each part of a row, a block each:
//!         for each group of the team: its run of 2^run chunks
//!             for each chunk: fold it (`lanes`), and push the result to a binary counter
//!             combine the digits of the counter
//!         combine the groups of the team, pairwise
//!     if there are several parts:
//!         store the result to scratch memory
//!         the last block of the row to finish combines all parts, pairwise
//!     the known value = what the recipe makes of the result
//! out = the known value after the last pass
//! ```
//!
//! How rows are cut ([`Cut`]) changes no bit of a result: every run, team and part is a whole subtree of the tree over
//! chunks.
//!
//! The layout "columns" is for matrices whose row stride is smaller than the column stride (column-major storage, or
//! the columns of a row-major matrix): the 16 threads of a group load elements of 16 adjacent rows, for coalesced
//! accesses, and exchange the results through shared memory.
//!
//! Memory: every element is read once per pass. Work: 4 to 25 instructions per element; at 4.8 TB/s there is time for
//! about 24 instructions per 4 bytes.

mod counter;
mod cut;
mod lanes;
mod layouts;
mod operation;
mod pass;
mod value;
mod walk;

use crate::gpu::shared::Shared;
use crate::gpu::value::Value;
use crate::gpu::{atomic, global, no_unroll, thread, warp};
use crate::memory::Memory;
use crate::unroll::unroll;
pub(crate) use counter::{drain, push};
pub use cut::{Cut, Rows, max_parts, shared_bytes};
use cut::{GROUPS, KNOWN, PARTS_PER_THREAD};
pub(crate) use cut::{LAST, RESULTS, exchange_at};
use diptych::Element;
pub(crate) use lanes::{chunk, chunk_len};
pub use layouts::*;
pub use operation::*;
pub use pass::{FoldPass, Pass, SquaredError};
pub use value::IndexedValue;
use walk::GROUP;
pub use walk::Source;

/// Returns the bytes of scratch memory of each row beside its parts; see [`Memory::KNOWN_BYTES`].
pub const fn known_bytes<M: Memory, O: Operation<M::Number>>() -> u32 {
    if O::PASSES > 1 { M::KNOWN_BYTES } else { 0 }
}

/// Returns the number of this thread's group in the block, and the thread's index in the group.
#[inline(always)]
pub(crate) fn thread_in_group() -> (u32, u32) {
    let thread = thread::thread_idx_x();
    (thread / GROUP, thread % GROUP)
}

/// out\[i * inc_out\] = the reduction of row i. Blocks must have 256 threads.
///
/// # Safety
/// The rows and `out` must be valid, and the cut must be as [`Cut`] requires.
#[inline(always)]
pub unsafe fn fold<M: Memory, O: Operation<M::Number>, const COLUMNS: bool>(
    op: O,
    rows: Rows<M>,
    out: *mut O::Out,
    inc_out: i64,
    cut: Cut,
) {
    let per_block = (GROUPS >> cut.team) as u64;
    let mut base = thread::block_idx_x() as u64 * per_block;
    while base < rows.m {
        let (group, q) = thread_in_group();
        let own = base + (group >> cut.team) as u64;
        let mut block = Block {
            op,
            rows,
            out,
            inc_out,
            cut,
            own,
            loads: if COLUMNS { base + q as u64 } else { own },
            known: O::Out::default(),
            known_of_loads: O::Out::default(),
        };
        // SAFETY: as the caller's.
        unsafe {
            if cut.first > 0 {
                block.load_known();
            }
            block.pass::<O::First, COLUMNS>(0);
            if O::PASSES > 1 && block.needs_pass(1) {
                block.pass::<O::Second, COLUMNS>(1);
                if O::PASSES > 2 && block.needs_pass(2) {
                    block.pass::<O::Third, COLUMNS>(2);
                    if O::PASSES > 3 && block.needs_pass(3) {
                        block.pass::<O::Fourth, COLUMNS>(3);
                    }
                }
            }
        }
        base += thread::grid_dim_x() as u64 * per_block;
    }
}

/// A thread's state while its block reduces some rows.
struct Block<M: Memory, O: Operation<M::Number>> {
    op: O,
    rows: Rows<M>,
    out: *mut O::Out,
    inc_out: i64,
    cut: Cut,
    /// The row of this thread's group, and the row's result after the previous pass.
    own: u64,
    known: O::Out,
    /// The row whose elements this thread loads (another one for columns), and its result after the previous pass.
    loads: u64,
    known_of_loads: O::Out,
}

impl<M: Memory, O: Operation<M::Number>> Block<M, O> {
    fn out_at(&self, row: u64) -> *mut O::Out {
        M::result_at(self.rows.source.format, self.out, row as i64 * self.inc_out)
    }

    /// Returns where a pass leaves its result for the next launch.
    #[inline(always)]
    fn known_at(&self, row: u64) -> *mut O::Out {
        let bytes = known_bytes::<M, O>() as usize;
        if bytes == 0 {
            return self.out_at(row);
        }
        let parts = thread::grid_dim_y() as usize * O::VALUE_BYTES as usize;
        let at = self.rows.m as usize * parts + row as usize * bytes;
        self.cut.scratch.wrapping_add(at).cast()
    }

    /// Loads the results of the previous pass, which an earlier launch has stored.
    #[inline(always)]
    unsafe fn load_known(&mut self) {
        // SAFETY: the caller guarantees the results of the rows.
        unsafe {
            if self.own < self.rows.m {
                self.known = global::load(self.known_at(self.own));
            }
            if self.loads < self.rows.m {
                self.known_of_loads = global::load(self.known_at(self.loads));
            }
        }
    }

    /// Returns whether a row of the block needs this pass, unless it belongs to an earlier launch. All threads of the
    /// block must call it.
    #[inline(always)]
    unsafe fn needs_pass(&self, pass: u32) -> bool {
        if pass < O::USUAL_PASSES || pass < self.cut.first || pass >= self.cut.end {
            return pass < self.cut.end;
        }
        let (group, q) = thread_in_group();
        let needed = Shared::<u32>::at_byte(KNOWN);
        // SAFETY: each group writes only its own element, between barriers; whole warps shuffle.
        unsafe {
            thread::sync_threads();
            if q == 0 {
                let is_needed = self.own < self.rows.m && self.op.needs_pass(pass, self.known);
                needed.store(group, is_needed as u32);
            }
            thread::sync_threads();
            let mut any = needed.load(q);
            unroll!(level < 4, {
                any |= warp::shuffle_xor_u32(any, 1 << level);
            });
            any != 0
        }
    }

    /// Runs a pass, if it belongs to this launch.
    #[inline(always)]
    unsafe fn pass<P: Pass<M::Number, Value: Into<O::Value>>, const COLUMNS: bool>(
        &mut self,
        pass: u32,
    ) {
        if pass < self.cut.first || pass >= self.cut.end {
            return;
        }
        let (_, q) = thread_in_group();
        let member = self.member();
        let exists = self.own < self.rows.m;
        // SAFETY: as the caller's; every barrier is reached by the whole block.
        unsafe {
            let mut value = self.part::<P, COLUMNS>(pass);
            let mut mine = true;
            if thread::grid_dim_y() > 1 {
                (value, mine) = self.combine_parts::<P>(value, exists);
            }
            let out = self.out_at(self.own);
            let wanted = pass == 0 || self.op.needs_pass(pass, self.known);
            if pass + 1 == self.cut.end || pass + 1 == O::PASSES {
                if q == 0 && member == 0 && exists && mine {
                    let result = if wanted {
                        self.op
                            .after_pass(pass, self.known, value.into(), self.own, out)
                    } else {
                        self.known
                    };
                    M::put_result(self.rows.source.format, out, result);
                    if known_bytes::<M, O>() > 0 && pass + 1 < O::PASSES {
                        global::store(self.known_at(self.own), result);
                    }
                }
                return;
            }
            if wanted {
                self.known = self
                    .op
                    .after_pass(pass, self.known, value.into(), self.own, out);
                // The result, unless further passes are needed.
                if pass + 1 >= O::USUAL_PASSES && q == 0 && member == 0 && exists && mine {
                    M::put_result(self.rows.source.format, out, self.known);
                }
            }
            self.known_of_loads = self.known;
            if COLUMNS {
                self.exchange_known();
            }
        }
    }

    /// Returns the index of this thread's group in its team.
    #[inline(always)]
    fn member(&self) -> u32 {
        let (group, _) = thread_in_group();
        group & ((1 << self.cut.team) - 1)
    }

    /// Passes the result of each group's row to the threads that load that row.
    #[inline(always)]
    unsafe fn exchange_known(&mut self) {
        let (group, q) = thread_in_group();
        let known = Shared::<O::Out>::at_byte(KNOWN);
        // SAFETY: each group writes only its own element, between barriers.
        unsafe {
            if q == 0 {
                known.store(group, self.known);
            }
            thread::sync_threads();
            self.known_of_loads = known.load(q);
        }
    }

    /// Reduces the block's part of a row; the result is in every thread of the row's team.
    #[inline(always)]
    unsafe fn part<P: Pass<M::Number>, const COLUMNS: bool>(&self, pass: u32) -> P::Value {
        let Rows { m, n, .. } = self.rows;
        let wanted = self.loads < m && (pass == 0 || self.op.needs_pass(pass, self.known_of_loads));
        let param = if pass == 0 {
            M::Number::ZERO
        } else {
            self.op.pass_param(pass, self.known_of_loads)
        };
        let mut source = self.rows.source;
        source.x = source
            .x
            .wrapping_offset((self.loads as i64 * self.rows.rs) as isize);
        let Cut { team, run, .. } = self.cut;
        let packed = self.rows.are_packed::<P>();
        let at = exchange_at(run, P::Value::BYTES);
        let part_first = (thread::block_idx_y() as u64) << (team + run);
        let first = part_first + ((self.member() as u64) << run);
        let mut value = P::start();
        let mut done = 0;
        // SAFETY: as the caller's; the chunks lie in the rows. All threads of the block make the same number of
        // iterations.
        unsafe {
            loop {
                no_unroll();
                let from = (first + done as u64) * chunk_len::<M::Number>();
                let len = if wanted && from < n {
                    (n - from).min(chunk_len::<M::Number>()) as u32
                } else {
                    0
                };
                let chunk = chunk::<M, P, COLUMNS>(source, packed, at, param, from as i64, len);
                done += 1;
                if run == 0 {
                    value = chunk;
                    break;
                }
                push::<M::Number, P>(done - 1, chunk);
                if done == 1 << run || (part_first + done as u64) * chunk_len::<M::Number>() >= n {
                    break;
                }
            }
            if run > 0 {
                value = drain::<M::Number, P>(done);
            }
            if team + run > 0 {
                // Columns need no barrier here: their next chunks have one before RESULTS is written again.
                value = self.combine_team::<P>(value, !COLUMNS && !O::ONE_ROW);
            }
        }
        value
    }

    /// Combines the values of a team's groups along the tree; the result is in every thread of the team. `barrier`
    /// must be true if the caller may write RESULTS again before the next barrier.
    #[inline(always)]
    unsafe fn combine_team<P: Pass<M::Number>>(&self, value: P::Value, barrier: bool) -> P::Value {
        let (group, q) = thread_in_group();
        let size = 1 << self.cut.team;
        // SAFETY: each group writes only its own element, between barriers; all threads make the same number of
        // iterations.
        unsafe {
            if q == 0 {
                value.write_shared(RESULTS, GROUPS, group);
            }
            thread::sync_threads();
            let mut value =
                P::Value::read_shared(RESULTS, GROUPS, (group & !(size - 1)) + (q & (size - 1)));
            let mut distance = 1;
            while distance < size {
                no_unroll();
                value = P::combine(value, value.shuffle(distance));
                distance *= 2;
            }
            if barrier {
                thread::sync_threads();
            }
            value
        }
    }

    /// Stores the result of a part to scratch memory. Returns whether this is the last block of the row to finish; if
    /// so, the value returned is the result of the whole row.
    #[inline(always)]
    unsafe fn combine_parts<P: Pass<M::Number>>(
        &self,
        value: P::Value,
        exists: bool,
    ) -> (P::Value, bool) {
        let (group, q) = thread_in_group();
        let (parts, member) = (thread::grid_dim_y(), self.member());
        let row = self.own * parts as u64;
        let last = Shared::<u32>::at_byte(LAST);
        // SAFETY: the caller guarantees scratch and counters; the thread that increments the counter last sees the
        // parts of all blocks, and the barrier makes them visible to its block.
        unsafe {
            if q == 0 && member == 0 {
                let mut is_last = false;
                if exists {
                    value.write_scratch(self.cut.scratch, row + thread::block_idx_y() as u64);
                    let counter = self.cut.counters.add(self.own as usize);
                    is_last = atomic::fetch_increment(counter, parts - 1) == parts - 1;
                }
                last.store(group, is_last as u32);
            }
            thread::sync_threads();
            let mine = last.load(group - member) != 0;
            let from = (member * GROUP + q) * PARTS_PER_THREAD;
            let mut v = [P::start(); PARTS_PER_THREAD as usize];
            unroll!(i < 8, {
                if mine && from + (i as u32) < parts {
                    v[i] = P::Value::read_scratch(self.cut.scratch, row + (from + i as u32) as u64);
                }
            });
            let low = P::combine(P::combine(v[0], v[1]), P::combine(v[2], v[3]));
            let high = P::combine(P::combine(v[4], v[5]), P::combine(v[6], v[7]));
            let mut value = P::combine(low, high);
            unroll!(level < 4, {
                value = P::combine(value, value.shuffle(1 << level));
            });
            if self.cut.team > 0 {
                value = self.combine_team::<P>(value, false);
            }
            (value, mine)
        }
    }
}
