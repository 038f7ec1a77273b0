//! The walks over rows: by a lane after the other, by a lane of each group at once, or in the order of memory.

use super::{
    FEW, Fold, GROUPS, HALF_STEPS, MANY, NAN_ACCS, Pass, SECOND_LEVEL, STEPS, Shape, Strip, tree,
};
use crate::detect;
use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;

/// Whether the lanes of a shape without gaps are better walked in the order of memory: as long as L1 holds them
/// beside what is read, but not the matrix of so many elements, and the LLC holds that. Memory is faster for
/// several streams.
pub(super) fn pays_in_order(shape: &Shape, elements: usize) -> bool {
    const LLC: usize = 16 << 20;
    /// Registers of lanes that are worth a loop.
    const LEAST: usize = 28;
    let (size, register) = (shape.size(), shape.register);
    let l1 = detect::first_level_cache() / size;
    // In L2 it takes large registers, for each of them costs a store.
    let nearest = if register == 64 {
        l1 / 4 * 5
    } else {
        SECOND_LEVEL / size
    };
    (LEAST * register / size..=l1 / 12 * 5).contains(&(shape.lanes * shape.cols))
        && (nearest..=LLC / size).contains(&elements)
}

impl<S: Simd> Strip<S> {
    /// All lanes take `steps` rows from row i on, the chunk's first, if they stay in registers; returns how
    /// many they took.
    ///
    /// # Safety
    /// The rows must lie in the matrix.
    #[inline(always)]
    pub(super) unsafe fn in_registers<F: Fold<S>>(
        &mut self,
        s: S,
        i: usize,
        steps: usize,
    ) -> usize {
        let len = self.lanes * self.cols;
        if !self.is_contiguous || !self.m.param.is_null() || !len.is_multiple_of(S::N) || steps < 2
        {
            return 0;
        }
        let is_wide = S::N * size_of::<S::T>() == 64;
        // SAFETY: as the caller's; the lanes fill as many registers as each is for.
        unsafe {
            match len / S::N {
                FEW => self.registers::<F, FEW>(s, i, steps),
                // Folds in any order have as many lanes as fit, others 256 bytes a column.
                5 if F::ANY_ORDER => self.registers::<F, 5>(s, i, steps),
                6 if F::ANY_ORDER => self.registers::<F, 6>(s, i, steps),
                7 if F::ANY_ORDER => self.registers::<F, 7>(s, i, steps),
                12 if is_wide && !F::ANY_ORDER => self.registers::<F, 12>(s, i, steps),
                MANY if is_wide && !F::ANY_ORDER => self.registers::<F, MANY>(s, i, steps),
                _ => return 0,
            }
        }
        steps
    }

    /// As [`Strip::in_registers`], of `COUNT` registers.
    ///
    /// # Safety
    /// As [`Strip::in_registers`]; the lanes must fill so many registers.
    #[inline(always)]
    unsafe fn registers<F: Fold<S>, const COUNT: usize>(&mut self, s: S, i: usize, steps: usize) {
        let mut v = [s.splat(F::START); COUNT];
        let mut nan_accs = self.nan_accs;
        let mut p = self.m.at(i, 0);
        // SAFETY: as the caller's.
        unsafe {
            for _ in 0..steps {
                for (r, v) in v.iter_mut().enumerate() {
                    let x = s.load(p.add(r * S::N));
                    *v = F::step(s, *v, x, s.splat(S::T::ZERO));
                    if F::NAN_APART {
                        nan_accs[r % NAN_ACCS] = s.accumulate_nan(nan_accs[r % NAN_ACCS], x);
                    }
                }
                p = p.add(COUNT * S::N);
            }
            for (r, &v) in v.iter().enumerate() {
                s.store(self.base.add(r * S::N), v);
            }
        }
        self.nan_accs = nan_accs;
    }

