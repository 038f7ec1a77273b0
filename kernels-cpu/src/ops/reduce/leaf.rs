//! The lanes of one chunk, halved down to one register.

use core::hint::{black_box, cold_path};
use core::marker::PhantomData;

use super::Fold;
use super::fold::{Accumulators, select, start};
use super::halving::halve_registers;
use crate::element::Element;
use crate::ops::{load, prefetch_pages};
use crate::simd::{Outlined, Simd};

/// A chunk whose lanes have been halved down to one register for each accumulator.
#[derive(Clone, Copy)]
pub struct Leaf<A, V> {
    pub acc: A,
    /// For folds with [`Fold::CHECKS_NAN`]: some lane is NaN if an element is NaN, and possibly without one
    /// (infinities of both signs). See [`Simd::accumulate_nan`].
    pub nan_acc: V,
}

/// Whether some lane is NaN.
#[inline(always)]
pub fn has_nan<S: Simd>(s: S, v: S::V) -> bool {
    s.bits(s.unordered(v, v)) != 0
}

/// Registers of lanes that are folded in one sweep over a chunk, if lanes have two accumulators: so few that 16 registers
/// hold them.
const SWEEP: usize = 4;

/// The lanes of a chunk.
struct Lanes<S: Simd, F: Fold<S>> {
    lanes: <F::Acc as Accumulators<S>>::Lanes,
    /// Accumulators whose sum is [`Leaf::nan_acc`]; few enough to leave registers for the lanes.
    nan_accs: [S::V; 4],
}

impl<S: Simd, F: Fold<S>> Lanes<S, F> {
    #[inline(always)]
    fn new(s: S) -> Self {
        Self {
            lanes: F::Acc::lanes(s, s.splat(F::START)),
            nan_accs: [s.splat(S::T::ZERO); 4],
        }
    }

    /// The accumulators of register r of the lanes.
    #[inline(always)]
    fn get(&self, s: S, r: usize) -> F::Acc {
        let mut acc = start::<S, F>(s);
        for (acc, lanes) in acc.as_mut().iter_mut().zip(self.lanes.as_ref()) {
            *acc = lanes.as_ref()[r];
        }
        acc
    }

    #[inline(always)]
    fn set(&mut self, r: usize, acc: F::Acc) {
        for (acc, lanes) in acc.as_ref().iter().zip(self.lanes.as_mut()) {
            lanes.as_mut()[r] = *acc;
        }
    }

    /// Folds the next element into every lane.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `LANES` elements.
    #[inline(always)]
    unsafe fn step(&mut self, s: S, x: *const S::T, y: *const S::T, param: S::V) {
        for r in 0..S::R {
            let at = r * S::N;
            // SAFETY: the caller vouches for `LANES` elements.
            let v = unsafe { s.load(x.add(at)) };
            let second = if F::PAIR {
                // SAFETY: as of x.
                unsafe { s.load(y.add(at)) }
            } else {
                param
            };
            self.set(r, F::step(s, self.get(s, r), v, second));
            if F::CHECKS_NAN {
                self.nan_accs[r % 4] = s.accumulate_nan(self.nan_accs[r % 4], v);
            }
        }
    }

    /// Folds the last `rest` < `LANES` elements into the first lanes.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `rest` elements.
    #[inline(always)]
    unsafe fn last_step(&mut self, s: S, rest: usize, x: *const S::T, y: *const S::T, param: S::V) {
        for r in 0..S::R {
            let at = r * S::N;
            let (x, y) = (x.wrapping_add(at), y.wrapping_add(at));
            // One comparison per whole register, because short vectors spend most of their time here.
            // SAFETY: the caller vouches for the elements.
            unsafe {
                if rest >= at + S::N {
                    self.step_register(s, r, S::N, x, y, param);
                    continue;
                }
                // Keeps the code for whole registers free of taken jumps.
                cold_path();
                if rest <= at {
                    break;
                }
                self.step_register(s, r, rest - at, x, y, param);
            }
        }
    }

    /// Folds as many of `n` elements as are a multiple of `LANES`, and returns how many.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `n` elements.
    #[inline(always)]
    unsafe fn steps(
        &mut self,
        s: S,
        n: usize,
        x: *const S::T,
        y: *const S::T,
        param: S::V,
    ) -> usize {
        let lane_count = <S::T as Element>::LANES;
        if F::Acc::COUNT > 1 {
            for r in (0..S::R).step_by(SWEEP) {
                // SAFETY: as the caller's.
                unsafe { self.sweep(s, r, n, x.wrapping_add(r * S::N), param) };
            }
            return n / lane_count * lane_count;
        }
        let mut i = 0;
        while i + lane_count <= n {
            // SAFETY: as the caller's.
            unsafe { self.step(s, x.add(i), y.wrapping_add(i), param) };
            i += lane_count;
        }
        i
    }

    /// [`Lanes::steps`] for [`SWEEP`] registers of lanes from number `first` on, whose first element is at `x`.
    ///
    /// # Safety
    /// As [`Lanes::steps`].
    #[inline(always)]
    unsafe fn sweep(&mut self, s: S, first: usize, n: usize, x: *const S::T, param: S::V) {
        const {
            assert!(F::Acc::COUNT == 1 || !F::PAIR && !F::CHECKS_NAN && S::R.is_multiple_of(SWEEP));
        }
        let mut acc = [start::<S, F>(s); SWEEP];
        for (r, acc) in acc.iter_mut().enumerate() {
            *acc = self.get(s, first + r);
        }
        let lane_count = <S::T as Element>::LANES;
        let mut i = 0;
        while i + lane_count <= n {
            for (r, acc) in acc.iter_mut().enumerate() {
                // SAFETY: as the caller's.
                let v = unsafe { s.load(x.add(i + r * S::N)) };
                *acc = F::step(s, *acc, v, param);
            }
            i += lane_count;
        }
        for (r, acc) in acc.into_iter().enumerate() {
            self.set(first + r, acc);
        }
    }

