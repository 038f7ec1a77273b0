//! The reduction of one chunk in the canonical order: 16 threads share its virtual lanes, W each, where W is the number
//! of values of the arithmetic type in 16 bytes.
//!
//! If elements are contiguous and aligned, thread q loads packs of W elements and has lanes W q .. W q + W. Else it loads
//! single elements and has lanes q + 16 c for c < W. Elements past the end are skipped.

use super::cut::EXCHANGE;
use super::pass::Pass;
use super::thread_in_group;
use super::walk::{GROUP, Source, Walk, lane_count};
use crate::gpu::value::Value;
use crate::gpu::{Vector, no_unroll, thread};
use crate::memory::Memory;
use crate::real::Real;
use crate::unroll::{each_lane, unroll};

/// Returns the number of elements in a chunk.
#[inline(always)]
pub fn chunk_len<T: Real>() -> u64 {
    diptych::backend::order::chunk_len::<T>() as u64
}

/// Reduces one chunk of each group's row; the result is in every thread of the group. With `COLUMNS`, thread q of a
/// group loads elements of row q; else all threads load elements of their group's row. `is_packed` is the result of
/// [`Rows::are_packed`].
///
/// # Safety
/// The elements must be valid, and shared memory from `at` on must have room for the exchange; all threads of the block
/// must reach this same call.
#[inline(always)]
pub(crate) unsafe fn chunk<M: Memory, P: Pass<M::Number>, const COLUMNS: bool>(
    source: Source<M>,
    is_packed: bool,
    at: u32,
    param: M::Number,
    from: i64,
    len: u32,
) -> P::Value {
    let (group, q) = thread_in_group();
    // SAFETY: as the caller's; `is_packed` is the same for the whole grid.
    unsafe {
        if COLUMNS {
            let part = strided::<M, P>(source, param, from, len, group);
            part.write_shared(at, EXCHANGE, q * (GROUP + 1) + group);
            thread::sync_threads();
            let part = P::Value::read_shared(at, EXCHANGE, group * (GROUP + 1) + q);
            let chunk = combine_group::<M::Number, P>(part);
            thread::sync_threads();
            chunk
        } else if is_packed {
            packed::<M, P>(source, param, from, len, q)
        } else {
            combine_group::<M::Number, P>(strided::<M, P>(source, param, from, len, q))
        }
    }
}

/// Reduces the chunk of `len` elements that begins at element `first`; the result is in each of its 16 threads. The
/// arrays must be contiguous and aligned to packs at `first`; this includes the output.
///
/// # Safety
/// The elements must be valid; all threads of the warp must reach this same call.
#[inline(always)]
pub unsafe fn packed<M: Memory, P: Pass<M::Number>>(
    s: Source<M>,
    param: M::Number,
    first: i64,
    len: u32,
    q: u32,
) -> P::Value {
    let mut lanes = packed_lanes::<M, P>(s, param, first, len, q);
    if P::ANY_ORDER {
        return combine_group::<M::Number, P>(combine_lanes::<M::Number, P>(lanes));
    }
    unroll!(w < 4, {
        each_lane!(c of M::Number, {
            lanes[c] = P::combine(lanes[c], lanes[c].shuffle((GROUP / 2) >> w));
        });
    });
    combine_lanes::<M::Number, P>(lanes)
}

/// As [`packed`], for arrays of any stride; returns the partial result of thread `q`, for [`combine_group`].
///
/// # Safety
/// The elements must be valid.
#[inline(always)]
pub unsafe fn strided<M: Memory, P: Pass<M::Number>>(
    s: Source<M>,
    param: M::Number,
    first: i64,
    len: u32,
    q: u32,
) -> P::Value {
    let from = first + q as i64;
    let mut walk = Walk {
        x: s.x.wrapping_offset((from * s.x_inc) as isize),
        y: s.y.wrapping_offset((from * s.y_inc) as isize),
        out: s.out.wrapping_offset(from as isize),
        steps: 0,
        lanes: [P::lane(); 4],
        param,
        s,
    };
    let (mut left, lane_count) = (len, lane_count::<M>());
    // SAFETY: all elements accessed are among the `len`.
    unsafe {
        if groups_loads::<M::Number, P>() && !P::PAIR {
            while left >= 4 * lane_count {
                no_unroll();
                // There is a NaN: the loops below take the rest.
                if !walk.singles::<P::NanFree, 4>() {
                    break;
                }
                left -= 4 * lane_count;
            }
        }
        if prefetches::<M::Number, P>() {
            walk.pipelined::<P, false>(&mut left);
        }
        if P::PAIR {
            while left >= 2 * lane_count {
                no_unroll();
                walk.singles::<P, 2>();
                left -= 2 * lane_count;
            }
        }
        while left >= lane_count {
            no_unroll();
            walk.singles::<P, 1>();
            left -= lane_count;
        }
        each_lane!(c of M::Number, {
            if q + GROUP * (c as u32) < left {
                walk.single::<P>(c);
            }
        });
    }
    combine_lanes::<M::Number, P>(walk.values::<P>(from, GROUP))
}

