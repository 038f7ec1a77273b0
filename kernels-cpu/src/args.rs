//! Checks of arguments: sizes, pointers, strides, overflow and overlap. Nothing here reads memory.
#![forbid(unsafe_code)]

use crate::error::{Error, Result};

/// Converts a size.
///
/// # Errors
/// `NegativeSize`; `SizeOverflow` when it does not fit a `usize`.
#[inline]
pub fn size(n: i64, arg: &'static str) -> Result<usize> {
    if n < 0 {
        return Err(Error::NegativeSize { arg });
    }
    usize::try_from(n).map_err(|_| Error::SizeOverflow { arg })
}

/// Converts the stride of a dimension of `count` elements. With fewer than two elements the stride has no meaning and
/// is not checked: the result is 1, whatever was given, so that nothing is ever multiplied by an unchecked stride.
///
/// # Errors
/// `SizeOverflow` when it does not fit an `isize`.
#[inline]
pub fn stride(inc: i64, count: usize, arg: &'static str) -> Result<isize> {
    if count < 2 {
        return Ok(1);
    }
    isize::try_from(inc).map_err(|_| Error::SizeOverflow { arg })
}

/// The bytes that an array argument covers.
#[derive(Clone, Copy)]
pub struct Region {
    arg: &'static str,
    /// The first byte, and one past the last; equal when there are no elements.
    low: usize,
    high: usize,
    /// Bytes of an element.
    element: usize,
    /// For each dimension, the number of elements and the bytes (not negative) from one to the next; (1, 0) for a
    /// dimension with fewer than two elements.
    dims: [(usize, usize); 3],
}

impl Region {
    /// Returns the region of the elements p\[sum of i_d * stride_d\], for all i_d < count_d; `dims` are pairs
    /// (count_d, stride_d), at most three.
    ///
    /// Inlined, as are the checks on it: to return or move a region through memory costs more than the kernel of a
    /// small call.
    ///
    /// # Errors
    /// Unless a count is 0: `NullPointer`, `Misaligned`, and `SizeOverflow` when the elements span more than the
    /// address space.
    #[inline(always)]
    pub fn new<T>(p: *const T, dims: &[(usize, isize)], arg: &'static str) -> Result<Self> {
        let element = size_of::<T>();
        let mut region = Region {
            arg,
            low: 0,
            high: 0,
            element,
            dims: [(1, 0); 3],
        };
        if dims.iter().any(|&(count, _)| count == 0) {
            return Ok(region);
        }
        if p.is_null() {
            return Err(Error::NullPointer { arg });
        }
        if !p.is_aligned() {
            return Err(Error::Misaligned { arg });
        }
        region
            .place(p.addr(), dims)
            .ok_or(Error::SizeOverflow { arg })?;
        Ok(region)
    }

    /// Computes the bounds and the dimensions; `None` on overflow.
    #[inline(always)]
    fn place(&mut self, address: usize, dims: &[(usize, isize)]) -> Option<()> {
        (self.low, self.high) = (address, address);
        for (slot, &(count, stride)) in self.dims.iter_mut().zip(dims) {
            if count < 2 {
                continue;
            }
            let step = stride.unsigned_abs().checked_mul(self.element)?;
            let reach = step.checked_mul(count - 1)?;
            if stride < 0 {
                self.low = self.low.checked_sub(reach)?;
            } else {
                self.high = self.high.checked_add(reach)?;
            }
            *slot = (count, step);
        }
        self.high = self.high.checked_add(self.element)?;
        isize::try_from(self.high - self.low).ok().map(|_| ())
    }

    /// Refuses an output that has two elements at one address. The answer is exact for two dimensions. With three, the
    /// stride of each dimension must exceed the extent of those with smaller strides.
    ///
    /// # Errors
    /// `Overlap`.
    #[inline(always)]
    pub fn check_distinct(&self) -> Result<()> {
        let [first, second, third] = self.dims;
        let ok = match (first.0 > 1, second.0 > 1, third.0 > 1) {
            (false, false, false) => true,
            (true, false, false) => first.1 > 0,
            (false, true, false) => second.1 > 0,
            (true, true, false) => {
                steps_over(first, second)
                    || steps_over(second, first)
                    || distinct_pair(first, second)
            }
            _ => self.is_nested(),
        };
        if ok {
            Ok(())
        } else {
            Err(Error::Overlap { arg: self.arg })
        }
    }

    /// Returns whether the stride of each dimension is at least the extent of those with smaller strides.
    #[inline(never)]
    fn is_nested(&self) -> bool {
        let mut dims = self.dims;
        dims.sort_unstable_by_key(|&(_, step)| step);
        let mut extent = self.element;
        dims.iter()
            .filter(|&&(count, _)| count > 1)
            .all(|&(count, step)| {
                let fits = step >= extent;
                extent += step * (count - 1);
                fits
            })
    }

    /// Refuses an output that may share a byte with `other`.
    ///
    /// # Errors
    /// `Overlap`, also when the regions cannot be shown to be apart.
    #[inline(always)]
    pub fn apart_from(&self, other: &Region) -> Result<()> {
        if self.high <= other.low || other.high <= self.low || self.disjoint(other) {
            return Ok(());
        }
        Err(Error::Overlap { arg: self.arg })
    }

    /// As [`Region::apart_from`], but `other` may be exactly this region: the same contiguous elements.
    ///
    /// # Errors
    /// As [`Region::apart_from`].
    #[inline(always)]
    pub fn same_or_apart_from(&self, other: &Region) -> Result<()> {
        if (self.low, self.high) == (other.low, other.high) {
            return Ok(());
        }
        self.apart_from(other)
    }

