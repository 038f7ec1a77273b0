//! The summation tree over row blocks: first within a part, then over the parts.

use super::Lsq;
use crate::finish::finish_sum;
use crate::gpu::shared::Shared;
use crate::gpu::{atomic, no_unroll, thread};
use crate::ops::reduce::LAST;
use crate::real::Real;
use crate::unroll::{each_lane, unroll};

/// Nodes of the tree over parts that one block adds.
pub const FAN_IN: u32 = 8;

impl<T: Real> Lsq<T> {
    /// Adds up the digits of the counter, which completes the tree over the `count` row blocks of this part; stores the
    /// result to digit 0.
    #[inline(always)]
    pub(super) unsafe fn drain(&self, count: u32) {
        let mut turn = 0;
        // SAFETY: this thread has written the digits in use.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                no_unroll();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let mut value = T::ZERO;
                        let mut d = 0;
                        while count >> d != 0 {
                            no_unroll();
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

    /// Computes the tree over parts: of [`FAN_IN`] adjacent nodes, the last block to finish adds the vectors and goes
    /// on to the next level. Returns whether this block has reached the root.
    #[inline(always)]
    pub(super) unsafe fn combine_parts(&self, part: u32, counters: *mut u32) -> bool {
        let mut counters = counters;
        let (mut index, mut nodes, mut width) = (part, thread::grid_dim_x(), 1);
        let flag = Shared::<u32>::at_byte(LAST);
        // SAFETY: the thread that increments the counter last sees the vectors of the other blocks, and the barrier
        // makes them visible to its block; each column belongs to one thread.
        unsafe {
            while nodes > 1 {
                no_unroll();
                let group = index / FAN_IN;
                let members = FAN_IN.min(nodes - group * FAN_IN);
                thread::sync_threads();
                if thread::thread_idx_x() == 0 {
                    let finished_before =
                        atomic::fetch_increment(counters.add(group as usize), members - 1);
                    flag.store(0, (finished_before == members - 1) as u32);
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

    /// Adds the vectors of `members` nodes, `width` parts apart from part `first` on, into digit 0 of part `first`.
    #[inline(always)]
    unsafe fn add(&self, first: u32, members: u32, width: u32) {
        let mut turn = 0;
        // SAFETY: the vectors have been written, and only this block adds them.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                no_unroll();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let at = |i: u32| {
                            let vector = (first + i * width) as u64 * (self.run as u64 + 1);
                            self.scratch.wrapping_add((vector * self.pitch + j) as usize)
                        };
                        let mut v = [T::ZERO; FAN_IN as usize];
                        unroll!(i < 8, {
                            if (i as u32) < members {
                                v[i] = T::load_relaxed(at(i as u32));
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

    /// Writes grad, which is twice digit 0 of the first part.
    #[inline(always)]
    pub(super) unsafe fn finish(&self, grad: *mut T) {
        let mut turn = 0;
        // SAFETY: this thread has written these columns, or this block has the only part.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                no_unroll();
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let total = T::load_relaxed(self.scratch.wrapping_add(j as usize));
                        T::store(grad.wrapping_add(j as usize), finish_sum(total + total));
                    }
                });
                turn += 1;
            }
        }
    }
}
