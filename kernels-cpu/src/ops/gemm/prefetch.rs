//! The addresses that microkernels prefetch while they compute, one cache line at a time.
#![forbid(unsafe_code)]

use super::Gemm;
use super::params::LINE;

/// The cache lines of the next product of a batch: first B, because the first micro-tiles read every row of it, then A,
/// then C.
pub struct NextProduct {
    /// Addresses and bytes.
    spans: [(usize, usize); 3],
    span: usize,
    done: usize,
}

impl NextProduct {
    /// The matrices of `next` that `p` does not share.
    #[inline(always)]
    pub fn new<T>(p: &Gemm<T>, next: &Gemm<T>) -> Self {
        let span = |before: *const T,
                    at: *const T,
                    (rows, rs): (usize, isize),
                    (cols, cs): (usize, isize)| {
            let extent = |n: usize, stride: isize| (n - 1).saturating_mul(stride.unsigned_abs());
            let elements = rows * cols;
            // No prefetch of a matrix with gaps: the memory in them would be fetched too.
            let is_dense = rs > 0
                && cs > 0
                && extent(rows, rs).saturating_add(extent(cols, cs)) == elements - 1;
            let bytes = if is_dense && at != before {
                elements * size_of::<T>()
            } else {
                0
            };
            (at.addr(), bytes)
        };
        Self {
            spans: [
                span(p.b.ptr, next.b.ptr, (p.k, p.b.rs), (p.n, p.b.cs)),
                span(p.a.ptr, next.a.ptr, (p.m, p.a.rs), (p.k, p.a.cs)),
                span(p.c.ptr, next.c.ptr, (p.m, p.c.rs), (p.n, p.c.cs)),
            ],
            span: 0,
            done: 0,
        }
    }

    /// The address of the next `count` lines, or `None` after the last. These lines may reach past the end of a matrix.
    #[inline(always)]
    pub fn take_lines(&mut self, count: usize) -> Option<usize> {
        loop {
            let &(at, bytes) = self.spans.get(self.span)?;
            if self.done < bytes {
                let line = at.wrapping_add(self.done);
                self.done += count * LINE;
                return Some(line);
            }
            self.span += 1;
            self.done = 0;
        }
    }
}

/// The cache lines of the micro-panel that is packed next, whose elements at each step of k are contiguous. A
/// microkernel prefetches one line of every step.
pub struct NextMicroPanel {
    at: usize,
    bytes: usize,
    /// `bytes`, and a line more if the elements of a step need not start on a line boundary.
    end: usize,
    done: usize,
}

impl NextMicroPanel {
    /// Without lines.
    pub const NONE: Self = Self {
        at: 0,
        bytes: 0,
        end: 0,
        done: 0,
    };

    /// A micro-panel of `elements` elements at each step of k; a step is `stride` elements after the last.
    #[inline(always)]
    pub fn new<T>(at: *const T, elements: usize, stride: isize) -> Self {
        let (at, bytes) = (at.addr(), elements * size_of::<T>());
        let step = (stride as usize).wrapping_mul(size_of::<T>());
        let is_aligned = (at | step).is_multiple_of(LINE);
        Self {
            at,
            bytes,
            end: if is_aligned { bytes } else { bytes + LINE },
            done: 0,
        }
    }

    /// Whether lines are left to prefetch.
    #[inline(always)]
    pub fn has_lines(&self) -> bool {
        self.done < self.end
    }

    /// The address of the next line, at the first step of k.
    #[inline(always)]
    pub fn take_line(&mut self) -> usize {
        let line = self.at.wrapping_add(self.done.min(self.bytes - 1));
        self.done += LINE;
        line
    }
}
