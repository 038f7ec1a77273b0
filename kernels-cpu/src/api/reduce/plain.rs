//! The short way: vectors that are seen to be right in a few comparisons. Whatever is refused here, for
//! whatever reason, goes the long way, which names what is wrong.
#![forbid(unsafe_code)]

use crate::api::plain::{is_placed, is_small};

/// Whether `x` has contiguous elements, one at least and too few for threads, and `out` is apart from them.
#[inline(always)]
pub fn is_plain<T, O>(n: i64, x: *const T, incx: i64, out: *const O) -> bool {
    let room = size_of::<O>() - 1;
    let ahead = out.addr().wrapping_sub(x.addr()).wrapping_add(room);
    let apart = ahead >= (n as usize).wrapping_mul(size_of::<T>()).wrapping_add(room);
    is_small(n, x) & (incx == 1) & is_placed(out) & apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(n: i64, x: usize, incx: i64, out: usize) -> bool {
        is_plain(n, x as *const f32, incx, out as *const f64)
    }

    #[test]
    fn what_is_plain() {
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
