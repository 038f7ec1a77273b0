//! What will be touched next, line by line: it is prefetched while there is something else to compute.
#![forbid(unsafe_code)]

use super::Gemm;
use super::params::LINE;

/// What the next product of a batch touches, in order: B, of which the first micro-tiles read all rows, A, C.
/// Addresses and bytes.
pub struct NextProduct {
    spans: [(usize, usize); 3],
    span: usize,
    done: usize,
}

impl NextProduct {
    /// What `next` touches that `p` does not.
    #[inline(always)]
    pub fn new<T>(p: &Gemm<T>, next: &Gemm<T>) -> Self {
        let span = |before: *const T,
                    at: *const T,
                    (rows, rs): (usize, isize),
                    (cols, cs): (usize, isize)| {
            let extent = |n: usize, stride: isize| (n - 1).saturating_mul(stride.unsigned_abs());
            let elements = rows * cols;
            // Not where there are gaps: what lies in them would be brought too.
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
                span(p.b, next.b, (p.k, p.b_rs), (p.n, p.b_cs)),
                span(p.a, next.a, (p.m, p.a_rs), (p.k, p.a_cs)),
                span(p.c, next.c, (p.m, p.c_rs), (p.n, p.c_cs)),
            ],
            span: 0,
            done: 0,
        }
    }

    /// The address of the next `count` lines, as far as there are any; the last may go past the end.
    #[inline(always)]
    pub fn take(&mut self, count: usize) -> Option<usize> {
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

/// A micro-panel that is packed next, of contiguous elements at each step of k: a line of every step at once.
pub struct NextMicroPanel {
    at: usize,
    bytes: usize,
    /// Bytes of the elements, and a line more where they may start within one.
    end: usize,
    done: usize,
}

impl NextMicroPanel {
    /// Of nothing.
    pub const NONE: Self = Self {
        at: 0,
        bytes: 0,
        end: 0,
        done: 0,
    };

    /// Of so many elements, `stride` elements apart at each step.
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

    /// Whether there are lines left.
    #[inline(always)]
    pub fn is_some(&self) -> bool {
        self.done < self.end
    }

    /// The address of the next line at the first step.
    #[inline(always)]
    pub fn take(&mut self) -> usize {
        let line = self.at.wrapping_add(self.done.min(self.bytes - 1));
        self.done += LINE;
        line
    }
}
