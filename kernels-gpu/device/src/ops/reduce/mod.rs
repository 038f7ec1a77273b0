//! Reductions of rows in the canonical order, along either axis of memory.
//!
//! 16 threads (a group, half a warp) fold one chunk of 8 KiB (`lanes`); a block is 16 groups. Groups walk
//! aligned runs of 2^j chunks with a binary counter in shared memory; the tree over runs goes on across
//! the groups of a team, which share a row, and, where a row is cut into parts for many blocks, across the
//! parts: the last block of a row folds what the others left in scratch. How rows are cut ([`Cut`])
//! changes no bit: the cuts are at whole subtrees of the tree over chunks.
//!
//! In the layout of columns rows lie side by side: the 16 threads of a group load elements of 16 rows, and
//! hand them over in shared memory.
//!
//! Bytes: every element is read once a pass. Work: 4 to 25 instructions an element, of the about 24 for which
//! there is time while 4 bytes come from memory at 4.8 TB/s.

mod counter;
mod cut;
mod lanes;
mod layouts;
mod operation;
mod pass;
mod value;
mod walk;

use crate::gpu::shared::Shared;
use crate::gpu::{atomic, global, keep_loop, thread};
use crate::real::Real;
use crate::unroll::unroll;
pub(crate) use counter::{leftovers, push};
pub use cut::{Cut, Rows, max_parts, shared_bytes};
use cut::{EXCHANGE, GROUPS, KNOWN, PARTS_PER_THREAD};
pub(crate) use cut::{LAST, RESULTS, exchange_at};
pub use lanes::Source;
pub(crate) use lanes::chunk_len;
use lanes::{GROUP, halve_group, packed, strided};
pub use layouts::*;
pub use operation::*;
pub use pass::{Of, Pass, SquaredError};
pub use value::{Found, Value};

/// Which group this is, and which of its threads.
#[inline(always)]
pub(crate) fn place() -> (u32, u32) {
    let thread = thread::thread_idx_x();
    (thread / GROUP, thread % GROUP)
}

/// Blocks of 256 threads: out\[i * inc_out\] = the reduction of row i.
///
/// # Safety
/// Rows and `out` must be valid, the cut as [`Cut`] says.
#[inline(always)]
pub unsafe fn fold<T: Real, O: Operation<T>, const COLUMNS: bool>(
    op: O,
    rows: Rows<T>,
    out: *mut O::Out,
    inc_out: i64,
    cut: Cut,
) {
    let per_block = (GROUPS >> cut.team) as u64;
    let mut base = thread::block_idx_x() as u64 * per_block;
    while base < rows.m {
        let (group, q) = place();
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
                block.look_up();
            }
            block.pass::<O::First, COLUMNS>(0);
            if O::PASSES > 1 {
                block.pass::<O::Second, COLUMNS>(1);
            }
            if O::PASSES > 2 {
                block.pass::<O::Third, COLUMNS>(2);
            }
        }
        base += thread::grid_dim_x() as u64 * per_block;
    }
}

/// A thread's view of its block's work on some rows.
struct Block<T: Real, O: Operation<T>> {
    op: O,
    rows: Rows<T>,
    out: *mut O::Out,
    inc_out: i64,
    cut: Cut,
    /// The row of this thread's group, and what is known of it between passes.
    own: u64,
    known: O::Out,
    /// The row whose elements this thread loads.
    loads: u64,
    known_of_loads: O::Out,
}

impl<T: Real, O: Operation<T>> Block<T, O> {
    fn place_of(&self, row: u64) -> *mut O::Out {
        self.out
            .wrapping_offset((row as i64 * self.inc_out) as isize)
    }

    /// What the launch before has left.
    #[inline(always)]
    unsafe fn look_up(&mut self) {
        // SAFETY: the caller vouches for the results of the rows.
        unsafe {
            if self.own < self.rows.m {
                self.known = global::load(self.place_of(self.own));
            }
            if self.loads < self.rows.m {
                self.known_of_loads = global::load(self.place_of(self.loads));
            }
        }
    }

    /// One pass, if it is this launch's.
    #[inline(always)]
    unsafe fn pass<P: Pass<T, Value = O::Value>, const COLUMNS: bool>(&mut self, pass: u32) {
        if pass < self.cut.first || pass >= self.cut.end {
            return;
        }
        let (_, q) = place();
        let member = self.member();
        let exists = self.own < self.rows.m;
        // SAFETY: as the caller's; every barrier is reached by the whole block.
        unsafe {
            let mut value = self.part::<P, COLUMNS>(pass);
            let mut mine = true;
            if thread::grid_dim_y() > 1 {
                (value, mine) = self.parts::<P>(value, exists);
            }
            let out = self.place_of(self.own);
            let wanted = pass == 0 || self.op.wants(pass, self.known);
            if pass + 1 == self.cut.end || pass + 1 == O::PASSES {
                if q == 0 && member == 0 && exists && mine {
                    let result = if wanted {
                        self.op.done(pass, self.known, value, self.own, out)
                    } else {
                        self.known
                    };
                    global::store(out, result);
                }
                return;
            }
            if wanted {
                self.known = self.op.done(pass, self.known, value, self.own, out);
            }
            self.known_of_loads = self.known;
            if COLUMNS {
                self.exchange_known();
            }
        }
    }

    /// Which member of its team this thread's group is.
    #[inline(always)]
    fn member(&self) -> u32 {
        let (group, _) = place();
        group & ((1 << self.cut.team) - 1)
    }

