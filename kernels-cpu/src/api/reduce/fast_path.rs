//! Fast path for reductions of small contiguous vectors: a few comparisons that show that the arguments are valid. A
//! call that fails them, for whatever reason, takes the general path, which names the argument at fault.
#![forbid(unsafe_code)]

use crate::api::fast_path::{is_small, is_valid_address};

/// Returns whether the fast path applies: `x` is contiguous, not empty and too small for threads, and disjoint from
/// `out`.
#[inline(always)]
pub fn qualifies<T, O>(n: i64, x: *const T, incx: i64, out: *const O) -> bool {
    let room = size_of::<O>() - 1;
    let ahead = out.addr().wrapping_sub(x.addr()).wrapping_add(room);
    let apart = ahead >= (n as usize).wrapping_mul(size_of::<T>()).wrapping_add(room);
    is_small(n, x) & (incx == 1) & is_valid_address(out) & apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(n: i64, x: usize, incx: i64, out: usize) -> bool {
        qualifies(n, x as *const f32, incx, out as *const f64)
    }

    #[test]
    fn vectors_that_qualify() {
        assert!(is(4, 4096, 1, 8192) && is(4, 4096, 1, 4112) && is(4, 4096, 1, 4088));
        assert!(is(1, 4096, 1, 8192) && is(65536, 4096, 1, 4096 + (1 << 18)));
        assert!(!is(0, 4096, 1, 8192) && !is(-1, 4096, 1, 8192) && !is(65537, 4096, 1, 1 << 20));
        assert!(!is(i64::MIN, 4096, 1, 8192) && !is(i64::MAX, 4096, 1, 8192));
        assert!(!is(4, 4096, 2, 8192) && !is(4, 4096, 0, 8192) && !is(4, 4096, -1, 8192));
        assert!(!is(4, 0, 1, 8192) && !is(4, 4096, 1, 0) && !is(4, usize::MAX - 3, 1, 8192));
        assert!(!is(4, 4098, 1, 8192) && !is(4, 4096, 1, 8196));
        assert!(!is(4, 4096, 1, 4104) && !is(4, 4100, 1, 4096) && !is(5, 4096, 1, 4112));
    }
}
