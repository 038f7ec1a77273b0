//! A thread's walk through a chunk: the elements of one step or of several.

use super::lanes::{GROUP, Source, lane_count};
use super::pass::Pass;
use crate::gpu::keep_loop;
use crate::real::Real;
use crate::single::Single;
use crate::unroll::{each_lane, unroll};
use diptych::backend::Simd;

/// Steps whose elements are loaded ahead of long steps in f64.
const LOADS_IN_FLIGHT: usize = 4;

/// Where a thread is in its chunk.
pub(super) struct Walk<T, L> {
    /// The next elements of the arrays, and where what is written for them goes.
    pub(super) x: *const T,
    pub(super) y: *const T,
    pub(super) out: *mut T,
    /// How many elements each lane has taken.
    pub(super) turn: u32,
    pub(super) lanes: [L; 4],
    pub(super) param: T,
    pub(super) s: Source<T>,
}

impl<T: Real, L: Copy> Walk<T, L> {
    /// Lane c takes an element, `ahead` turns from here.
    #[inline(always)]
    pub(super) fn take<P: Pass<T, Lane = L>>(&mut self, c: usize, x: T, y: T, ahead: usize) {
        self.lanes[c] = P::step(self.lanes[c], x, y, self.turn + ahead as u32);
    }

    /// The results of the lanes: the places of their first elements are `first` and so on, `apart`.
    #[inline(always)]
    pub(super) fn values<P: Pass<T, Lane = L>>(&self, first: i64, apart: u32) -> [P::Value; 4] {
        let mut values = [P::start(); 4];
        each_lane!(c of T, {
            values[c] = P::value(self.lanes[c], first + (c as u32 * apart) as i64);
        });
        values
    }

    /// The next `U` times 16 bytes, a step apart each. All loads come first: more bytes are under way. False, and
    /// nothing is taken, where there is a NaN that the pass may not take.
    #[inline(always)]
    pub(super) unsafe fn packs<P: Pass<T, Lane = L>, const U: usize>(&mut self) -> bool {
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

    /// Takes steps while [`LOADS_IN_FLIGHT`] of them are left, of `left` elements. With `PACKED` they are loaded 16 bytes at a
    /// time.
    #[inline(always)]
    pub(super) unsafe fn ahead<P: Pass<T, Lane = L>, const PACKED: bool>(
        &mut self,
        left: &mut u32,
    ) {
        let some = LOADS_IN_FLIGHT as u32 * lane_count::<T>();
        if *left < some {
            return;
        }
        // SAFETY: the caller vouches for the elements, of which so many are left.
        let mut x = unsafe { self.load_ahead::<PACKED>() };
        while *left >= 2 * some {
            keep_loop();
            // SAFETY: as above.
            let next = unsafe { self.load_ahead::<PACKED>() };
            self.take_ahead::<P>(x);
            x = next;
            *left -= some;
        }
        self.take_ahead::<P>(x);
        *left -= some;
    }

    /// The elements of the next [`LOADS_IN_FLIGHT`] steps.
    #[inline(always)]
    unsafe fn load_ahead<const PACKED: bool>(&mut self) -> [[T; 4]; LOADS_IN_FLIGHT] {
        let mut x = [[T::ZERO; 4]; LOADS_IN_FLIGHT];
        let step = GROUP as isize * self.s.x_inc as isize;
        // SAFETY: the caller vouches for the elements.
        unsafe {
            unroll!(u < LOADS_IN_FLIGHT, {
                let x = &mut x[u % LOADS_IN_FLIGHT];
                if PACKED {
                    let pack = T::load_pack(self.x);
                    each_lane!(c of T, {
                        x[c] = pack.as_ref()[c];
                    });
                    self.x = self.x.wrapping_add(T::LANES);
                } else {
                    each_lane!(c of T, {
                        x[c] = T::load(self.x);
                        self.x = self.x.wrapping_offset(step);
                    });
                }
            });
        }
        x
    }

    /// Lanes take what [`Walk::load_ahead`] has loaded.
    #[inline(always)]
    fn take_ahead<P: Pass<T, Lane = L>>(&mut self, x: [[T; 4]; LOADS_IN_FLIGHT]) {
        unroll!(u < LOADS_IN_FLIGHT, {
            each_lane!(c of T, {
                self.take::<P>(c, x[u % LOADS_IN_FLIGHT][c], self.param, u);
            });
        });
        self.turn += LOADS_IN_FLIGHT as u32;
    }

    /// Element c of the next step.
    #[inline(always)]
    pub(super) unsafe fn single<P: Pass<T, Lane = L>>(&mut self, c: usize) {
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
    pub(super) unsafe fn singles<P: Pass<T, Lane = L>, const U: usize>(&mut self) -> bool {
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