    /// Lanes 0..lanes take the rows of the pass.
    ///
    /// # Safety
    /// The rows must lie in the matrix; unless they are the chunk's first, the lanes must have been written.
    #[inline(always)]
    pub(super) unsafe fn lanes<F: Fold<S>>(&mut self, s: S, pass: Pass, lanes: usize) {
        // SAFETY: as the caller's.
        unsafe {
            // Written out where there are many.
            match (pass.steps, pass.row) {
                (STEPS, 0) => return self.steps::<F, false, true, STEPS>(s, pass, lanes),
                // Columns of a quarter of a chunk, as in a product with a vector.
                (HALF_STEPS, 0) if F::PAIR && !self.is_far => {
                    return self.steps::<F, false, true, HALF_STEPS>(s, pass, lanes);
                }
                (_, 0) => self.start::<F>(s),
                _ => {}
            }
            match pass.steps {
                STEPS => self.steps::<F, false, false, STEPS>(s, pass, lanes),
                // Others leave so few to groups.
                steps if F::ANY_ORDER && steps < HALF_STEPS => {
                    self.steps::<F, false, false, 1>(s, pass, lanes)
                }
                // Lanes that are far take no more at once.
                _ if !F::ANY_ORDER && self.is_far => {
                    self.steps::<F, true, false, HALF_STEPS>(s, pass, lanes)
                }
                _ => self.steps::<F, false, false, HALF_STEPS>(s, pass, lanes),
            }
        }
    }

    /// Writes what lanes start from to all of them.
    ///
    /// # Safety
    /// The work area must have room for them.
    #[inline(always)]
    unsafe fn start<F: Fold<S>>(&self, s: S) {
        let len = self.lanes * self.pitch;
        let mut c = 0;
        while c < len {
            // SAFETY: as the caller's.
            unsafe { store(s, self.base.add(c), len - c, s.splat(F::START)) };
            c += S::N;
        }
    }

    /// As [`Strip::lanes`], `COUNT` steps at once, the `FIRST` of the chunk or not; with `PREFETCH` memory is
    /// asked for what the lanes take later.
    ///
    /// # Safety
    /// As [`Strip::lanes`]; the steps must be a multiple of `COUNT`.
    #[inline(always)]
    unsafe fn steps<F: Fold<S>, const PREFETCH: bool, const FIRST: bool, const COUNT: usize>(
        &mut self,
        s: S,
        pass: Pass,
        lanes: usize,
    ) {
        let group = self.lanes / GROUPS;
        let mut nan_accs = self.nan_accs;
        let mut lane = 0;
        while lane < lanes {
            // A strip has its parameters for one group.
            let count = match (self.is_contiguous, self.m.param.is_null()) {
                (true, true) => lanes,
                (true, false) => group,
                (false, _) => 1,
            };
            let len = count * self.cols;
            let mut seconds = [s.splat(S::T::ZERO); COUNT];
            let mut c = 0;
            // SAFETY: as the caller's.
            unsafe {
                for (q, second) in seconds.iter_mut().enumerate() {
                    *second = self
                        .m
                        .operand::<S, F>(s, pass.i + lane + q * self.lanes, *second);
                }
                for _ in 0..len / S::N {
                    self.one_lane::<F, PREFETCH, FIRST, COUNT>(
                        s,
                        pass,
                        lane,
                        c,
                        S::N,
                        &seconds,
                        &mut nan_accs,
                    );
                    c += S::N;
                }
                if c < len {
                    self.one_lane::<F, PREFETCH, FIRST, COUNT>(
                        s,
                        pass,
                        lane,
                        c,
                        len - c,
                        &seconds,
                        &mut nan_accs,
                    );
                }
            }
            lane += count;
        }
        self.nan_accs = nan_accs;
    }

