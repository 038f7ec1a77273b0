//! A thread's walk through a chunk. In one step, each of the thread's lanes takes one element.

use super::pass::Pass;
use crate::gpu::{Vector, no_unroll};
use crate::memory::Memory;
use crate::real::Real;
use crate::single::Single;
use crate::unroll::{each_lane, unroll};
use diptych::Element;
use diptych::backend::Simd;

/// Threads per group: they share a chunk.
pub const GROUP: u32 = 16;

/// The input arrays of a row, one or two, and the output array of passes that write one.
#[derive(Clone, Copy)]
pub struct Source<M: Memory> {
    /// The first array.
    pub x: *const M,
    /// Its stride.
    pub x_inc: i64,
    /// The second array, for passes that read two.
    pub y: *const M,
    /// Its stride.
    pub y_inc: i64,
    /// The output array, contiguous, for passes that write.
    pub out: *mut M,
    /// The type of the elements.
    pub format: M::Format,
}

/// Returns the number of virtual lanes, [`Element::LANES`](diptych::Element::LANES), as a `u32`.
#[inline(always)]
pub(super) fn lane_count<M: Memory>() -> u32 {
    M::Number::LANES as u32
}

/// Steps whose elements [`Walk::pipelined`] loads at a time.
const LOADS_IN_FLIGHT: usize = 4;

/// A thread's position in its chunk, and its lanes.
pub(super) struct Walk<M: Memory, L> {
    /// The next elements of the input arrays and of the output.
    pub(super) x: *const M,
    pub(super) y: *const M,
    pub(super) out: *mut M,
    /// The number of steps done: elements that each lane has taken.
    pub(super) steps: u32,
    pub(super) lanes: [L; 4],
    pub(super) param: M::Number,
    pub(super) s: Source<M>,
}

impl<M: Memory, L: Copy> Walk<M, L> {
    /// Adds an element to lane c, in the step `ahead` after [`Walk::steps`].
    #[inline(always)]
    pub(super) fn accumulate<P: Pass<M::Number, Lane = L>>(
        &mut self,
        c: usize,
        x: M::Number,
        y: M::Number,
        ahead: usize,
    ) {
        self.lanes[c] = P::step(self.lanes[c], x, y, self.steps + ahead as u32);
    }

    /// Returns the results of the lanes. Lane c took its first element at index `first + c * apart` of the row.
    #[inline(always)]
    pub(super) fn values<P: Pass<M::Number, Lane = L>>(
        &self,
        first: i64,
        apart: u32,
    ) -> [P::Value; 4] {
        let mut values = [P::start(); 4];
        each_lane!(c of M::Number, {
            values[c] = P::value(self.lanes[c], first + (c as u32 * apart) as i64);
        });
        values
    }

    /// Takes `U` steps with one pack per step. All loads come first, which keeps more bytes in flight. Returns false,
    /// without having taken an element, if there is a NaN that the pass cannot take ([`Pass::CHECKS_NAN`]).
    #[inline(always)]
    pub(super) unsafe fn packs<P: Pass<M::Number, Lane = L>, const U: usize>(&mut self) -> bool {
        let mut x = [M::Number::ZERO.pack(); U];
        let mut y = [self.param.pack(); U];
        let lanes = M::Number::LANES;
        // SAFETY: the caller guarantees the elements.
        unsafe {
            unroll!(u < U, {
                x[u % U] = M::get_lanes(self.s.format, self.x.add(u * lanes));
                if P::PAIR {
                    y[u % U] = M::get_lanes(self.s.format, self.y.add(u * lanes));
                }
            });
            if P::CHECKS_NAN && any_nan(&x) {
                return false;
            }
            unroll!(u < U, {
                let mut written = x[u % U];
                each_lane!(c of M::Number, {
                    let (x, y) = (x[u % U].as_ref()[c], y[u % U].as_ref()[c]);
                    self.accumulate::<P>(c, x, y, u);
                    written.as_mut()[c] = P::written(x, y);
                });
                if P::WRITES {
                    M::put_lanes(self.s.format, self.out.add(u * lanes), written);
                }
            });
        }
        self.x = self.x.wrapping_add(U * lanes);
        self.y = self.y.wrapping_add(U * lanes);
        self.out = self.out.wrapping_add(U * lanes);
        self.steps += U as u32;
        true
    }

