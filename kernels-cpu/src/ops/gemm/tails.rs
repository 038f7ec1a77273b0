//! Short tails: the last columns of a micro-tile when they fill at most half a register.

use core::marker::PhantomData;

use super::markers::Tail;
use super::microkernel::RowPointers;
use crate::array::from_fn;
use crate::element::Element;
use crate::simd::{Access, Register, Simd};

/// The most rows that share a register.
const MAX_ROWS: usize = 4;

/// The sums of a tail in which [`Tail::SHARED_BY`] rows share each register, side by side, so that few lanes are
/// wasted.
pub struct SharedRegister<S: Simd, const MR: usize, E: Tail> {
    sums: [S::V; MR],
    /// The elements of A, each in the lanes of its row.
    a: S::V,
    /// The tail's columns of B, repeated for each row of a register.
    b: S::V,
    /// For each row of a register, the lanes of the rows before it.
    before: [S::M; MAX_ROWS],
    tail: PhantomData<E>,
}

impl<S: Simd, const MR: usize, E: Tail> SharedRegister<S, MR, E> {
    /// Whether the micro-tile has such a tail. If not, nothing here is used.
    pub const IS_SOME: bool = E::SHARED_BY > 0;
    /// The rows that share a register.
    const ROWS: usize = if E::SHARED_BY == MAX_ROWS {
        MAX_ROWS
    } else {
        2
    };
    /// The lanes of each of them.
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

    /// Begins a step of k: loads the `columns` elements of B.
    ///
    /// # Safety
    /// `b` must be valid for `columns` elements.
    #[inline(always)]
    pub unsafe fn load_b(&mut self, s: S, b: *const S::T, columns: usize) {
        let mut b = s.load_partial(b, columns);
        b = s.unzip(b, b, S::N / 2).0;
        if Self::ROWS == MAX_ROWS {
            b = s.unzip(b, b, S::N / 4).0;
        }
        self.b = b;
    }

    /// Adds the product for row i, whose element of A is in every lane of `a`. Rows must come in ascending order: the
    /// fma is done with the last row of each register.
    #[inline(always)]
    pub fn add_row(&mut self, s: S, i: usize, a: S::V) {
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

    /// The sums of row i, moved to the first lanes.
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

/// The sums of a tail with a register of half the size for each row. For CPUs on which these take half the time
/// ([`detect::double_pumps_avx512`](crate::detect::double_pumps_avx512)).
pub struct HalfRegisters<S: Simd, const MR: usize> {
    sums: [<S::Half as Register>::V; MR],
    /// The rows of A, in reverse order.
    rows: RowPointers<S::T>,
}

impl<S: Simd, const MR: usize> HalfRegisters<S, MR> {
    /// `stride` returns the row stride of A, each time by an opaque load.
    #[inline(always)]
    pub fn new(s: S, a: *const S::T, stride: impl Fn() -> isize) -> Self {
        // A broadcast that is a memory operand of an fma takes no time from the arithmetic units; a broadcast load to a
        // register does. Addressed in reverse order, the elements of A are not recognised as those that the microkernel
        // loads too, so the compiler does not merge both uses into one load to a register.
        let back = || stride().wrapping_neg();
        let end = a.wrapping_offset(back() * (1 - MR as isize));
        Self {
            sums: [s.half().splat(S::T::ZERO); MR],
            rows: RowPointers::new(end, back),
        }
    }

    /// Does a step of k.
    ///
    /// # Safety
    /// `b` must be valid for `columns` elements; each row must have an element at this step.
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

    /// The sums, one register for each row.
    #[inline(always)]
    pub fn sums(self) -> [[<S::Half as Register>::V; 1]; MR] {
        from_fn(|i| [self.sums[i]])
    }
}
