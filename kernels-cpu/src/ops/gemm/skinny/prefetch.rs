//! The cache lines that [`along_k`](super::microkernel::along_k) prefetches, while it reads others.

use super::super::microkernel::opaque;
use super::super::params::LINE;
use crate::simd::Simd;

/// How many cache lines of a B in memory are prefetched ahead, over all columns of a register: enough to hide the
/// latency of memory, few enough to stay in L1. Measured on Zen 5.
const LINES_AHEAD: usize = 192;

/// The cache lines of N / 2 columns that are prefetched: first in this segment, then in the next.
#[derive(Clone, Copy)]
pub struct Lines<T> {
    p: *const T,
    /// The lines of a column that are left in this segment.
    left: usize,
    next: *const T,
}

impl<T> Lines<T> {
    pub const NONE: Self = Self {
        p: core::ptr::null(),
        left: 0,
        next: core::ptr::null(),
    };

    /// The lines of `steps` steps of k at `p`, then those at `next`.
    #[inline(always)]
    pub fn new<S: Simd<T = T>>(steps: usize, p: *const T, next: *const T) -> Self {
        let lines = LINES_AHEAD / S::N;
        let left = (steps * size_of::<T>() / LINE).saturating_sub(lines);
        let ahead = p.wrapping_byte_add(lines * LINE);
        Self {
            p: if left > 0 { ahead } else { next },
            left,
            next,
        }
    }

    /// Prefetches a line of each column.
    #[inline(always)]
    pub fn prefetch<S: Simd<T = T>>(&mut self, s: S, rs: &isize) {
        let rs = opaque(rs);
        for column in 0..S::N as isize / 2 {
            s.prefetch(self.p.wrapping_offset(column * rs));
        }
        self.p = self.p.wrapping_byte_add(LINE);
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            self.p = self.next;
        }
    }
}

/// Runs of [`RUN`] lines of each column of two registers, which are prefetched to L1 from another cache while the run
/// before is read: L2 delivers four lines of a column in succession faster than one of each column.
pub struct LineRuns<T> {
    /// The run of the columns that are prefetched next.
    p: *const T,
    /// How often two columns are left of this run.
    pairs: usize,
    /// This run in the first column.
    first: *const T,
    /// The runs that are left in this segment, this one included.
    left: usize,
    next: *const T,
}

/// The cache lines of a run.
const RUN: usize = 4;

impl<T> LineRuns<T> {
    /// The runs after the first in `steps` steps of k at `p`, then the first at `next`.
    #[inline(always)]
    pub fn new<S: Simd<T = T>>(p: *const T, steps: usize, next: *const T) -> Self {
        let mut runs = Self {
            p,
            pairs: 0,
            first: p,
            left: (steps * size_of::<T>()).div_ceil(RUN * LINE),
            next,
        };
        runs.advance::<S>();
        runs
    }

    /// Goes on to the next run.
    #[inline(always)]
    fn advance<S: Simd<T = T>>(&mut self) {
        self.pairs = S::N;
        self.left = self.left.wrapping_sub(1);
        self.first = if self.left == 0 {
            self.next
        } else {
            self.first.wrapping_byte_add(RUN * LINE)
        };
        self.p = self.first;
    }

    /// Prefetches the run of two columns.
    #[inline(always)]
    pub fn prefetch<S: Simd<T = T>>(&mut self, s: S, rs: &isize) {
        let rs = opaque(rs);
        for p in [self.p, self.p.wrapping_offset(rs)] {
            for line in 0..RUN {
                s.prefetch(p.wrapping_byte_add(line * LINE));
            }
        }
        self.p = self.p.wrapping_offset(2 * rs);
        self.pairs -= 1;
        if self.pairs == 0 {
            self.advance::<S>();
        }
    }
}
