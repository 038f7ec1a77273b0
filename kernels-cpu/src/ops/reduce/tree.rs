//! The pairwise tree over chunks.

use core::mem::MaybeUninit;

use super::Fold;
use super::fold::{Accumulators, combine, start};
use crate::simd::Simd;

/// Depth of a tree over any number of chunks.
const DEPTH: usize = 56;
/// Most accumulators of a fold.
pub const MAX_ACCS: usize = 2;

/// The pairwise tree over chunks, built while they arrive, like a binary counter of chunks: each 1 bit of the count is
/// a digit that holds the result of as many chunks as the bit is worth.
pub struct Tree<S: Simd> {
    /// The digits in use for each accumulator, the highest bit first.
    digits: [[MaybeUninit<S::T>; DEPTH]; MAX_ACCS],
    /// How many chunks have been added.
    leaves: usize,
    /// How many digits are in use: the number of 1 bits of `leaves`.
    used: usize,
}

impl<S: Simd> Tree<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            digits: [const { [const { MaybeUninit::uninit() }; DEPTH] }; MAX_ACCS],
            leaves: 0,
            used: 0,
        }
    }

    /// Digit d, which must be in use, in all lanes.
    #[inline(always)]
    fn digit<F: Fold<S>>(&self, s: S, d: usize) -> F::Acc {
        const { assert!(F::Acc::COUNT <= MAX_ACCS) };
        let mut acc = start::<S, F>(s);
        for (acc, digits) in acc.as_mut().iter_mut().zip(&self.digits) {
            // SAFETY: digits in use have been written, and there are at most DEPTH.
            *acc = s.splat(unsafe { digits.get_unchecked(d).assume_init() });
        }
        acc
    }

    /// Adds a chunk whose result is in lane 0 of each accumulator of `leaf`.
    #[inline(always)]
    pub fn push<F: Fold<S>>(&mut self, s: S, leaf: F::Acc) {
        let mut value = leaf;
        let mut depth = self.used;
        let mut carry = self.leaves;
        while carry & 1 == 1 {
            depth -= 1;
            value = combine::<S, F>(s, self.digit::<F>(s, depth), value);
            carry >>= 1;
        }
        for (&value, digits) in value.as_ref().iter().zip(&mut self.digits) {
            // SAFETY: `leaves` stays below 2^DEPTH, so it has at most DEPTH 1 bits: a chunk has at least 1024 elements,
            // and there are at most 2^63.
            unsafe { digits.get_unchecked_mut(depth).write(s.first(value)) };
        }
        self.leaves += 1;
        self.used = depth + 1;
    }

    /// Returns the result in lane 0 of each accumulator. At least one chunk must have been added.
    #[inline(always)]
    pub fn finish<F: Fold<S>>(&self, s: S) -> F::Acc {
        let mut depth = self.used - 1;
        let mut value = self.digit::<F>(s, depth);
        while depth > 0 {
            depth -= 1;
            value = combine::<S, F>(s, self.digit::<F>(s, depth), value);
        }
        value
    }
}