/// Combines the partial results of a group's 16 threads; returns the result in each of them.
///
/// # Safety
/// All threads of the warp must reach this same call.
#[inline(always)]
pub unsafe fn combine_group<T: Real, P: Pass<T>>(part: P::Value) -> P::Value {
    let mut value = part;
    unroll!(w < 4, {
        value = P::combine(value, value.shuffle((GROUP / 2) >> w));
    });
    value
}

/// Combines the lanes of a thread, upper half with lower half.
#[inline(always)]
fn combine_lanes<T: Real, P: Pass<T>>(v: [P::Value; 4]) -> P::Value {
    if T::WIDTH == 4 {
        P::combine(P::combine(v[0], v[2]), P::combine(v[1], v[3]))
    } else {
        P::combine(v[0], v[1])
    }
}

/// Returns whether a thread loads the elements of several steps before it takes them. Not for long steps in f64, where
/// the assembler would move each load next to its use; see [`prefetches`].
#[inline(always)]
fn groups_loads<T: Real, P: Pass<T>>() -> bool {
    !P::IS_LONG || T::WIDTH == 4
}

/// Returns whether a thread uses [`Walk::pipelined`], which keeps the loads together.
#[inline(always)]
fn prefetches<T: Real, P: Pass<T>>() -> bool {
    !groups_loads::<T, P>() && !P::PAIR
}

/// Returns the results of the lanes of thread `q`.
#[inline(always)]
unsafe fn packed_lanes<M: Memory, P: Pass<M::Number>>(
    s: Source<M>,
    param: M::Number,
    first: i64,
    len: u32,
    q: u32,
) -> [P::Value; 4] {
    let width = M::Number::WIDTH;
    let from = first + (width * q) as i64;
    let mut walk = Walk {
        x: s.x.wrapping_offset(from as isize),
        y: s.y.wrapping_offset(from as isize),
        out: s.out.wrapping_offset(from as isize),
        steps: 0,
        lanes: [P::lane(); 4],
        param,
        s,
    };
    let (mut left, lane_count) = (len, lane_count::<M>());
    // SAFETY: all elements accessed are among the `len`.
    unsafe {
        if !P::IS_LONG && !P::PAIR {
            while left >= 8 * lane_count {
                no_unroll();
                // There is a NaN: the loops below take the rest.
                if !walk.packs::<P::NanFree, 8>() {
                    break;
                }
                left -= 8 * lane_count;
            }
        }
        if groups_loads::<M::Number, P>() {
            while left >= 4 * lane_count {
                no_unroll();
                walk.packs::<P, 4>();
                left -= 4 * lane_count;
            }
        }
        if prefetches::<M::Number, P>() {
            walk.pipelined::<P, true>(&mut left);
        }
        while left >= lane_count {
            no_unroll();
            walk.packs::<P, 1>();
            left -= lane_count;
        }
        let left = left as i32 - (width * q) as i32;
        if left >= width as i32 {
            walk.packs::<P, 1>();
        } else {
            each_lane!(c of M::Number, {
                if (c as i32) < left {
                    let y = if P::PAIR {
                        M::get(s.format, walk.y.add(c))
                    } else {
                        param
                    };
                    let x = M::get(s.format, walk.x.add(c));
                    walk.accumulate::<P>(c, x, y, 0);
                    if P::WRITES {
                        M::put::<false>(s.format, walk.out.add(c), P::written(x, y));
                    }
                }
            });
        }
    }
    walk.values::<P>(from, 1)
}
