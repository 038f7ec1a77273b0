//! The lanes of one chunk, down to one register; and N such registers at once, down to their results.

use core::hint::{black_box, cold_path};
use core::marker::PhantomData;

use super::Fold;
use crate::element::{Element, Storage};
use crate::ops::{load, prefetch_pages};
use crate::simd::{Access, Outlined, Simd};

/// Registers of the widest level's widest group.
pub const MAX_LANES: usize = 16;

/// A chunk whose lanes have been halved down to one register.
#[derive(Clone, Copy)]
pub struct Leaf<V> {
    pub value: V,
    /// For folds that keep NaN apart: NaN in some lane if an element is, and perhaps without one
    /// (infinities of both signs). See [`Simd::accumulate_nan`].
    pub nan_acc: V,
}

/// Whether some lane is NaN.
#[inline(always)]
pub fn has_nan<S: Simd>(s: S, v: S::V) -> bool {
    s.bits(s.unordered(v, v)) != 0
}

/// The lanes of a chunk.
struct Lanes<S: Simd> {
    lanes: S::Lanes,
    /// What [`Leaf::nan_acc`] is the sum of: few enough to leave registers for the lanes.
    nan_accs: [S::V; 4],
}

impl<S: Simd> Lanes<S> {
    #[inline(always)]
    fn new<F: Fold<S>>(s: S) -> Self {
        Self {
            lanes: s.lanes(s.splat(F::START)),
            nan_accs: [s.splat(S::T::ZERO); 4],
        }
    }

    /// Takes every lane's next element.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `LANES` elements.
    #[inline(always)]
    unsafe fn step<F: Fold<S>, M: Storage>(&mut self, s: S, x: *const M, y: *const M, param: S::V)
    where
        S: Access<M>,
    {
        for (r, slot) in self.lanes.as_mut().iter_mut().enumerate() {
            let at = r * S::N;
            // SAFETY: the caller vouches for the register.
            let v = unsafe { s.load(x.add(at)) };
            let second = if F::PAIR {
                // SAFETY: as of x.
                unsafe { s.load(y.add(at)) }
            } else {
                param
            };
            *slot = F::step(s, *slot, v, second);
            if F::NAN_APART {
                self.nan_accs[r % 4] = s.accumulate_nan(self.nan_accs[r % 4], v);
            }
        }
    }

    /// As [`Lanes::step`], where fewer than `LANES` elements are left.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `rest` elements.
    #[inline(always)]
    unsafe fn last_step<F: Fold<S>, M: Storage>(
        &mut self,
        s: S,
        rest: usize,
        x: *const M,
        y: *const M,
        param: S::V,
    ) where
        S: Access<M>,
    {
        for (r, slot) in self.lanes.as_mut().iter_mut().enumerate() {
            let at = r * S::N;
            let (x, y) = (x.wrapping_add(at), y.wrapping_add(at));
            let nan_acc = &mut self.nan_accs[r % 4];
            // One comparison for a whole register: short vectors are this step for the most part.
            // SAFETY: the caller vouches for the elements.
            unsafe {
                if rest >= at + S::N {
                    take::<S, F, M>(s, slot, nan_acc, S::N, x, y, param);
                    continue;
                }
                // Whole registers are to follow each other without a jump.
                cold_path();
                if rest <= at {
                    break;
                }
                take::<S, F, M>(s, slot, nan_acc, rest - at, x, y, param);
            }
        }
    }

    /// Takes elements for all lanes as long as there are `LANES` of `n`; returns how many it took.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `n` elements.
    #[inline(always)]
    unsafe fn steps<F: Fold<S>, M: Storage>(
        &mut self,
        s: S,
        n: usize,
        x: *const M,
        y: *const M,
        param: S::V,
    ) -> usize
    where
        S: Access<M>,
    {
        let lane_count = <S::T as Element>::LANES;
        let mut i = 0;
        while i + lane_count <= n {
            // SAFETY: as the caller's.
            unsafe { self.step::<F, M>(s, x.add(i), y.wrapping_add(i), param) };
            i += lane_count;
        }
        i
    }

    /// The leaf of a chunk of `n` elements.
    #[inline(always)]
    fn leaf<F: Fold<S>>(self, s: S, n: usize) -> Leaf<S::V> {
        let [a, b, c, d] = self.nan_accs;
        Leaf {
            value: halve_registers::<S, F>(s, self.lanes, n),
            nan_acc: s.add(s.add(a, b), s.add(c, d)),
        }
    }
}