    /// Returns whether the regions can be shown to be disjoint although their bounds overlap: one is empty, or they are
    /// apart modulo the stride of some dimension (the pitch), as blocks of one matrix and interleaved arrays are.
    #[inline(never)]
    fn disjoint(&self, other: &Region) -> bool {
        if self.low == self.high || other.low == other.high {
            return true;
        }
        self.dims.iter().chain(&other.dims).any(|&(count, pitch)| {
            if count < 2 || pitch == 0 {
                return false;
            }
            let (Some(width), Some(other_width)) = (self.width(pitch), other.width(pitch)) else {
                return false;
            };
            let ahead = (other.low % pitch + pitch - self.low % pitch) % pitch;
            ahead >= width && pitch - ahead >= other_width
        })
    }

    /// Returns how many bytes the region covers modulo `pitch`, if that is at most `pitch`.
    fn width(&self, pitch: usize) -> Option<usize> {
        let finer = self.dims.iter().filter(|&&(_, step)| step % pitch != 0);
        let width = finer
            .map(|&(count, step)| step * (count - 1))
            .sum::<usize>()
            + self.element;
        (width <= pitch).then_some(width)
    }
}

/// Returns whether a step of `outer` passes all elements of `inner`. (Steps are multiples of the element size.)
fn steps_over(outer: (usize, usize), inner: (usize, usize)) -> bool {
    inner.1 > 0 && outer.1 > inner.1 * (inner.0 - 1)
}

/// Returns whether i * a + j * b is different for all i < m and j < n: two pairs give the same sum exactly when
/// m > b / gcd(a, b) and n > a / gcd(a, b).
#[inline(never)]
fn distinct_pair((m, a): (usize, usize), (n, b): (usize, usize)) -> bool {
    if a == 0 || b == 0 {
        return false;
    }
    let (mut gcd, mut rest) = (a, b);
    while rest != 0 {
        (gcd, rest) = (rest, gcd % rest);
    }
    b / gcd >= m || a / gcd >= n
}

/// Returns the region of a contiguous vector.
///
/// # Errors
/// As [`Region::new`].
#[inline(always)]
pub fn slice<T>(p: *const T, n: usize, arg: &'static str) -> Result<Region> {
    Region::new(p, &[(n, 1)], arg)
}

/// Returns the region of a scalar output.
///
/// # Errors
/// As [`Region::new`].
#[inline(always)]
pub fn scalar<T>(p: *const T, arg: &'static str) -> Result<Region> {
    Region::new(p, &[(1, 1)], arg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: usize, dims: &[(usize, isize)]) -> Region {
        Region::new(address as *const f32, dims, "x").unwrap()
    }

    /// Lists every byte of a region.
    fn bytes(address: usize, dims: &[(usize, isize)]) -> std::vec::Vec<usize> {
        let mut starts = std::vec![address as isize];
        for &(count, stride) in dims {
            starts = starts
                .iter()
                .flat_map(|&s| (0..count as isize).map(move |i| s + i * stride * 4))
                .collect();
        }
        starts
            .iter()
            .flat_map(|&s| (0..4).map(move |b| (s + b) as usize))
            .collect()
    }

    /// Compares with brute force over small matrices: regions that are accepted are disjoint, and disjoint blocks of
    /// one matrix are accepted.
    #[test]
    fn overlap_agrees_with_brute_force() {
        let layouts: &[[(usize, isize); 2]] = &[
            [(3, 8), (4, 1)],
            [(4, 1), (3, 8)],
            [(3, -8), (2, 2)],
            [(1, 5), (6, 1)],
            [(2, 3), (2, 2)],
        ];
        for a in layouts {
            for b in layouts {
                for shift in 0..40 {
                    let (base, other) = (4096, 4096 - 64 + shift * 4);
                    let taken = bytes(base, a);
                    let apart = !bytes(other, b).iter().any(|x| taken.contains(x));
                    let accepted = at(base, a).apart_from(&at(other, b)).is_ok();
                    assert!(apart || !accepted, "{a:?} {b:?} {shift}");
                }
            }
        }
        let left = at(4096, &[(3, 8), (4, 1)]);
        assert!(left.apart_from(&at(4096 + 16, &[(3, 8), (4, 1)])).is_ok());
        assert!(left.apart_from(&at(4096 + 12, &[(3, 8), (4, 1)])).is_err());
        assert!(at(4096, &[(5, 2)]).apart_from(&at(4100, &[(5, 2)])).is_ok());
    }

    #[test]
    fn distinct_agrees_with_brute_force() {
        for m in 1..5 {
            for n in 1..5 {
                for rs in -6..7 {
                    for cs in -6..7 {
                        let dims = [(m, rs), (n, cs)];
                        let mut all = bytes(4096, &dims);
                        all.sort_unstable();
                        let distinct = all.windows(2).all(|w| w[0] != w[1]);
                        assert_eq!(
                            at(4096, &dims).check_distinct().is_ok(),
                            distinct,
                            "{dims:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn overflow_is_refused() {
        let p = 4096 as *const f64;
        for dims in [
            [(usize::MAX / 4, 1), (1, 1)],
            [(1 << 40, 1 << 30), (1, 1)],
            [(1 << 33, 1 << 33), (1 << 33, 1)],
        ] {
            assert!(matches!(
                Region::new(p, &dims, "x"),
                Err(Error::SizeOverflow { arg: "x" })
            ));
        }
        assert!(Region::new(p, &[(2, isize::MIN)], "x").is_err());
    }
}
