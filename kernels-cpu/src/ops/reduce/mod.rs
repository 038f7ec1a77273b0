//! Reductions in the canonical order.
//!
//! The order, which fixes the bits and is part of the ABI, for lanes L = 256 bytes of elements
//! (64 f32, 32 f64) and chunks of 32 L elements:
//!
//! 1. Within a chunk, element i goes to lane i mod L; each lane takes its elements in ascending
//!    order, starting from the fold's start value.
//! 2. The lanes are halved: lane l takes lane l + w, for w = L/2, L/4, ..., 1.
//! 3. The chunks' results are combined by a pairwise tree: a tree over c values combines the tree
//!    over the first p, the largest power of two below c, with the tree over the rest.
//! 4. The caller ends sums with + (+0) and turns every NaN into the canonical one.
//!
//! Because of step 4, lanes that got no element may be filled with +0 or left out of a sum: that
//! changes only the sign of a zero. Step 3 may be cut into aligned runs of 2^j chunks.

mod columns;
mod dots;
mod extreme;
mod fold;
mod leaf;
mod lsq;
mod mse;
mod rows;

pub use columns::columns;
pub use dots::dot_rows;
pub use extreme::{Found, argmax, argmax_columns, argmin, argmin_columns, first_in_rows};
pub use fold::*;
pub use lsq::{LSQ_ROWS, lsq_block};
pub use mse::mse_grad;
pub use rows::rows;

use core::mem::MaybeUninit;

use crate::element::Element;
use crate::simd::Simd;
use leaf::{halve_lanes, has_nan, leaf};

/// Elements of a chunk.
pub const fn chunk_len<T: Element>() -> usize {
    32 * T::LANES
}

/// Depth of a tree over any number of chunks.
const DEPTH: usize = 56;

/// The pairwise tree over chunks, built while they arrive: a binary counter whose digit d holds the
/// result of 2^d chunks, in lane 0.
struct Tree<S: Simd> {
    digits: [MaybeUninit<S::V>; DEPTH],
    /// Digits in use.
    depth: usize,
    leaves: usize,
}

impl<S: Simd> Tree<S> {
    #[inline(always)]
    fn new() -> Self {
        Self {
            digits: [const { MaybeUninit::uninit() }; DEPTH],
            depth: 0,
            leaves: 0,
        }
    }

    #[inline(always)]
    fn pop(&mut self) -> S::V {
        self.depth -= 1;
        // SAFETY: digits below the old depth have been written, and depth <= DEPTH.
        unsafe { self.digits.get_unchecked(self.depth).assume_init() }
    }

    #[inline(always)]
    fn push<F: Fold<S>>(&mut self, s: S, leaf: S::V) {
        let mut value = leaf;
        let mut carry = self.leaves;
        while carry & 1 == 1 {
            value = F::combine(s, self.pop(), value);
            carry >>= 1;
        }
        // SAFETY: the depth is the number of ones in `leaves`, which stays below 2^DEPTH: a leaf is
        // 1024 elements at least, of at most 2^63.
        unsafe { self.digits.get_unchecked_mut(self.depth).write(value) };
        self.depth += 1;
        self.leaves += 1;
    }

    /// The result; at least one leaf has been pushed.
    #[inline(always)]
    fn finish<F: Fold<S>>(&mut self, s: S) -> S::T {
        let mut value = self.pop();
        while self.depth > 0 {
            value = F::combine(s, self.pop(), value);
        }
        s.first(value)
    }
}

/// A vector operand: its elements by register.
#[derive(Clone, Copy)]
struct Source<T> {
    p: *const T,
    inc: isize,
}

impl<T: Element> Source<T> {
    #[inline(always)]
    fn skip(self, i: usize) -> Self {
        Self {
            p: self.p.wrapping_offset(i as isize * self.inc),
            inc: self.inc,
        }
    }

    /// Elements i..i+n as a register, +0 in the lanes from n on.
    #[inline(always)]
    unsafe fn get<S: Simd<T = T>, const STRIDED: bool>(self, s: S, i: usize, n: usize) -> S::V {
        // SAFETY: the caller vouches for elements i..i+n, n <= N.
        unsafe {
            if STRIDED {
                s.load_strided(self.skip(i).p, self.inc, n)
            } else if n == S::N {
                s.load(self.p.add(i))
            } else {
                s.load_partial(self.p.add(i), n)
            }
        }
    }
}