/// The first `len` lanes of a register take their next element.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `len` elements.
#[inline(always)]
unsafe fn take<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    slot: &mut S::V,
    nan_acc: &mut S::V,
    len: usize,
    x: *const M,
    y: *const M,
    param: S::V,
) {
    // SAFETY: the caller vouches for the elements.
    let (v, second) = unsafe {
        let second = if F::PAIR { load(s, y, len) } else { param };
        (load(s, x, len), second)
    };
    let next = F::step(s, *slot, v, second);
    *slot = if F::ZERO_IS_NEUTRAL || len == S::N {
        next
    } else {
        s.select(s.first_lanes(len), next, *slot)
    };
    if F::NAN_APART {
        *nan_acc = s.accumulate_nan(*nan_acc, v);
    }
}

/// Steps 1 and 2 of the canonical order, down to one register, for `n` elements of one chunk.
///
/// # Safety
/// `x`, and `y` if the fold reads it, must be valid for `n` elements.
#[inline(always)]
pub unsafe fn leaf<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    n: usize,
    x: *const M,
    y: *const M,
    param: S::V,
) -> Leaf<S::V> {
    let mut lanes = Lanes::<S>::new::<F>(s);
    // SAFETY: as the caller's.
    unsafe {
        let i = lanes.steps::<F, M>(s, n, x, y, param);
        if i < n {
            lanes.last_step::<F, M>(s, n - i, x.add(i), y.wrapping_add(i), param);
        }
    }
    lanes.leaf::<F>(s, n)
}

/// [`leaf`] of two chunks of `n` elements in memory at once, with the same second vector.
///
/// # Safety
/// As [`leaf`], for both.
#[inline(always)]
pub unsafe fn two_leaves<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    n: usize,
    x: [*const M; 2],
    y: *const M,
    params: [S::T; 2],
) -> [Leaf<S::V>; 2] {
    let fold = PhantomData::<F>;
    // SAFETY: as the caller's.
    unsafe {
        s.outlined(Two {
            n,
            x,
            y,
            params,
            fold,
        })
    }
}

/// What [`two_leaves`] takes: long code, and two rows are long, so that all kernels of a fold share it.
struct Two<T, F, M> {
    n: usize,
    x: [*const M; 2],
    y: *const M,
    params: [T; 2],
    fold: PhantomData<F>,
}

impl<S: Simd + Access<M>, F: Fold<S>, M: Storage> Outlined<S> for Two<S::T, F, M> {
    type Output = [Leaf<S::V>; 2];

    /// # Safety
    /// As [`two_leaves`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> [Leaf<S::V>; 2] {
        let Self {
            n, x, y, params, ..
        } = self;
        let params = params.map(|param| s.splat(param));
        // SAFETY: as the caller's.
        unsafe { both::<S, F, M>(s, n, x, y, params) }
    }
}

/// As [`two_leaves`].
///
/// # Safety
/// As [`two_leaves`].
#[inline(always)]
unsafe fn both<S: Simd + Access<M>, F: Fold<S>, M: Storage>(
    s: S,
    n: usize,
    x: [*const M; 2],
    y: *const M,
    params: [S::V; 2],
) -> [Leaf<S::V>; 2] {
    /// Steps that each takes in turn where registers do not suffice for the lanes of both: so many that the
    /// way of the lanes to memory and back counts little, so few that the CPU is reading both.
    const TURN: usize = 4;
    let lane_count = <S::T as Element>::LANES;
    // Hidden from the compiler, which would unroll a loop whose count it knows.
    let turn = if S::R <= 4 { 1 } else { black_box(TURN) } * lane_count;
    for chunk in x {
        prefetch_pages(s, chunk, n * size_of::<M>());
    }
    let (mut a, mut b) = (Lanes::<S>::new::<F>(s), Lanes::<S>::new::<F>(s));
    let mut i = 0;
    // SAFETY: every access lies in 0..n.
    unsafe {
        while i + lane_count <= n {
            let some = if S::R <= 4 { turn } else { turn.min(n - i) };
            let y = y.wrapping_add(i);
            a.steps::<F, M>(s, some, x[0].add(i), y, params[0]);
            i += b.steps::<F, M>(s, some, x[1].add(i), y, params[1]);
        }
        if i < n {
            let (x, y) = (x.map(|x| x.add(i)), y.wrapping_add(i));
            a.last_step::<F, M>(s, n - i, x[0], y, params[0]);
            b.last_step::<F, M>(s, n - i, x[1], y, params[1]);
        }
    }
    [a.leaf::<F>(s, n), b.leaf::<F>(s, n)]
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
            let (low, high) = s.unzip(a, b, w);
            v[i % COUNT] = F::combine(s, low, high);
        }
        left = pairs;
        w /= 2;
    }
    v[0]
}
