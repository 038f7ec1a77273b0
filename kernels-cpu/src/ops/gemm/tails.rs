//! The last columns of a micro-tile where they fill at most half a register.

use core::array::from_fn;
use core::marker::PhantomData;

use super::markers::Tail;
use super::microkernel::RowPointers;
use crate::element::Element;
use crate::simd::{Access, Register, Simd};

/// Rows that share a register, at most.
const MOST: usize = 4;

/// The columns of a tail, with a register of sums for as many rows as fit beside each other, so that no lane
/// computes what nobody asked for.
pub struct SharedRegister<S: Simd, const MR: usize, E: Tail> {
    sums: [S::V; MR],
    /// Elements of A, each in the lanes of its row.
    a: S::V,
    /// The columns of B, as often as there are rows.
    b: S::V,
    /// The lanes of the rows before each that shares a register.
    before: [S::M; MOST],
    tail: PhantomData<E>,
}

impl<S: Simd, const MR: usize, E: Tail> SharedRegister<S, MR, E> {
    /// Whether such a micro-tile has any.
    pub const IS_SOME: bool = E::SHARED_BY > 0;
    /// Rows in a register.
    const ROWS: usize = if E::SHARED_BY == MOST { MOST } else { 2 };
    /// Lanes of a row.
    const LANES: usize = S::N / Self::ROWS;

    #[inline(always)]
    pub fn new(s: S) -> Self {
        let zero = s.splat(S::T::ZERO);
        Self {
            sums: [zero; MR],
            a: zero,
            b: zero,
            before: from_fn(|place| s.first_lanes_hidden(place % Self::ROWS * Self::LANES)),
            tail: PhantomData,
        }
    }

    /// The next step of k.
    ///
    /// # Safety
    /// `b` must be valid for `columns` elements.
    #[inline(always)]
    pub unsafe fn start(&mut self, s: S, b: *const S::T, columns: usize) {
        // SAFETY: as the caller's.
        let mut b = unsafe { s.load_partial(b, columns) };
        b = s.unzip(b, b, S::N / 2).0;
        if Self::ROWS == MOST {
            b = s.unzip(b, b, S::N / 4).0;
        }
        self.b = b;
    }

    /// Row i of it, in ascending order, with its element of A in every lane.
    #[inline(always)]
    pub fn row(&mut self, s: S, i: usize, a: S::V) {
        let place = i % Self::ROWS;
        self.a = match place {
            0 => a,
            _ => s.select(self.before[place], self.a, a),
        };
        if place + 1 == Self::ROWS || i + 1 == MR {
            let sum = &mut self.sums[i / Self::ROWS];
            *sum = s.fma(self.a, self.b, *sum);
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

/// The columns of a tail, with a register of half the size for each row: for CPUs whose units take the larger
/// ones in halves.
pub struct HalfRegisters<S: Simd, const MR: usize> {
    sums: [<S::Half as Register>::V; MR],
    /// The rows of A in reverse.
    rows: RowPointers<S::T>,
}

impl<S: Simd, const MR: usize> HalfRegisters<S, MR> {
    /// `stride` gives that of A's rows, anew each time.
    #[inline(always)]
    pub fn new(s: S, a: *const S::T, stride: impl Fn() -> isize) -> Self {
        // An element of A that is loaded by the arithmetic keeps no unit from arithmetic, as a load to a register
        // does. The compiler takes the rows in reverse for others, and loads them once more.
        let back = || stride().wrapping_neg();
        let end = a.wrapping_offset(back() * (1 - MR as isize));
        Self {
            sums: [s.half().splat(S::T::ZERO); MR],
            rows: RowPointers::new(end, back),
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
            let b = h.load_partial(b, columns);
            for (i, sum) in self.sums.iter_mut().enumerate() {
                let a = h.splat(*self.rows.row(MR - 1 - i));
                *sum = h.fma(a, b, *sum);
            }
        }
        self.rows.next(a_cs);
    }

    /// The sums, a register for each row.
    #[inline(always)]
    pub fn sums(self) -> [[<S::Half as Register>::V; 1]; MR] {
        self.sums.map(|sum| [sum])
    }
}