    /// All lanes of a strip take the rows of the pass in the order of memory: one stream, and lanes that stay in
    /// the first-level cache.
    ///
    /// # Safety
    /// As [`Strip::lanes`]; the fold must have no parameters.
    #[inline(always)]
    pub(super) unsafe fn in_order<F: Fold<S>>(&self, s: S, pass: Pass) {
        let first = usize::from(pass.row == 0);
        // SAFETY: as the caller's.
        unsafe {
            self.each_lane::<F, true>(s, self.m.at(pass.i, 0), first);
            let rest = self.m.at(pass.i + first * self.lanes, 0);
            self.each_lane::<F, false>(s, rest, pass.steps - first);
        }
    }

    /// As [`Strip::in_order`], `steps` rows of each lane from x on, the `FIRST` of the chunk or not.
    ///
    /// # Safety
    /// As [`Strip::in_order`].
    #[inline(always)]
    unsafe fn each_lane<F: Fold<S>, const FIRST: bool>(
        &self,
        s: S,
        mut x: *const S::T,
        steps: usize,
    ) {
        /// Registers at once.
        const SOME: usize = 4;
        const { assert!(S::R.is_multiple_of(SOME), "lanes would be left over") };
        let zero = s.splat(S::T::ZERO);
        for _ in 0..steps {
            let mut acc = self.base;
            // SAFETY: as the caller's.
            unsafe {
                for _ in 0..self.lanes * self.cols / (SOME * S::N) {
                    for r in 0..SOME {
                        let acc = acc.add(r * S::N);
                        let v = if FIRST {
                            s.splat(F::START)
                        } else {
                            s.load(acc)
                        };
                        s.store(acc, F::step(s, v, s.load(x.add(r * S::N)), zero));
                    }
                    (x, acc) = (x.add(SOME * S::N), acc.add(SOME * S::N));
                }
            }
        }
    }

    /// `len` elements of a register from c on, counted from the lane's first column. `seconds` are those of the
    /// lane's next rows.
    ///
    /// # Safety
    /// As [`Strip::steps`].
    #[inline(always)]
    unsafe fn one_lane<F: Fold<S>, const PREFETCH: bool, const FIRST: bool, const COUNT: usize>(
        &self,
        s: S,
        pass: Pass,
        lane: usize,
        c: usize,
        len: usize,
        seconds: &[S::V; COUNT],
        nan_accs: &mut [S::V; NAN_ACCS],
    ) {
        let Self {
            m, pitch, lanes, ..
        } = *self;
        let acc = self.base.wrapping_add(lane * pitch + c);
        let room = self.room(len);
        let far = lanes as isize * m.inc;
        let mut p = m.at(pass.i + lane, c);
        if PREFETCH {
            // In the order of memory, for the steps are too close to each other to be streams of their own.
            let prefetched = m.at(
                pass.i,
                (lane * self.cols + c) * COUNT + Self::PREFETCH_DISTANCE,
            );
            for q in 0..COUNT {
                s.prefetch_far(prefetched.wrapping_add(q * S::N));
            }
        }
        // SAFETY: as the caller's.
        unsafe {
            let mut v = if FIRST {
                s.splat(F::START)
            } else {
                load(s, acc, room)
            };
            let param = m.param::<S, F>(s, c, len);
            let turns = if COUNT == 1 { pass.steps } else { 1 };
            let mut operands = if F::PAIR { *seconds } else { [param; COUNT] };
            for turn in 0..turns {
                if F::PAIR && COUNT == 1 {
                    operands = [s.splat(m.second(pass.i + lane + turn * lanes)); COUNT];
                }
                v = take::<S, F, COUNT>(s, v, p, far, len, &operands, nan_accs);
                p = p.wrapping_offset(COUNT as isize * far);
            }
            store(s, acc, room, v);
        }
    }

    /// The elements of work area for `len` elements at the end of a lane: of a strip no more than these, for
    /// the next lane follows.
    #[inline(always)]
    fn room(&self, len: usize) -> usize {
        if self.is_contiguous { len } else { S::N }
    }

