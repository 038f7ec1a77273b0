//! Steps 1 and 2 of the canonical order: one chunk.

use core::marker::PhantomData;

use super::Fold;
use super::fold::{Accumulators, select, start};
use super::halving::{halve_each, halve_lanes};
use super::leaf::{has_nan, leaf};
use crate::element::Element;
use crate::ops::load;
use crate::simd::{Outlined, Simd};

/// Returns the result of one chunk (steps 1 and 2) in lane 0 of each accumulator.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements.
#[inline(always)]
pub unsafe fn chunk<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> F::Acc {
    if <F::NonzeroResult as Fold<S>>::CHECKS_NAN {
        let quick = leaf::<S, F::NonzeroResult>(s, n, x, y, param);
        let acc = halve_each::<S, F::NonzeroResult>(s, quick.acc, n);
        let is_zero =
            <F::NonzeroResult as Fold<S>>::CHECKS_ZERO && s.first(acc.as_ref()[0]) == S::T::ZERO;
        if !has_nan(s, quick.nan_acc) && !is_zero {
            return acc;
        }
        return F::Acc::splat(s.splat(whole::<S, F>(s, n, x)));
    }
    halve_each::<S, F>(s, leaf::<S, F>(s, n, x, y, param).acc, n)
}

/// [`chunk`] with the full handling of NaN and signed zeros, for folds of one accumulator without a parameter. Few chunks need it, so it
/// is a function of its own that all kernels of the fold share.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
pub unsafe fn whole<S: Simd, F: Fold<S>>(s: S, n: usize, x: *const S::T) -> S::T {
    let fold = PhantomData::<F>;
    s.outlined(WholeChunk { n, x, fold })
}

/// The arguments of [`whole`].
struct WholeChunk<T, F> {
    n: usize,
    x: *const T,
    fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>> Outlined<S> for WholeChunk<S::T, F> {
    type Output = S::T;

    /// # Safety
    /// As [`chunk`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> S::T {
        let Self { n, x, .. } = self;
        let leaf = leaf::<S, F>(s, n, x, x, s.splat(S::T::ZERO));
        s.first(halve_lanes::<S, F>(s, leaf.acc.as_ref()[0], n))
    }
}

/// [`chunk`] for at most N contiguous elements.
///
/// # Safety
/// As [`chunk`].
#[inline(always)]
pub unsafe fn one_register<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> F::Acc {
    // SAFETY: as the caller's.
    let (v, second) = unsafe {
        let second = if F::PAIR { load(s, y, n) } else { param };
        (load(s, x, n), second)
    };
    let start = start::<S, F>(s);
    let next = F::step(s, start, v, second);
    let lanes = if F::ZERO_IS_NEUTRAL {
        next
    } else {
        select(s, s.first_lanes(n), next, start)
    };
    halve_each::<S, F>(s, lanes, n)
}