/// Lane 0 holds the result of one chunk (steps 1 and 2).
#[inline(always)]
unsafe fn chunk<S: Simd, F: Fold<S>, const STRIDED: bool>(
    s: S,
    n: usize,
    x: Source<S::T>,
    y: Source<S::T>,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if <F::Nonzero as Fold<S>>::NAN_APART {
            let quick = leaf::<S, F::Nonzero, STRIDED>(s, n, x, y, param);
            let v = halve_lanes::<S, F::Nonzero>(s, quick.value, n);
            let is_zero = <F::Nonzero as Fold<S>>::ZERO_APART && s.first(v) == S::T::ZERO;
            if !has_nan(s, quick.suspect) && !is_zero {
                return v;
            }
        }
        halve_lanes::<S, F>(s, leaf::<S, F, STRIDED>(s, n, x, y, param).value, n)
    }
}

/// [`chunk`] of at most N contiguous elements.
#[inline(always)]
unsafe fn one_register<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: Source<S::T>,
    y: Source<S::T>,
    param: S::V,
) -> S::V {
    // SAFETY: as the caller's.
    let (v, second) = unsafe {
        let second = if F::PAIR {
            y.get::<S, false>(s, 0, n)
        } else {
            param
        };
        (x.get::<S, false>(s, 0, n), second)
    };
    let start = s.splat(F::START);
    let next = F::step(s, start, v, second);
    let lanes = if F::ZERO_IS_NEUTRAL {
        next
    } else {
        s.select(s.first_lanes(n), next, start)
    };
    halve_lanes::<S, F>(s, lanes, n)
}

#[inline(always)]
unsafe fn tree<S: Simd, F: Fold<S>, const STRIDED: bool>(
    s: S,
    n: usize,
    x: Source<S::T>,
    y: Source<S::T>,
    param: S::T,
) -> S::T {
    let len = chunk_len::<S::T>();
    let param = s.splat(param);
    if !STRIDED && n <= S::N && !F::IS_LONG {
        // SAFETY: as the caller's.
        return s.first(unsafe { one_register::<S, F>(s, n, x, y, param) });
    }
    if n <= len {
        // SAFETY: as the caller's.
        return s.first(unsafe { chunk::<S, F, STRIDED>(s, n, x, y, param) });
    }
    let mut tree = Tree::<S>::new();
    let mut from = 0;
    while from < n {
        let count = len.min(n - from);
        // SAFETY: the chunk lies in 0..n.
        let leaf = unsafe { chunk::<S, F, STRIDED>(s, count, x.skip(from), y.skip(from), param) };
        tree.push::<F>(s, leaf);
        from += count;
    }
    tree.finish::<F>(s)
}

/// The fold `F` of a vector, without its last step. `y` is read by folds of two vectors, `param`
/// by folds with a parameter.
///
/// # Safety
/// `x`, and `y` if read, must be valid at `n` elements of their stride.
#[inline(always)]
pub unsafe fn vector<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    incx: isize,
    y: *const S::T,
    incy: isize,
    param: S::T,
) -> S::T {
    let (x, y) = (Source { p: x, inc: incx }, Source { p: y, inc: incy });
    // SAFETY: as the caller's; contiguous access only where the strides are 1.
    unsafe {
        if incx == 1 && (!F::PAIR || incy == 1) {
            tree::<S, F, false>(s, n, x, y, param)
        } else {
            tree::<S, F, true>(s, n, x, y, param)
        }
    }
}

/// The first `len` elements at `p`, all of a register at most, +0 in the lanes from there on.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, len: usize) -> S::V {
    // SAFETY: the caller vouches for `len` elements.
    unsafe {
        if len >= S::N {
            s.load(p)
        } else {
            s.load_partial(p, len)
        }
    }
}

/// The first `len` lanes to `p`, all of them at most.
#[inline(always)]
unsafe fn store<S: Simd>(s: S, p: *mut S::T, len: usize, v: S::V) {
    // SAFETY: the caller vouches for `len` elements.
    unsafe {
        if len >= S::N {
            s.store(p, v)
        } else {
            s.store_partial(p, len, v)
        }
    }
}
