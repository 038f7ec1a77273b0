//! The lanes of one chunk, down to one register; and N such registers at once, down to their results.

use super::{Fold, load};
use crate::element::Element;
use crate::simd::Simd;

/// Registers of the widest level's widest group.
pub const MAX_LANES: usize = 16;

/// A chunk whose lanes have been halved down to one register.
#[derive(Clone, Copy)]
pub struct Leaf<V> {
    pub value: V,
    /// For folds that keep NaN apart: NaN in some lane if an element is, and perhaps without one
    /// (infinities of both signs). See [`Simd::mark`].
    pub suspect: V,
}

/// Whether some lane is NaN.
#[inline(always)]
pub fn has_nan<S: Simd>(s: S, v: S::V) -> bool {
    s.bits(s.unordered(v, v)) != 0
}

/// Steps 1 and 2 of the canonical order, down to one register, for `n` elements of one chunk.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements.
#[inline(always)]
pub unsafe fn leaf<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    param: S::V,
) -> Leaf<S::V> {
    let lane_count = <S::T as Element>::LANES;
    let zero = s.splat(S::T::ZERO);
    // Few enough to leave registers for the lanes.
    let (mut lanes, mut sums) = (s.lanes(s.splat(F::START)), [zero; 4]);
    let mut i = 0;
    // SAFETY: every access lies in 0..n.
    unsafe {
        while i + lane_count <= n {
            for (r, slot) in lanes.as_mut().iter_mut().enumerate() {
                let at = i + r * S::N;
                let v = s.load(x.add(at));
                let second = if F::PAIR { s.load(y.add(at)) } else { param };
                *slot = F::step(s, *slot, v, second);
                if F::NAN_APART {
                    sums[r % 4] = s.mark(sums[r % 4], v);
                }
            }
            i += lane_count;
        }
        let rest = n - i;
        for (r, slot) in lanes.as_mut().iter_mut().enumerate() {
            if rest <= r * S::N {
                break;
            }
            let (at, len) = (i + r * S::N, S::N.min(rest - r * S::N));
            let v = load(s, x.add(at), len);
            let second = if F::PAIR {
                load(s, y.add(at), len)
            } else {
                param
            };
            let next = F::step(s, *slot, v, second);
            *slot = if F::ZERO_IS_NEUTRAL || len == S::N {
                next
            } else {
                s.select(s.first_lanes(len), next, *slot)
            };
            if F::NAN_APART {
                sums[r % 4] = s.mark(sums[r % 4], v);
            }
        }
    }
    Leaf {
        value: halve_registers::<S, F>(s, lanes, n),
        suspect: if F::NAN_APART {
            s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3]))
        } else {
            zero
        },
    }
}

/// Halves the lanes of a chunk of `n` elements down to one register. Registers that got no element
/// hold the start value and are left out.
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

/// Halves the lanes of a register down to lane 0. Lanes from `n` on hold the start value and are left
/// out.
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

/// Halves the lanes of N registers at once: the result of the register at `place(i)` in lane i.
#[inline(always)]
pub fn halve_all<S: Simd, F: Fold<S>>(s: S, leaves: [S::V; MAX_LANES]) -> S::V {
    halve_few::<S, F, MAX_LANES>(s, leaves)
}

/// Halves the lanes of `COUNT` registers at once, a power of two, or of N where that is less: the result
/// of register q in those lanes i where `place(i)` is q.
#[inline(always)]
pub fn halve_few<S: Simd, F: Fold<S>, const COUNT: usize>(s: S, mut v: [S::V; COUNT]) -> S::V {
    let mut left = COUNT.min(S::N);
    let mut w = S::N / 2;
    while w > 0 {
        let pairs = (left / 2).max(1);
        for i in 0..pairs {
            // The indices are reduced for the compiler alone.
            let (a, b) = (v[2 * i % COUNT], v[(2 * i + 1).min(left - 1) % COUNT]);
            let (low, high) = s.halves(a, b, w);
            v[i % COUNT] = F::combine(s, low, high);
        }
        left = pairs;
        w /= 2;
    }
    v[0]
}