    /// A lane of each group at once takes the rows of the pass. The last time, the first lanes get the
    /// results of all groups.
    ///
    /// # Safety
    /// As [`Strip::lanes`].
    #[inline(always)]
    pub(super) unsafe fn groups<F: Fold<S>>(&self, s: S, pass: Pass) {
        let near = self.lanes / GROUPS;
        let mut lane = 0;
        while lane < near {
            // Lanes of a strip are walked together as long as as many groups take one more row.
            let end = match pass.more % near {
                _ if !self.is_contiguous => lane + 1,
                more if lane < more => more,
                _ => near,
            };
            let more = pass.more.saturating_sub(lane).div_ceil(near);
            let pass = Pass { more, ..pass };
            let len = (end - lane) * self.cols;
            let mut c = 0;
            // SAFETY: as the caller's.
            unsafe {
                for _ in 0..len / S::N {
                    self.each_group::<F>(s, pass, lane, c, S::N);
                    c += S::N;
                }
                if c < len {
                    self.each_group::<F>(s, pass, lane, c, len - c);
                }
            }
            lane = end;
        }
    }

    /// As [`Strip::one_lane`], for a lane of each group; the first `pass.more` groups take one more row.
    ///
    /// # Safety
    /// As [`Strip::lanes`].
    #[inline(always)]
    unsafe fn each_group<F: Fold<S>>(&self, s: S, pass: Pass, lane: usize, c: usize, len: usize) {
        let m = self.m;
        let near = self.lanes / GROUPS;
        let acc = self.base.wrapping_add(lane * self.pitch + c);
        let group = |q: usize| acc.wrapping_add(q * near * self.pitch);
        let room = self.room(len);
        let step = near as isize * m.inc;
        let at = if self.is_contiguous {
            lane * self.cols
        } else {
            0
        };
        let mut i = pass.i + lane;
        let mut p = m.at(i, c);
        // A bit for each group that takes one more: of a number the compiler makes a jump into the middle.
        let more = (1usize << pass.more) - 1;
        let mut v = [s.splat(F::START); GROUPS];
        // SAFETY: as the caller's.
        unsafe {
            let param = m.param::<S, F>(s, at + c, len);
            if pass.row > 0 {
                for (q, v) in v.iter_mut().enumerate() {
                    *v = load(s, group(q), room);
                }
            }
            for _ in 0..pass.steps {
                for v in &mut v {
                    *v = F::step(s, *v, load(s, p, len), m.operand::<S, F>(s, i, param));
                    p = p.wrapping_offset(step);
                    i += near;
                }
            }
            for (q, v) in v.iter_mut().enumerate() {
                if more >> q & 1 == 1 {
                    *v = F::step(s, *v, load(s, p, len), m.operand::<S, F>(s, i, param));
                    p = p.wrapping_offset(step);
                    i += near;
                }
            }
            if !pass.last {
                for (q, &v) in v.iter().enumerate() {
                    store(s, group(q), room, v);
                }
                return;
            }
            store(s, acc, room, tree::<S, F>(s, v));
        }
    }
}

/// A lane, `v`, takes `len` elements each of `COUNT` rows at p, p + inc, ..., each with its operand.
///
/// # Safety
/// They must be there.
#[inline(always)]
unsafe fn take<S: Simd, F: Fold<S>, const COUNT: usize>(
    s: S,
    mut v: S::V,
    p: *const S::T,
    inc: isize,
    len: usize,
    operands: &[S::V; COUNT],
    nan_accs: &mut [S::V; NAN_ACCS],
) -> S::V {
    for (i, &operand) in operands.iter().enumerate() {
        // SAFETY: as the caller's.
        let x = unsafe { load(s, p.wrapping_offset(i as isize * inc), len) };
        v = F::step(s, v, x, operand);
        if F::NAN_APART {
            nan_accs[i % NAN_ACCS] = s.accumulate_nan(nan_accs[i % NAN_ACCS], x);
        }
    }
    v
}
