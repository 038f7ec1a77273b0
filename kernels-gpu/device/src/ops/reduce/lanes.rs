//! One chunk in the canonical order: 16 threads share its lanes.
//!
//! Where elements are contiguous and aligned, thread q takes 16 bytes at a time: lanes W q .. W q + W, for
//! W elements in 16 bytes. Else it takes elements one by one: lanes q + 16 c, c < W. Elements that do not
//! exist are left out.

use super::pass::Pass;
use super::value::Value;
use super::walk::Walk;
use crate::gpu::keep_loop;
use crate::real::Real;
use crate::unroll::{each_lane, unroll};

/// Threads that share a chunk.
pub const GROUP: u32 = 16;

/// Elements of a row, or of two rows side by side, and where something is written for each.
#[derive(Clone, Copy)]
pub struct Source<T> {
    /// The first array, and elements from one to the next.
    pub x: *const T,
    /// See `x`.
    pub x_inc: i64,
    /// The second array, for passes that read two.
    pub y: *const T,
    /// See `y`.
    pub y_inc: i64,
    /// What is written, contiguous, for passes that write.
    pub out: *mut T,
}

/// Lanes of a chunk, as a number of the machine's.
#[inline(always)]
pub(super) fn lane_count<T: Real>() -> u32 {
    T::LANES as u32
}

/// Elements of a chunk.
#[inline(always)]
pub fn chunk_len<T: Real>() -> u64 {
    diptych::backend::order::chunk_len::<T>() as u64
}

/// The result of the chunk of `len` elements from element `first` on, in every one of its 16 threads.
/// Both arrays must be contiguous and multiples of 16 there, and so what is written.
///
/// # Safety
/// The elements must be valid; all threads of the warp must come to this very call.
#[inline(always)]
pub unsafe fn packed<T: Real, P: Pass<T>>(
    s: Source<T>,
    param: T,
    first: i64,
    len: u32,
    q: u32,
) -> P::Value {
    // SAFETY: as the caller's.
    unsafe {
        let mut lanes = packed_lanes::<T, P>(s, param, first, len, q);
        if P::ANY_ORDER {
            return halve_group::<T, P>(halve::<T, P>(lanes));
        }
        unroll!(w < 4, {
            each_lane!(c of T, {
                lanes[c] = P::combine(lanes[c], lanes[c].across((GROUP / 2) >> w));
            });
        });
        halve::<T, P>(lanes)
    }
}

/// As [`packed`], of arrays of any stride: the part of thread `q`, for [`halve_group`].
///
/// # Safety
/// The elements must be valid.
#[inline(always)]
pub unsafe fn strided<T: Real, P: Pass<T>>(
    s: Source<T>,
    param: T,
    first: i64,
    len: u32,
    q: u32,
) -> P::Value {
    let from = first + q as i64;
    let mut walk = Walk {
        x: s.x.wrapping_offset((from * s.x_inc) as isize),
        y: s.y.wrapping_offset((from * s.y_inc) as isize),
        out: s.out.wrapping_offset(from as isize),
        turn: 0,
        lanes: [P::lane(); 4],
        param,
        s,
    };
    let (mut left, lane_count) = (len, lane_count::<T>());
    // SAFETY: these elements are among the `len`.
    unsafe {
        if several::<T, P>() && !P::PAIR {
            while left >= 4 * lane_count {
                keep_loop();
                // The loops below take the rest.
                if !walk.singles::<P::Finite, 4>() {
                    break;
                }
                left -= 4 * lane_count;
            }
        }
        if is_ahead::<T, P>() {
            walk.ahead::<P, false>(&mut left);
        }
        if P::PAIR {
            while left >= 2 * lane_count {
                keep_loop();
                walk.singles::<P, 2>();
                left -= 2 * lane_count;
            }
        }
        while left >= lane_count {
            keep_loop();
            walk.singles::<P, 1>();
            left -= lane_count;
        }
        each_lane!(c of T, {
            if q + GROUP * (c as u32) < left {
                walk.single::<P>(c);
            }
        });
    }
    halve::<T, P>(walk.values::<P>(from, GROUP))
}

/// From the parts of 16 threads to the result of the chunk, in each of them.
///
/// # Safety
/// All threads of the warp must come to this very call.
#[inline(always)]
pub unsafe fn halve_group<T: Real, P: Pass<T>>(part: P::Value) -> P::Value {
    let mut value = part;
    unroll!(w < 4, {
        // SAFETY: as the caller's.
        value = P::combine(value, unsafe { value.across((GROUP / 2) >> w) });
    });
    value
}

/// Halves a thread's lanes down to one.
#[inline(always)]
fn halve<T: Real, P: Pass<T>>(v: [P::Value; 4]) -> P::Value {
    if T::WIDTH == 4 {
        P::combine(P::combine(v[0], v[2]), P::combine(v[1], v[3]))
    } else {
        P::combine(v[0], v[1])
    }
}

/// Whether a thread loads the elements of several steps, then takes them. With long steps in f64 the assembler would
/// put each load next to its step.
#[inline(always)]
fn several<T: Real, P: Pass<T>>() -> bool {
    !P::IS_LONG || T::WIDTH == 4
}

/// Whether a thread loads elements for its next turn before it takes those of this one: so loads stay together.
#[inline(always)]
fn is_ahead<T: Real, P: Pass<T>>() -> bool {
    !several::<T, P>() && !P::PAIR
}

/// The lanes of thread `q`.
#[inline(always)]
unsafe fn packed_lanes<T: Real, P: Pass<T>>(
    s: Source<T>,
    param: T,
    first: i64,
    len: u32,
    q: u32,
) -> [P::Value; 4] {
    let from = first + (T::WIDTH * q) as i64;
    let mut walk = Walk {
        x: s.x.wrapping_offset(from as isize),
        y: s.y.wrapping_offset(from as isize),
        out: s.out.wrapping_offset(from as isize),
        turn: 0,
        lanes: [P::lane(); 4],
        param,
        s,
    };
    let (mut left, lane_count) = (len, lane_count::<T>());
    // SAFETY: these elements are among the `len`.
    unsafe {
        if !P::IS_LONG && !P::PAIR {
            while left >= 8 * lane_count {
                keep_loop();
                // The loops below take the rest.
                if !walk.packs::<P::Finite, 8>() {
                    break;
                }
                left -= 8 * lane_count;
            }
        }
        if several::<T, P>() {
            while left >= 4 * lane_count {
                keep_loop();
                walk.packs::<P, 4>();
                left -= 4 * lane_count;
            }
        }
        if is_ahead::<T, P>() {
            walk.ahead::<P, true>(&mut left);
        }
        while left >= lane_count {
            keep_loop();
            walk.packs::<P, 1>();
            left -= lane_count;
        }
        let left = left as i32 - (T::WIDTH * q) as i32;
        if left >= T::WIDTH as i32 {
            walk.packs::<P, 1>();
        } else {
            each_lane!(c of T, {
                if (c as i32) < left {
                    let y = if P::PAIR {
                        T::load(walk.y.add(c))
                    } else {
                        param
                    };
                    let x = T::load(walk.x.add(c));
                    walk.take::<P>(c, x, y, 0);
                    if P::WRITES {
                        T::store(walk.out.add(c), P::written(x, y));
                    }
                }
            });
        }
    }
    walk.values::<P>(from, 1)
}