    /// Folds the next element into each of the first `len` lanes of register r.
    ///
    /// # Safety
    /// `x`, and `y` if the fold reads it, must be valid for `len` elements.
    #[inline(always)]
    unsafe fn step_register(
        &mut self,
        s: S,
        r: usize,
        len: usize,
        x: *const S::T,
        y: *const S::T,
        param: S::V,
    ) {
        // SAFETY: the caller vouches for the elements.
        let (v, second) = unsafe {
            let second = if F::PAIR { load(s, y, len) } else { param };
            (load(s, x, len), second)
        };
        let acc = self.get(s, r);
        let next = F::step(s, acc, v, second);
        let next = if F::ZERO_IS_NEUTRAL || len == S::N {
            next
        } else {
            select(s, s.first_lanes(len), next, acc)
        };
        self.set(r, next);
        if F::CHECKS_NAN {
            self.nan_accs[r % 4] = s.accumulate_nan(self.nan_accs[r % 4], v);
        }
    }

    /// Halves the lanes, of a chunk of `n` elements, down to one register for each accumulator.
    #[inline(always)]
    fn leaf(self, s: S, n: usize) -> Leaf<F::Acc, S::V> {
        let [a, b, c, d] = self.nan_accs;
        let mut acc = start::<S, F>(s);
        for (acc, lanes) in acc.as_mut().iter_mut().zip(self.lanes.as_ref()) {
            *acc = halve_registers::<S, F>(s, *lanes, n);
        }
        Leaf {
            acc,
            nan_acc: s.add(s.add(a, b), s.add(c, d)),
        }
    }
}

/// Steps 1 and 2 of the canonical order, down to one register for each accumulator, for `n` elements of one chunk.
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
) -> Leaf<F::Acc, S::V> {
    let mut lanes = Lanes::<S, F>::new(s);
    // SAFETY: as the caller's.
    unsafe {
        let i = lanes.steps(s, n, x, y, param);
        if i < n {
            lanes.last_step(s, n - i, x.add(i), y.wrapping_add(i), param);
        }
    }
    lanes.leaf(s, n)
}

/// [`leaf`] of two chunks of `n` elements at once, both from memory, with the same second vector.
///
/// # Safety
/// As [`leaf`], for both.
#[inline(always)]
pub unsafe fn two_leaves<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: [*const S::T; 2],
    y: *const S::T,
    params: [S::T; 2],
) -> [Leaf<F::Acc, S::V>; 2] {
    let fold = PhantomData::<F>;
    s.outlined(TwoLeaves {
        n,
        x,
        y,
        params,
        fold,
    })
}

/// The arguments of [`two_leaves`]. Its code is long, and its chunks are long enough to afford a call, so all kernels
/// of a fold share it.
struct TwoLeaves<T, F> {
    n: usize,
    x: [*const T; 2],
    y: *const T,
    params: [T; 2],
    fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>> Outlined<S> for TwoLeaves<S::T, F> {
    type Output = [Leaf<F::Acc, S::V>; 2];

    /// # Safety
    /// As [`two_leaves`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> Self::Output {
        let Self {
            n, x, y, params, ..
        } = self;
        let params = [s.splat(params[0]), s.splat(params[1])];
        fold_two::<S, F>(s, n, x, y, params)
    }
}

/// The body of [`two_leaves`].
///
/// # Safety
/// As [`two_leaves`].
#[inline(always)]
unsafe fn fold_two<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: [*const S::T; 2],
    y: *const S::T,
    params: [S::V; 2],
) -> [Leaf<F::Acc, S::V>; 2] {
    /// Steps that the chunks take in turn where registers do not hold the lanes of both: enough that saving and
    /// restoring the lanes costs little, and few enough that the CPU reads both chunks at the same time.
    const STEPS_PER_TURN: usize = 4;
    let lane_count = <S::T as Element>::LANES;
    // Hidden from the compiler, which would unroll a loop with a known count.
    let turn = if S::R <= 4 {
        1
    } else {
        black_box(STEPS_PER_TURN)
    } * lane_count;
    for chunk in x {
        prefetch_pages(s, chunk, n * size_of::<S::T>());
    }
    let (mut a, mut b) = (Lanes::<S, F>::new(s), Lanes::<S, F>::new(s));
    let mut i = 0;
    // SAFETY: every access lies in 0..n.
    unsafe {
        while i + lane_count <= n {
            let count = if S::R <= 4 { turn } else { turn.min(n - i) };
            let y = y.wrapping_add(i);
            a.steps(s, count, x[0].add(i), y, params[0]);
            i += b.steps(s, count, x[1].add(i), y, params[1]);
        }
        if i < n {
            let y = y.wrapping_add(i);
            a.last_step(s, n - i, x[0].add(i), y, params[0]);
            b.last_step(s, n - i, x[1].add(i), y, params[1]);
        }
    }
    [a.leaf(s, n), b.leaf(s, n)]
}
