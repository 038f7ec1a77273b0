//! The last columns of a tile where they fill at most half a register, in registers of half the size: for CPUs
//! whose units take the larger ones in halves.

use super::tile::Steps;
use crate::element::Element;
use crate::simd::Simd;

/// The few columns at the end of a tile: a register of half the size for each row.
pub struct Split<S: Simd, const MR: usize> {
    sums: [<S::Half as Simd>::V; MR],
    /// The rows of A in reverse.
    rows: Steps<S::T>,
}

impl<S: Simd, const MR: usize> Split<S, MR> {
    /// `stride` gives that of A's rows, anew each time.
    #[inline(always)]
    pub fn new(s: S, a: *const S::T, stride: impl Fn() -> isize) -> Self {
        // An element of A that is loaded by the arithmetic keeps no unit from arithmetic, as a load to a register
        // does. The compiler takes the rows in reverse for others, and loads them once more.
        let back = || stride().wrapping_neg();
        let end = a.wrapping_offset(back() * (1 - MR as isize));
        Self {
            sums: [s.half().splat(S::T::ZERO); MR],
            rows: Steps::new(end, back),
        }
    }

    /// The next step of k.
    ///
    /// # Safety
    /// `b` must be valid for `columns` elements; each row must have an element.
    #[inline(always)]
    pub unsafe fn step(&mut self, s: S, b: *const S::T, columns: usize, a_cs: isize) {
        let h = s.half();
        // SAFETY: as the caller's.
        unsafe {
            let right = h.load_partial(b, columns);
            for (i, sum) in self.sums.iter_mut().enumerate() {
                let left = h.splat(*self.rows.row(MR - 1 - i));
                *sum = h.fma(left, right, *sum);
            }
        }
        self.rows.next(a_cs);
    }

    /// The sums, a register for each row.
    #[inline(always)]
    pub fn sums(self) -> [[<S::Half as Simd>::V; 1]; MR] {
        self.sums.map(|sum| [sum])
    }
}
