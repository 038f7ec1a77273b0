//! The halving of lanes: the registers of a chunk's lanes down to one, a register down to lane 0, and several registers
//! together down to one result each.

use super::Fold;
use crate::simd::Simd;

/// Lanes of the widest register of any level.
pub const MAX_LANES: usize = 16;

/// Halves the lanes of an accumulator, for a chunk of `n` elements, down to one register. Registers without an element,
/// which hold the start value, are left out.
#[inline(always)]
pub fn halve_registers<S: Simd, F: Fold<S>>(s: S, mut lanes: S::Lanes, n: usize) -> S::V {
    let acc = lanes.as_mut();
    let mut w = S::R / 2;
    while w > 0 {
        if n > w * S::N
            && let Some((low, high)) = acc.split_at_mut_checked(w)
        {
            for (a, b) in low.iter_mut().zip(high) {
                *a = F::combine(s, *a, *b);
            }
        }
        w /= 2;
    }
    acc[0]
}

/// Halves the lanes of a register down to lane 0. Lanes from `n` on, which hold the start value, are left out.
#[inline(always)]
pub fn halve_lanes<S: Simd, F: Fold<S>>(s: S, v: S::V, n: usize) -> S::V {
    let mut v = v;
    let mut w = S::N / 2;
    while w > 0 {
        if n > w {
            v = F::combine(s, v, s.upper(v, w));
        }
        w /= 2;
    }
    v
}

/// [`halve_lanes`] for each accumulator.
#[inline(always)]
pub fn halve_each<S: Simd, F: Fold<S>>(s: S, mut acc: F::Acc, n: usize) -> F::Acc {
    for v in acc.as_mut() {
        *v = halve_lanes::<S, F>(s, *v, n);
    }
    acc
}

/// Halves the lanes of the first N registers at once: lane i gets the result of register [`Simd::unzip_slot`]`(i)`.
#[inline(always)]
pub fn halve_all<S: Simd, F: Fold<S>>(s: S, leaves: [S::V; MAX_LANES]) -> S::V {
    halve_few::<S, F, MAX_LANES>(s, leaves)
}

/// Halves the lanes of min(`COUNT`, N) registers at once, `COUNT` a power of two: the result of register q is in each
/// lane i for which [`Simd::unzip_slot`]`(i)` is q.
#[inline(always)]
pub fn halve_few<S: Simd, F: Fold<S>, const COUNT: usize>(s: S, mut v: [S::V; COUNT]) -> S::V {
    let mut remaining = COUNT.min(S::N);
    let mut w = S::N / 2;
    while w > 0 {
        let pairs = (remaining / 2).max(1);
        for i in 0..pairs {
            // The remainders only show the compiler that the indices are in bounds.
            let (a, b) = (v[2 * i % COUNT], v[(2 * i + 1).min(remaining - 1) % COUNT]);
            let (low, high) = s.unzip(a, b, w);
            v[i % COUNT] = F::combine(s, low, high);
        }
        remaining = pairs;
        w /= 2;
    }
    v[0]
}
