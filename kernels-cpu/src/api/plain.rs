//! The short way: what lets a small call see in a few comparisons that its arguments are right. Whatever
//! is refused here, for whatever reason, goes the long way, which names what is wrong.
#![forbid(unsafe_code)]

/// With sizes and strides below this no matrix has more bytes than an object can.
pub const LIMIT: i64 = if usize::BITS >= 64 { 1 << 20 } else { 1 << 13 };

/// Bytes of a vector that are fewer than a second thread, or stores past the caches, would be worth.
const SMALL: usize = 256 << 10;

/// Whether `p` is at least one and not many contiguous elements that can be there.
#[inline(always)]
pub fn is_small<T>(n: i64, p: *const T) -> bool {
    let sized = (n.wrapping_sub(1) as u64) < (SMALL / size_of::<T>()) as u64;
    sized & is_placed(p)
}

/// Whether `p` is aligned, and neither null nor so high that the end of a small array could overflow.
#[inline(always)]
pub fn is_placed<T>(p: *const T) -> bool {
    (p.addr() as isize > 0) & p.is_aligned()
}

/// Whether `n` elements at `x` can be there, and are exactly those at `out` or apart from them.
/// Means something where [`is_small`] holds for `n` and `out`.
#[inline(always)]
pub fn is_same_or_apart<T>(n: i64, x: *const T, out: *const T) -> bool {
    let last = (n as usize).wrapping_mul(size_of::<T>()).wrapping_sub(1);
    let ahead = x.addr().wrapping_sub(out.addr());
    let apart = ahead.wrapping_add(last) > last.wrapping_mul(2);
    is_placed(x) & (apart | (ahead == 0))
}

/// The address of the end of a matrix of at least one element whose sizes and strides are below
/// [`LIMIT`] and not negative.
#[inline(always)]
pub fn end<T>(p: *const T, (rows, rs): (i64, i64), (cols, cs): (i64, i64)) -> Option<usize> {
    let elements = (rows - 1) * rs + (cols - 1) * cs + 1;
    p.addr().checked_add(elements as usize * size_of::<T>())
}

/// The sizes of an outer product, when its arguments are plain: a small output with contiguous rows,
/// contiguous vectors, and no overlap.
#[inline(always)]
pub fn outer<T>(
    (m, n): (i64, i64),
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    (out, rs, cs): (*const T, i64, i64),
) -> Option<(usize, usize)> {
    let sized = (m > 0) & (n > 1) & (m < LIMIT) & (rs >= n) & (rs < LIMIT);
    let contiguous = (incx == 1) & (incy == 1) & (cs == 1);
    let placed = is_placed(x) & is_placed(y) & is_placed(out);
    if !(sized & contiguous & placed && m * n <= (SMALL / size_of::<T>()) as i64) {
        return None;
    }
    let out_end = end(out, (m, rs), (n, 1))?;
    let apart = |p: *const T, len: i64| {
        // A small array at a place that is right ends in the address space.
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
    fn what_is_plain_elementwise() {
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
    fn what_is_a_plain_outer_product() {
        let is = |sizes, x: usize, y: usize, out: usize, rs, cs| {
            let at = |address: usize| address as *const f32;
            outer(sizes, (at(x), 1), (at(y), 1), (at(out), rs, cs)).is_some()
        };
        assert!(is((4, 4), 4096, 4096, 8192, 4, 1) && is((1, 2), 4096, 8192, 4104, 2, 1));
        // The last row is not padded.
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