    /// What groups know of their rows, to those who load them.
    #[inline(always)]
    unsafe fn exchange_known(&mut self) {
        let (group, q) = place();
        let known = Shared::<O::Out>::at_byte(KNOWN);
        // SAFETY: each group writes its place between barriers.
        unsafe {
            if q == 0 {
                known.store(group, self.known);
            }
            thread::sync_threads();
            self.known_of_loads = known.load(q);
        }
    }

    /// The block's part of a row, in every thread of the row's team.
    #[inline(always)]
    unsafe fn part<P: Pass<T, Value = O::Value>, const COLUMNS: bool>(
        &self,
        pass: u32,
    ) -> P::Value {
        let Rows { m, n, .. } = self.rows;
        let wanted = self.loads < m && (pass == 0 || self.op.wants(pass, self.known_of_loads));
        let param = if pass == 0 {
            T::ZERO
        } else {
            self.op.param(pass, self.known_of_loads)
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
        // SAFETY: as the caller's; the chunks lie in the rows. The number of turns is the block's.
        unsafe {
            loop {
                keep_loop();
                let from = (first + done as u64) * chunk_len::<T>();
                let len = if wanted && from < n {
                    (n - from).min(chunk_len::<T>()) as u32
                } else {
                    0
                };
                let chunk = chunk::<T, P, COLUMNS>(source, packed, at, param, from as i64, len);
                done += 1;
                if run == 0 {
                    value = chunk;
                    break;
                }
                push::<T, P>(done - 1, chunk);
                if done == 1 << run || (part_first + done as u64) * chunk_len::<T>() >= n {
                    break;
                }
            }
            if run > 0 {
                value = leftovers::<T, P>(done);
            }
            if team + run > 0 {
                // Before columns are shared again their chunks have barriers.
                value = self.team::<P>(value, !COLUMNS && !O::ONE_ROW);
            }
        }
        value
    }

    /// The tree over the groups of a team, in each of their threads; `again` where other results follow
    /// before another barrier.
    #[inline(always)]
    unsafe fn team<P: Pass<T, Value = O::Value>>(&self, value: P::Value, again: bool) -> P::Value {
        let (group, q) = place();
        let size = 1 << self.cut.team;
        // SAFETY: each group writes its place between barriers; all threads make the same turns.
        unsafe {
            if q == 0 {
                value.put(RESULTS, GROUPS, group);
            }
            thread::sync_threads();
            let mut value =
                P::Value::get(RESULTS, GROUPS, (group & !(size - 1)) + (q & (size - 1)));
            let mut distance = 1;
            while distance < size {
                keep_loop();
                value = P::combine(value, value.across(distance));
                distance *= 2;
            }
            if again {
                thread::sync_threads();
            }
            value
        }
    }

    /// Leaves the part of a row to the last block of the row; whether this is it, and then the whole.
    #[inline(always)]
    unsafe fn parts<P: Pass<T, Value = O::Value>>(
        &self,
        value: P::Value,
        exists: bool,
    ) -> (P::Value, bool) {
        let (group, q) = place();
        let (parts, member) = (thread::grid_dim_y(), self.member());
        let row = self.own * parts as u64;
        let last = Shared::<u32>::at_byte(LAST);
        // SAFETY: the caller vouches for scratch and counters; who counts itself last sees the parts of
        // all, and the barrier shows them to its block.
        unsafe {
            if q == 0 && member == 0 {
                let mut is_last = false;
                if exists {
                    value.leave(self.cut.scratch, row + thread::block_idx_y() as u64);
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
                    v[i] = P::Value::recall(self.cut.scratch, row + (from + i as u32) as u64);
                }
            });
            let low = P::combine(P::combine(v[0], v[1]), P::combine(v[2], v[3]));
            let high = P::combine(P::combine(v[4], v[5]), P::combine(v[6], v[7]));
            let mut value = P::combine(low, high);
            unroll!(level < 4, {
                value = P::combine(value, value.across(1 << level));
            });
            if self.cut.team > 0 {
                value = self.team::<P>(value, false);
            }
            (value, mine)
        }
    }
}

/// One chunk of each group's row, in every thread of the group. With `COLUMNS` thread q of a group has loaded
/// elements of row q; else of its group's row, `packed` where [`Rows::are_packed`].
///
/// # Safety
/// The elements must be valid, and shared memory from `at` on for the exchange; all threads of the block must
/// come to this very call.
#[inline(always)]
pub(crate) unsafe fn chunk<T: Real, P: Pass<T>, const COLUMNS: bool>(
    source: Source<T>,
    is_packed: bool,
    at: u32,
    param: T,
    from: i64,
    len: u32,
) -> P::Value {
    let (group, q) = place();
    // SAFETY: as the caller's; who is packed is so for the whole grid.
    unsafe {
        if COLUMNS {
            let part = strided::<T, P>(source, param, from, len, group);
            part.put(at, EXCHANGE, q * (GROUP + 1) + group);
            thread::sync_threads();
            let part = P::Value::get(at, EXCHANGE, group * (GROUP + 1) + q);
            let chunk = halve_group::<T, P>(part);
            thread::sync_threads();
            chunk
        } else if is_packed {
            packed::<T, P>(source, param, from, len, q)
        } else {
            halve_group::<T, P>(strided::<T, P>(source, param, from, len, q))
        }
    }
}
