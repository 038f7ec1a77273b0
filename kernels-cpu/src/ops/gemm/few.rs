//! The last columns of a tile where they fill half a register or a quarter: several rows share a register,
//! so that no lane computes what nobody asked for.

use core::array::from_fn;

use super::tile::{HALF, QUARTER};
use crate::element::Element;
use crate::simd::Simd;

/// Rows that share a register, at most.
const MOST: usize = 4;

/// The few columns at the end of a tile: a register of sums for as many rows as fit beside each other.
pub struct Few<S: Simd, const MR: usize, const END: u8> {
    sums: [S::V; MR],
    /// Elements of A, each in the lanes of its row.
    left: S::V,
    /// The columns of B, as often as there are rows.
    right: S::V,
    /// The lanes of the rows before each that shares a register.
    before: [S::M; MOST],
}

impl<S: Simd, const MR: usize, const END: u8> Few<S, MR, END> {
    /// Whether such a tile has any.
    pub const ARE_SOME: bool = END == HALF || END == QUARTER;
    /// Rows in a register.
    const ROWS: usize = if END == QUARTER { MOST } else { 2 };
    /// Lanes of a row.
    const LANES: usize = S::N / Self::ROWS;

    #[inline(always)]
    pub fn new(s: S) -> Self {
        let zero = s.splat(S::T::ZERO);
        Self {
            sums: [zero; MR],
            left: zero,
            right: zero,
            before: from_fn(|place| s.first_lanes_hidden(place % Self::ROWS * Self::LANES)),
        }
    }

    /// The next step of k.
    ///
    /// # Safety
    /// `b` must be valid for `columns` elements.
    #[inline(always)]
    pub unsafe fn start(&mut self, s: S, b: *const S::T, columns: usize) {
        // SAFETY: as the caller's.
        let mut right = unsafe { s.load_partial(b, columns) };
        right = s.halves(right, right, S::N / 2).0;
        if Self::ROWS == MOST {
            right = s.halves(right, right, S::N / 4).0;
        }
        self.right = right;
    }

    /// Row i of it, in ascending order, with its element of A in every lane.
    #[inline(always)]
    pub fn row(&mut self, s: S, i: usize, left: S::V) {
        let place = i % Self::ROWS;
        self.left = match place {
            0 => left,
            _ => s.select(self.before[place], self.left, left),
        };
        if place + 1 == Self::ROWS || i + 1 == MR {
            let sum = &mut self.sums[i / Self::ROWS];
            *sum = s.fma(self.left, self.right, *sum);
        }
    }

    /// The sums of row i, in the first lanes.
    #[inline(always)]
    pub fn sums(&self, s: S, i: usize) -> S::V {
        let sums = self.sums[i / Self::ROWS];
        match (i % Self::ROWS, Self::ROWS) {
            (0, _) => sums,
            (1, 2) | (2, 4) => s.upper(sums, S::N / 2),
            (1, _) => s.upper(sums, S::N / 4),
            _ => s.upper(s.upper(sums, S::N / 2), S::N / 4),
        }
    }
}
