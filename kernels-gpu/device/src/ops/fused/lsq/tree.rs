//! The tree over row blocks: over those of a part, then over parts.

use super::Lsq;
use crate::finish::finish_sum;
use crate::gpu::shared::Shared;
use crate::gpu::{atomic, keep_loop, thread};
use crate::ops::reduce::LAST;
use crate::real::Real;
use crate::unroll::{each_lane, unroll};

/// Blocks whose vectors one block adds.
pub const FAN_IN: u32 = 8;

impl<T: Real> Lsq<T> {
    /// The tree over the `count` row blocks of this part: digit 0.
    #[inline(always)]
    pub(super) unsafe fn leftovers(&self, count: u32) {
        let mut turn = 0;
        // SAFETY: the digits in use have been written by this thread.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                keep_loop();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let mut value = T::ZERO;
                        let mut d = 0;
                        while count >> d != 0 {
                            keep_loop();
                            if count >> d & 1 == 1 {
                                value = T::load(self.digit(d, j)) + value;
                            }
                            d += 1;
                        }
                        T::store(self.digit(0, j), value);
                    }
                });
                turn += 1;
            }
        }
    }

    /// The tree over parts: the last of [`FAN_IN`] blocks side by side adds their vectors and goes on with the
    /// next level. Whether this block has come to the top.
    #[inline(always)]
    pub(super) unsafe fn climb(&self, part: u32, counters: *mut u32) -> bool {
        let mut counters = counters;
        let (mut index, mut nodes, mut width) = (part, thread::grid_dim_x(), 1);
        let flag = Shared::<u32>::at_byte(LAST);
        // SAFETY: who counts itself last sees the vectors of the others, and the barrier shows them to its
        // block; each column is one thread's.
        unsafe {
            while nodes > 1 {
                keep_loop();
                let group = index / FAN_IN;
                let members = FAN_IN.min(nodes - group * FAN_IN);
                thread::sync_threads();
                if thread::thread_idx_x() == 0 {
                    let before = atomic::fetch_increment(counters.add(group as usize), members - 1);
                    flag.store(0, (before == members - 1) as u32);
                }
                thread::sync_threads();
                if flag.load(0) == 0 {
                    return false;
                }
                self.add(group * FAN_IN * width, members, width);
                nodes = nodes.div_ceil(FAN_IN);
                counters = counters.add(nodes as usize);
                index = group;
                width *= FAN_IN;
            }
        }
        true
    }

    /// Digit 0 of part `first` becomes the tree over `members` of them, `width` parts apart.
    #[inline(always)]
    unsafe fn add(&self, first: u32, members: u32, width: u32) {
        let mut turn = 0;
        // SAFETY: the vectors have been written, and are added by this block alone.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                keep_loop();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let at = |i: u32| {
                            let place = (first + i * width) as u64 * (self.run as u64 + 1);
                            self.scratch.wrapping_add((place * self.pitch + j) as usize)
                        };
                        let mut v = [T::ZERO; FAN_IN as usize];
                        unroll!(i < 8, {
                            if (i as u32) < members {
                                v[i] = T::load_fresh(at(i as u32));
                            }
                        });
                        let low = (v[0] + v[1]) + (v[2] + v[3]);
                        let high = (v[4] + v[5]) + (v[6] + v[7]);
                        T::store(at(0), low + high);
                    }
                });
                turn += 1;
            }
        }
    }

    /// grad = 2 digit 0 of the first part.
    #[inline(always)]
    pub(super) unsafe fn finish(&self, grad: *mut T) {
        let mut turn = 0;
        // SAFETY: this thread has written these columns, or this block has all of them.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                keep_loop();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let total = T::load_fresh(self.scratch.wrapping_add(j as usize));
                        T::store(grad.wrapping_add(j as usize), finish_sum(total + total));
                    }
                });
                turn += 1;
            }
        }
    }
}
