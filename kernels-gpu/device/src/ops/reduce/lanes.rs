//! One chunk in the canonical order: 16 threads share its lanes.
//!
//! Where elements are contiguous and aligned, thread q takes 16 bytes at a time: lanes W q .. W q + W, for
//! W elements in 16 bytes. Else it takes elements one by one: lanes q + 16 c, c < W. Elements that do not
//! exist are left out.

use super::pass::Pass;
use super::value::Value;
use crate::gpu::keep_loop;
use crate::real::Real;
use crate::single::Single;
use crate::unroll::{each_lane, unroll};
use diptych::panel::Simd;

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
fn lane_count<T: Real>() -> u32 {
    T::LANES as u32
}

/// Elements of a chunk.
#[inline(always)]
pub fn chunk_len<T: Real>() -> u64 {
    32 * T::LANES as u64
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

/// Whether a thread takes several steps at a time. Long steps in f64 gain nothing: the assembler puts each load
/// next to its step.
#[inline(always)]
fn several<T: Real, P: Pass<T>>() -> bool {
    !P::IS_LONG || T::WIDTH == 4
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

/// Where a thread is in its chunk.
struct Walk<T, L> {
    x: *const T,
    y: *const T,
    out: *mut T,
    /// How many elements each lane has taken.
    turn: u32,
    lanes: [L; 4],
    param: T,
    s: Source<T>,
}

impl<T: Real, L: Copy> Walk<T, L> {
    /// Lane c takes an element, `ahead` turns from here.
    #[inline(always)]
    fn take<P: Pass<T, Lane = L>>(&mut self, c: usize, x: T, y: T, ahead: usize) {
        self.lanes[c] = P::step(self.lanes[c], x, y, self.turn + ahead as u32);
    }

    /// The results of the lanes: the places of their first elements are `first` and so on, `apart`.
    #[inline(always)]
    fn values<P: Pass<T, Lane = L>>(&self, first: i64, apart: u32) -> [P::Value; 4] {
        let mut values = [P::start(); 4];
        each_lane!(c of T, {
            values[c] = P::value(self.lanes[c], first + (c as u32 * apart) as i64);
        });
        values
    }

    /// The next `U` times 16 bytes, a step apart each. All loads come first: more bytes are under way. False, and
    /// nothing is taken, where there is a NaN that the pass may not take.
    #[inline(always)]
    unsafe fn packs<P: Pass<T, Lane = L>, const U: usize>(&mut self) -> bool {
        let mut x = [T::ZERO.pack(); U];
        let mut y = [self.param.pack(); U];
        // SAFETY: the caller vouches for the elements.
        unsafe {
            unroll!(u < U, {
                x[u % U] = T::load_pack(self.x.add(u * T::LANES));
                if P::PAIR {
                    y[u % U] = T::load_pack(self.y.add(u * T::LANES));
                }
            });
            if P::NAN_APART && any_nan(&x) {
                return false;
            }
            unroll!(u < U, {
                let mut written = x[u % U];
                each_lane!(c of T, {
                    let (x, y) = (x[u % U].as_ref()[c], y[u % U].as_ref()[c]);
                    self.take::<P>(c, x, y, u);
                    written.as_mut()[c] = P::written(x, y);
                });
                if P::WRITES {
                    T::store_pack(self.out.add(u * T::LANES), written);
                }
            });
        }
        self.x = self.x.wrapping_add(U * T::LANES);
        self.y = self.y.wrapping_add(U * T::LANES);
        self.out = self.out.wrapping_add(U * T::LANES);
        self.turn += U as u32;
        true
    }

    /// Element c of the next step.
    #[inline(always)]
    unsafe fn single<P: Pass<T, Lane = L>>(&mut self, c: usize) {
        let ahead = c as isize * GROUP as isize;
        // SAFETY: the caller vouches for the element.
        unsafe {
            let x = T::load(self.x.wrapping_offset(ahead * self.s.x_inc as isize));
            let y = if P::PAIR {
                T::load(self.y.wrapping_offset(ahead * self.s.y_inc as isize))
            } else {
                self.param
            };
            self.take::<P>(c, x, y, 0);
            if P::WRITES {
                T::store(self.out.wrapping_offset(ahead), P::written(x, y));
            }
        }
    }

    /// The elements of the next `U` steps, as [`Walk::packs`] takes them. Pointers walk from element to
    /// element: as many distances kept ready would take as many registers.
    #[inline(always)]
    unsafe fn singles<P: Pass<T, Lane = L>, const U: usize>(&mut self) -> bool {
        let mut x = [[T::ZERO; 4]; U];
        let mut y = [[self.param; 4]; U];
        let x_step = GROUP as isize * self.s.x_inc as isize;
        let y_step = GROUP as isize * self.s.y_inc as isize;
        let (mut x_at, mut y_at) = (self.x, self.y);
        // SAFETY: the caller vouches for the elements.
        unsafe {
            unroll!(u < U, {
                each_lane!(c of T, {
                    x[u % U][c] = T::load(x_at);
                    x_at = x_at.wrapping_offset(x_step);
                    if P::PAIR {
                        y[u % U][c] = T::load(y_at);
                        y_at = y_at.wrapping_offset(y_step);
                    }
                });
            });
            if P::NAN_APART && any_nan(&x) {
                return false;
            }
            unroll!(u < U, {
                each_lane!(c of T, {
                    let (x, y) = (x[u % U][c], y[u % U][c]);
                    self.take::<P>(c, x, y, u);
                    if P::WRITES {
                        T::store(self.out, P::written(x, y));
                        self.out = self.out.wrapping_add(GROUP as usize);
                    }
                });
            });
        }
        (self.x, self.y) = (x_at, y_at);
        self.turn += U as u32;
        true
    }
}

/// Whether there is a NaN among the elements of a thread.
#[inline(always)]
fn any_nan<T: Real, const U: usize>(x: &[impl AsRef<[T]>; U]) -> bool {
    let s = Single::new();
    let mut any = false;
    unroll!(u < U, {
        let x = x[u % U].as_ref();
        any |= s.unordered(x[0], x[1]);
        if T::WIDTH == 4 {
            any |= s.unordered(x[2], x[3]);
        }
    });
    any
}