    /// Takes [`LOADS_IN_FLIGHT`] steps at a time, and loads the next ones before it takes these (software pipelining),
    /// until `left`, the number of elements left of the chunk, is less than that many steps. With `PACKED`, loads
    /// packs.
    #[inline(always)]
    pub(super) unsafe fn pipelined<P: Pass<M::Number, Lane = L>, const PACKED: bool>(
        &mut self,
        left: &mut u32,
    ) {
        let batch = LOADS_IN_FLIGHT as u32 * lane_count::<M>();
        if *left < batch {
            return;
        }
        // SAFETY: the caller guarantees the elements, and at least `batch` are left.
        let mut x = unsafe { self.load_steps::<PACKED>() };
        while *left >= 2 * batch {
            no_unroll();
            let next = self.load_steps::<PACKED>();
            self.accumulate_steps::<P>(x);
            x = next;
            *left -= batch;
        }
        self.accumulate_steps::<P>(x);
        *left -= batch;
    }

    /// Loads the elements of the next [`LOADS_IN_FLIGHT`] steps.
    #[inline(always)]
    unsafe fn load_steps<const PACKED: bool>(&mut self) -> [[M::Number; 4]; LOADS_IN_FLIGHT] {
        let mut x = [[M::Number::ZERO; 4]; LOADS_IN_FLIGHT];
        let step = GROUP as isize * self.s.x_inc as isize;
        // SAFETY: the caller guarantees the elements.
        unsafe {
            unroll!(u < LOADS_IN_FLIGHT, {
                let x = &mut x[u % LOADS_IN_FLIGHT];
                if PACKED {
                    let pack = M::get_lanes(self.s.format, self.x);
                    each_lane!(c of M::Number, {
                        x[c] = pack.as_ref()[c];
                    });
                    self.x = self.x.wrapping_add(M::Number::LANES);
                } else {
                    each_lane!(c of M::Number, {
                        x[c] = M::get(self.s.format, self.x);
                        self.x = self.x.wrapping_offset(step);
                    });
                }
            });
        }
        x
    }

    /// Adds the elements that [`Walk::load_steps`] has loaded to the lanes.
    #[inline(always)]
    fn accumulate_steps<P: Pass<M::Number, Lane = L>>(
        &mut self,
        x: [[M::Number; 4]; LOADS_IN_FLIGHT],
    ) {
        unroll!(u < LOADS_IN_FLIGHT, {
            each_lane!(c of M::Number, {
                self.accumulate::<P>(c, x[u % LOADS_IN_FLIGHT][c], self.param, u);
            });
        });
        self.steps += LOADS_IN_FLIGHT as u32;
    }

    /// Takes the element of lane c of the next step.
    #[inline(always)]
    pub(super) unsafe fn single<P: Pass<M::Number, Lane = L>>(&mut self, c: usize) {
        let ahead = c as isize * GROUP as isize;
        // SAFETY: the caller guarantees the element.
        unsafe {
            let x = self.x.wrapping_offset(ahead * self.s.x_inc as isize);
            let x = M::get(self.s.format, x);
            let y = if P::PAIR {
                let y = self.y.wrapping_offset(ahead * self.s.y_inc as isize);
                M::get(self.s.format, y)
            } else {
                self.param
            };
            self.accumulate::<P>(c, x, y, 0);
            if P::WRITES {
                let out = self.out.wrapping_offset(ahead);
                M::put::<false>(self.s.format, out, P::written(x, y));
            }
        }
    }

    /// As [`Walk::packs`], with single elements of any stride. The pointers advance from element to element, because
    /// precomputed offsets would each take a register.
    #[inline(always)]
    pub(super) unsafe fn singles<P: Pass<M::Number, Lane = L>, const U: usize>(&mut self) -> bool {
        let mut x = [[M::Number::ZERO; 4]; U];
        let mut y = [[self.param; 4]; U];
        let x_step = GROUP as isize * self.s.x_inc as isize;
        let y_step = GROUP as isize * self.s.y_inc as isize;
        let (mut x_at, mut y_at) = (self.x, self.y);
        // SAFETY: the caller guarantees the elements.
        unsafe {
            unroll!(u < U, {
                each_lane!(c of M::Number, {
                    x[u % U][c] = M::get(self.s.format, x_at);
                    x_at = x_at.wrapping_offset(x_step);
                    if P::PAIR {
                        y[u % U][c] = M::get(self.s.format, y_at);
                        y_at = y_at.wrapping_offset(y_step);
                    }
                });
            });
            if P::CHECKS_NAN && any_nan(&x) {
                return false;
            }
            unroll!(u < U, {
                each_lane!(c of M::Number, {
                    let (x, y) = (x[u % U][c], y[u % U][c]);
                    self.accumulate::<P>(c, x, y, u);
                    if P::WRITES {
                        M::put::<false>(self.s.format, self.out, P::written(x, y));
                        self.out = self.out.wrapping_add(GROUP as usize);
                    }
                });
            });
        }
        (self.x, self.y) = (x_at, y_at);
        self.steps += U as u32;
        true
    }
}

/// Returns whether any of the elements is NaN.
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
