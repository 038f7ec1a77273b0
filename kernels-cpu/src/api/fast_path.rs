//! Fast path for small calls: a few comparisons that show that the arguments are valid. A call that fails them, for
//! whatever reason, takes the general path, which checks each argument and names the one at fault.
#![forbid(unsafe_code)]

/// Sizes and strides below this cannot describe a matrix that is larger than the address space.
pub const LIMIT: i64 = if usize::BITS >= 64 { 1 << 20 } else { 1 << 13 };

/// Bytes of a vector below which neither a second thread nor non-temporal stores would pay.
pub const SMALL: usize = 256 << 10;

/// Returns whether n > 0 contiguous elements at `p` are a valid array that is small.
#[inline(always)]
pub fn is_small<T>(n: i64, p: *const T) -> bool {
    let sized = (n.wrapping_sub(1) as u64) < (SMALL / size_of::<T>()) as u64;
    sized & is_valid_address(p)
}

/// Returns whether `p` is aligned, not null, and in the lower half of the address space, where the end of a small array
/// cannot overflow.
#[inline(always)]
pub fn is_valid_address<T>(p: *const T) -> bool {
    (p.addr() as isize > 0) & p.is_aligned()
}

/// Returns whether `n` elements at `x` are a valid array that is exactly the one at `out`, or disjoint from it.
/// Meaningful only when [`is_small`] holds for `n` and `out`.
#[inline(always)]
pub fn is_same_or_apart<T>(n: i64, x: *const T, out: *const T) -> bool {
    let last = (n as usize).wrapping_mul(size_of::<T>()).wrapping_sub(1);
    let ahead = x.addr().wrapping_sub(out.addr());
    let apart = ahead.wrapping_add(last) > last.wrapping_mul(2);
    is_valid_address(x) & (apart | (ahead == 0))
}

/// Returns the end address of a matrix; `None` on overflow. The sizes must be positive, the strides not negative, and
/// both below [`LIMIT`].
#[inline(always)]
pub fn end<T>(p: *const T, (rows, rs): (i64, i64), (cols, cs): (i64, i64)) -> Option<usize> {
    let elements = (rows - 1) * rs + (cols - 1) * cs + 1;
    p.addr().checked_add(elements as usize * size_of::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elementwise(n: i64, x: usize, out: usize) -> bool {
        let (x, out) = (x as *const f32, out as *const f32);
        is_small(n, out) && is_same_or_apart(n, x, out)
    }

    #[test]
    fn elementwise_arguments_that_qualify() {
        assert!(elementwise(4, 4096, 4096) && elementwise(4, 4096, 4112));
        assert!(elementwise(4, 4112, 4096) && elementwise(1, 4096, 4100));
        assert!(elementwise(1 << 16, 1 << 20, 1 << 22) && !elementwise(65537, 1 << 20, 1 << 22));
        assert!(!elementwise(4, 4096, 4108) && !elementwise(4, 4108, 4096));
        assert!(!elementwise(4, 4096, 4100) && !elementwise(4, 4100, 4096));
        assert!(!elementwise(0, 4096, 4096) && !elementwise(-1, 4096, 4096));
        assert!(!elementwise(i64::MIN, 4096, 4096) && !elementwise(i64::MAX, 4096, 4096));
        assert!(!elementwise(4, 0, 4096) && !elementwise(4, 4096, 0));
        assert!(!elementwise(4, 4097, 8192) && !elementwise(4, 4096, 8193));
        assert!(!elementwise(4, usize::MAX - 3, 4096) && !elementwise(4, 4096, usize::MAX - 3));
    }
}
