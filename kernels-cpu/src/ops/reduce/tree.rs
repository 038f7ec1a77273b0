//! The pairwise tree over chunks, and the order in which they are read.

use core::mem::MaybeUninit;

use super::Fold;
use crate::simd::Simd;

/// Depth of a tree over any number of chunks.
const DEPTH: usize = 56;

/// The pairwise tree over chunks, built while they arrive: a binary counter whose digit d holds the
/// result of 2^d chunks, in lane 0.
pub struct Tree<S: Simd, const DIGITS: usize = DEPTH> {
    digits: [MaybeUninit<S::V>; DIGITS],
    /// A digit is in use for each one among its bits.
    leaves: usize,
}

impl<S: Simd, const DIGITS: usize> Tree<S, DIGITS> {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            digits: [const { MaybeUninit::uninit() }; DIGITS],
            leaves: 0,
        }
    }

    /// Digit number d of those in use.
    #[inline(always)]
    fn digit(&self, d: usize) -> S::V {
        // SAFETY: digits in use have been written, and there are at most DIGITS.
        unsafe { self.digits.get_unchecked(d).assume_init() }
    }

    #[inline(always)]
    pub fn push<F: Fold<S>>(&mut self, s: S, leaf: S::V) {
        self.push_many::<F>(s, leaf, 0);
    }

    /// The result of the next 2^level leaves at once, where their number so far is a multiple of that.
    #[inline(always)]
    fn push_many<F: Fold<S>>(&mut self, s: S, result: S::V, level: u32) {
        let mut value = result;
        let mut depth = self.leaves.count_ones() as usize;
        let mut carry = self.leaves >> level;
        while carry & 1 == 1 {
            depth -= 1;
            value = F::combine(s, self.digit(depth), value);
            carry >>= 1;
        }
        // SAFETY: there are at most as many ones in `leaves`, which stays below 2^DIGITS: a leaf is
        // 1024 elements at least, of at most 2^63, and a tree of a block has 2^BLOCK leaves.
        unsafe { self.digits.get_unchecked_mut(depth).write(value) };
        self.leaves += 1 << level;
    }

    /// The result; at least one leaf has been pushed.
    #[inline(always)]
    pub fn finish<F: Fold<S>>(&mut self, s: S) -> S::V {
        let mut depth = self.leaves.count_ones() as usize - 1;
        let mut value = self.digit(depth);
        while depth > 0 {
            depth -= 1;
            value = F::combine(s, self.digit(depth), value);
        }
        self.leaves = 0;
        value
    }
}

/// The order in which the chunks of a vector are read. Past the caches, two places in turn come faster
/// than one: pairs of blocks of 2^[`BLOCK`] chunks.
#[derive(Clone, Copy)]
pub struct Order {
    /// Chunks in pairs of blocks: the first ones.
    paired: usize,
}

const BLOCK: u32 = 6;
const PAIR: usize = 2 << BLOCK;

impl Order {
    #[inline(always)]
    pub fn new(chunks: usize) -> Self {
        /// 16 MiB, from where on other places gain more than they lose: below, caches hold the elements.
        const MANY: usize = 2048;
        Self {
            paired: if chunks < MANY {
                0
            } else {
                chunks / PAIR * PAIR
            },
        }
    }

    /// The chunk that is read as number `t`.
    #[inline(always)]
    pub fn chunk(self, t: usize) -> usize {
        if t < self.paired {
            t / PAIR * PAIR + (t % 2) * (PAIR / 2) + t % PAIR / 2
        } else {
            t
        }
    }

    /// Whether that is in the second block of a pair.
    #[inline(always)]
    fn is_far(self, t: usize) -> bool {
        t < self.paired && t % 2 == 1
    }
}

/// The tree over chunks that arrive in an [`Order`].
pub struct Trees<S: Simd> {
    pub near: Tree<S>,
    /// Of the second block of a pair.
    far: Tree<S, { BLOCK as usize + 1 }>,
}

impl<S: Simd> Trees<S> {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            near: Tree::new(),
            far: Tree::new(),
        }
    }

    /// Chunk number `t`.
    #[inline(always)]
    pub fn push<F: Fold<S>>(&mut self, s: S, order: Order, t: usize, leaf: S::V) {
        if !order.is_far(t) {
            return self.near.push::<F>(s, leaf);
        }
        self.far.push::<F>(s, leaf);
        if t % PAIR == PAIR - 1 {
            let block = self.far.finish::<F>(s);
            self.near.push_many::<F>(s, block, BLOCK);
        }
    }
}
