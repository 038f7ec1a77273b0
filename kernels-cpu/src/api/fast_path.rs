//! Fast path for small calls: a few comparisons that show that the arguments are valid. A call that fails them, for
//! whatever reason, takes the general path, which checks each argument and names the one at fault.
#![forbid(unsafe_code)]

/// Sizes and strides below this cannot describe a matrix that is larger than the address space.
pub const LIMIT: i64 = if usize::BITS >= 64 { 1 << 20 } else { 1 << 13 };

/// Bytes of a vector below which neither a second thread nor non-temporal stores would pay.
const SMALL: usize = 256 << 10;

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

/// Returns the sizes of an outer product if its arguments qualify: contiguous vectors, a small output with contiguous
/// rows of at least 2 elements, no overlap.
#[inline(always)]
pub fn outer<T>(
    (m, n): (i64, i64),
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    (out, rs, cs): (*const T, i64, i64),
) -> Option<(usize, usize)> {
    let sized = (m > 0) & (n > 1) & (m < LIMIT) & (rs >= n) & (rs < LIMIT);
    let contiguous = (incx == 1) & (incy == 1) & (cs == 1);
    let valid = is_valid_address(x) & is_valid_address(y) & is_valid_address(out);
    if !(sized & contiguous & valid && m * n <= (SMALL / size_of::<T>()) as i64) {
        return None;
    }
    let out_end = end(out, (m, rs), (n, 1))?;
    let apart = |p: *const T, len: i64| {
        // No overflow: `is_valid_address` holds, and the array is small.
        (p.addr() + len as usize * size_of::<T>() <= out.addr()) | (out_end <= p.addr())
    };
    (apart(x, m) & apart(y, n)).then_some((m as usize, n as usize))
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

    #[test]
    fn outer_products_that_qualify() {
        let is = |sizes, x: usize, y: usize, out: usize, rs, cs| {
            let at = |address: usize| address as *const f32;
            outer(sizes, (at(x), 1), (at(y), 1), (at(out), rs, cs)).is_some()
        };
        assert!(is((4, 4), 4096, 4096, 8192, 4, 1) && is((1, 2), 4096, 8192, 4104, 2, 1));
        // The padding after the last row is not part of the output.
        assert!(is((2, 2), 4096 + 24, 16, 4096, 4, 1) && !is((2, 2), 4096 + 20, 16, 4096, 4, 1));
        assert!(is((2, 2), 4088, 16, 4096, 2, 1) && !is((2, 2), 4092, 16, 4096, 2, 1));
        assert!(is((2, 2), 16, 4088, 4096, 2, 1) && !is((2, 2), 16, 4092, 4096, 2, 1));
        assert!(!is((0, 4), 4096, 4096, 8192, 4, 1) && !is((4, 0), 4096, 4096, 8192, 4, 1));
        assert!(!is((-1, 4), 4096, 4096, 8192, 4, 1) && !is((4, i64::MAX), 4096, 4096, 8192, 4, 1));
        assert!(!is((i64::MAX, 4), 4096, 4096, 8192, 4, 1) && !is((4, 4), 4096, 4096, 8192, 3, 1));
        assert!(!is((4, 4), 4096, 4096, 8192, 4, 2) && !is((4, 4), 4096, 4096, 8192, -4, 1));
        assert!(!is((4, 4), 0, 4096, 8192, 4, 1) && !is((4, 4), 4096, 0, 8192, 4, 1));
        assert!(!is((4, 4), 4096, 4096, 0, 4, 1) && !is((4, 4), 4096, 4097, 8192, 4, 1));
        assert!(!is((4, 4), 4096, 4096, 8192, i64::MAX, 1));
    }
}
