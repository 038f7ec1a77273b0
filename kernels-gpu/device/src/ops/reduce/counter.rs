//! The binary counter with which a group combines the chunks of a run in the order of the tree.

use super::cut::{DIGITS, GROUPS};
use super::{Pass, thread_in_group};
use crate::gpu::no_unroll;
use crate::gpu::value::Value;
use crate::real::Real;

/// Pushes chunk number `index` of a run to the group's counter, whose digit d holds the result of 2^d chunks.
#[inline(always)]
pub(crate) unsafe fn push<T: Real, P: Pass<T>>(index: u32, chunk: P::Value) {
    let (group, q) = thread_in_group();
    if q == 0 {
        let (mut value, mut digit) = (chunk, 0);
        // SAFETY: the digits belong to this thread, and those in use have been written.
        unsafe {
            while index >> digit & 1 == 1 {
                no_unroll();
                let older =
                    P::Value::read_shared(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
                value = P::combine(older, value);
                digit += 1;
            }
            value.write_shared(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
        }
    }
}

/// Combines the digits of the counter after `count` > 0 chunks have been pushed. The result is valid in the group's
/// first thread.
#[inline(always)]
pub(crate) unsafe fn drain<T: Real, P: Pass<T>>(count: u32) -> P::Value {
    let (group, q) = thread_in_group();
    let mut value = P::start();
    if q == 0 {
        let mut digit = count.trailing_zeros();
        // SAFETY: as in `push`.
        unsafe {
            value = P::Value::read_shared(DIGITS + digit * GROUPS * P::Value::BYTES, GROUPS, group);
            digit += 1;
            while count >> digit != 0 {
                no_unroll();
                if count >> digit & 1 == 1 {
                    let older = P::Value::read_shared(
                        DIGITS + digit * GROUPS * P::Value::BYTES,
                        GROUPS,
                        group,
                    );
                    value = P::combine(older, value);
                }
                digit += 1;
            }
        }
    }
    value
}
