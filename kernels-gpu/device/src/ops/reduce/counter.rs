//! The binary counter through which a group adds the chunks of a run in the order of the tree.

use super::cut::{DIGITS, GROUPS};
use super::{Pass, Value, place};
use crate::gpu::keep_loop;
use crate::real::Real;

/// Chunk number `index` of a run enters the group's counter, whose digit d holds 2^d chunks.
#[inline(always)]
pub(crate) unsafe fn push<T: Real, P: Pass<T>>(index: u32, chunk: P::Value) {
    let (group, q) = place();
    if q == 0 {
        let (mut value, mut digit) = (chunk, 0);
        // SAFETY: digits are this thread's own, and one in use has been written.
        unsafe {
            while index >> digit & 1 == 1 {
                keep_loop();
                let older = P::Value::get(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
                value = P::combine(older, value);
                digit += 1;
            }
            value.put(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
        }
    }
}

/// The tree over the `count` > 0 chunks that have been pushed: in the group's first thread.
#[inline(always)]
pub(crate) unsafe fn leftovers<T: Real, P: Pass<T>>(count: u32) -> P::Value {
    let (group, q) = place();
    let mut value = P::start();
    if q == 0 {
        let mut digit = count.trailing_zeros();
        // SAFETY: as in `push`.
        unsafe {
            value = P::Value::get(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
            digit += 1;
            while count >> digit != 0 {
                keep_loop();
                if count >> digit & 1 == 1 {
                    let older =
                        P::Value::get(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
                    value = P::combine(older, value);
                }
                digit += 1;
            }
        }
    }
    value
}
