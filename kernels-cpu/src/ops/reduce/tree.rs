//! The pairwise tree over chunks.

use core::mem::MaybeUninit;

use super::Fold;
use crate::simd::Simd;

/// Depth of a tree over any number of chunks.
const DEPTH: usize = 56;

/// The pairwise tree over chunks, built while they arrive: a binary counter whose digit d holds the
/// result of 2^d chunks.
pub struct Tree<S: Simd> {
    digits: [MaybeUninit<S::T>; DEPTH],
    /// A digit is in use for each one among its bits: so many.
    leaves: usize,
    used: usize,
}

impl<S: Simd> Tree<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            digits: [const { MaybeUninit::uninit() }; DEPTH],
            leaves: 0,
            used: 0,
        }
    }

    /// Digit number d of those in use, in lane 0.
    #[inline(always)]
    fn digit(&self, s: S, d: usize) -> S::V {
        // SAFETY: digits in use have been written, and there are at most DEPTH.
        s.splat(unsafe { self.digits.get_unchecked(d).assume_init() })
    }

    /// Adds a chunk, whose result is in lane 0 of `leaf`.
    #[inline(always)]
    pub fn push<F: Fold<S>>(&mut self, s: S, leaf: S::V) {
        let mut value = leaf;
        let mut depth = self.used;
        let mut carry = self.leaves;
        while carry & 1 == 1 {
            depth -= 1;
            value = F::combine(s, self.digit(s, depth), value);
            carry >>= 1;
        }
        // SAFETY: there are at most as many ones in `leaves`, which stays below 2^DEPTH: a leaf is
        // 1024 elements at least, of at most 2^63.
        unsafe { self.digits.get_unchecked_mut(depth).write(s.first(value)) };
        self.leaves += 1;
        self.used = depth + 1;
    }

    /// The result; at least one leaf has been pushed.
    #[inline(always)]
    pub fn finish<F: Fold<S>>(&self, s: S) -> S::V {
        let mut depth = self.used - 1;
        let mut value = self.digit(s, depth);
        while depth > 0 {
            depth -= 1;
            value = F::combine(s, self.digit(s, depth), value);
        }
        value
    }
}
