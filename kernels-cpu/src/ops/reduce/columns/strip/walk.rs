//! Rows folded into lanes: all lanes in registers, lane by lane, or one lane of each group at a time.

use super::combine::combine_groups;
use super::{Fold, GROUPS, HALF_STEPS, MAX_ACCS, MAX_ACCS_WIDE, NAN_ACCS, RowSpan, STEPS, Strip};
use crate::element::Element;
use crate::ops::load;
use crate::ops::reduce::columns::{load_acc, store_acc};
use crate::ops::reduce::fold::{Accumulators, start};
use crate::simd::Simd;

impl<S: Simd> Strip<S> {
    /// Folds the chunk's first rows, `steps` for each lane from row `i` on, if there is a loop that holds all lanes in
    /// registers. Returns how many rows each lane took: `steps` or 0.
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
        // SAFETY: as the caller's; the lanes fill exactly `COUNT` registers.
        unsafe {
            match len / S::N {
                MAX_ACCS => self.registers::<F, MAX_ACCS>(s, i, steps),
                // Folds in any order have as many lanes as fit; others have 256 bytes of lanes a column.
                5 if F::ANY_ORDER => self.registers::<F, 5>(s, i, steps),
                6 if F::ANY_ORDER => self.registers::<F, 6>(s, i, steps),
                7 if F::ANY_ORDER => self.registers::<F, 7>(s, i, steps),
                12 if is_wide && !F::ANY_ORDER => self.registers::<F, 12>(s, i, steps),
                MAX_ACCS_WIDE if is_wide && !F::ANY_ORDER => {
                    self.registers::<F, MAX_ACCS_WIDE>(s, i, steps)
                }
                _ => return 0,
            }
        }
        steps
    }

    /// [`Strip::in_registers`] with `COUNT` registers.
    ///
    /// # Safety
    /// As [`Strip::in_registers`]; the lanes must fill exactly `COUNT` registers.
    #[inline(always)]
    unsafe fn registers<F: Fold<S>, const COUNT: usize>(&mut self, s: S, i: usize, steps: usize) {
        let mut v = [start::<S, F>(s); COUNT];
        let mut nan_accs = self.nan_accs;
        let mut p = self.m.at(i, 0);
        // SAFETY: as the caller's.
        unsafe {
            for _ in 0..steps {
                for (r, v) in v.iter_mut().enumerate() {
                    let x = s.load(p.add(r * S::N));
                    *v = F::step(s, *v, x, s.splat(S::T::ZERO));
                    if F::CHECKS_NAN {
                        nan_accs[r % NAN_ACCS] = s.accumulate_nan(nan_accs[r % NAN_ACCS], x);
                    }
                }
                p = p.add(COUNT * S::N);
            }
            for (r, &v) in v.iter().enumerate() {
                store_acc(s, self.base.add(r * S::N), self.gap, S::N, v);
            }
        }
        self.nan_accs = nan_accs;
    }

    /// Folds the rows of `span` into lanes 0..lanes, one lane after the other.
    ///
    /// # Safety
    /// The rows must lie in the matrix. Unless they are the chunk's first, the lanes must have been written.
    #[inline(always)]
    pub(super) unsafe fn lane_by_lane<F: Fold<S>>(&mut self, s: S, span: RowSpan, lanes: usize) {
        // The frequent counts of steps have unrolled loops.
        match (span.steps, span.row) {
            (STEPS, 0) => return self.lane_steps::<F, false, true, STEPS>(s, span, lanes),
            // Columns shorter than a quarter of a chunk, as in matrix-vector products.
            (HALF_STEPS, 0) if F::PAIR && !self.needs_prefetch => {
                return self.lane_steps::<F, false, true, HALF_STEPS>(s, span, lanes);
            }
            (_, 0) => self.init_lanes::<F>(s),
            _ => {}
        }
        match span.steps {
            STEPS => self.lane_steps::<F, false, false, STEPS>(s, span, lanes),
            // Folds in a fixed order leave so few steps to `by_groups`.
            steps if F::ANY_ORDER && steps < HALF_STEPS => {
                self.lane_steps::<F, false, false, 1>(s, span, lanes)
            }
            // `max_steps` allows no more steps where lanes need prefetching.
            _ if !F::ANY_ORDER && self.needs_prefetch => {
                self.lane_steps::<F, true, false, HALF_STEPS>(s, span, lanes)
            }
            _ => self.lane_steps::<F, false, false, HALF_STEPS>(s, span, lanes),
        }
    }

    /// Sets all lanes to the start value.
    ///
    /// # Safety
    /// The work area must have room for them.
    #[inline(always)]
    unsafe fn init_lanes<F: Fold<S>>(&self, s: S) {
        let len = self.lanes * self.pitch;
        let mut c = 0;
        while c < len {
            store_acc(s, self.base.add(c), self.gap, len - c, start::<S, F>(s));
            c += S::N;
        }
    }

    /// [`Strip::lane_by_lane`] with `COUNT` steps at once, or one by one if `COUNT` is 1. With `FIRST`, lanes begin
    /// with the start value; with `PREFETCH`, memory is prefetched for later lanes.
    ///
    /// # Safety
    /// As [`Strip::lane_by_lane`]; `COUNT` must be 1 or the steps of the span.
    #[inline(always)]
    unsafe fn lane_steps<
        F: Fold<S>,
        const PREFETCH: bool,
        const FIRST: bool,
        const COUNT: usize,
    >(
        &mut self,
        s: S,
        span: RowSpan,
        lanes: usize,
    ) {
        let group = self.lanes / GROUPS;
        let mut nan_accs = self.nan_accs;
        let mut lane = 0;
        while lane < lanes {
            // Lanes that are folded like one long row. Their parameters are repeated for one group only.
            let count = match (self.is_contiguous, self.m.param.is_null()) {
                (true, true) => lanes,
                (true, false) => group,
                (false, _) => 1,
            };
            let len = count * self.cols;
            let mut ys = [s.splat(S::T::ZERO); COUNT];
            let mut c = 0;
            // SAFETY: as the caller's.
            unsafe {
                for (q, y) in ys.iter_mut().enumerate() {
                    *y = self
                        .m
                        .operand::<S, F>(s, span.i + lane + q * self.lanes, *y);
                }
                for _ in 0..len / S::N {
                    self.lane_register::<F, PREFETCH, FIRST, COUNT>(
                        s,
                        span,
                        lane,
                        c,
                        S::N,
                        &ys,
                        &mut nan_accs,
                    );
                    c += S::N;
                }
                if c < len {
                    self.lane_register::<F, PREFETCH, FIRST, COUNT>(
                        s,
                        span,
                        lane,
                        c,
                        len - c,
                        &ys,
                        &mut nan_accs,
                    );
                }
            }
            lane += count;
        }
        self.nan_accs = nan_accs;
    }

    /// Folds the rows of `span` into one register: `len` elements from `c` on, counted from the lane's first column.
    /// `ys` holds the elements of y for the lane's next `COUNT` rows.
    ///
    /// # Safety
    /// As [`Strip::lane_steps`].
    #[inline(always)]
    unsafe fn lane_register<
        F: Fold<S>,
        const PREFETCH: bool,
        const FIRST: bool,
        const COUNT: usize,
    >(
        &self,
        s: S,
        span: RowSpan,
        lane: usize,
        c: usize,
        len: usize,
        ys: &[S::V; COUNT],
        nan_accs: &mut [S::V; NAN_ACCS],
    ) {
        let Self {
            m, pitch, lanes, ..
        } = *self;
        let acc = self.base.wrapping_add(lane * pitch + c);
        let acc_len = self.acc_len(len);
        let stride = lanes as isize * m.inc;
        let mut p = m.at(span.i + lane, c);
        if PREFETCH {
            // In memory order, because a lane's rows are too close together to be streams of their own.
            let prefetched = m.at(
                span.i,
                (lane * self.cols + c) * COUNT + Self::PREFETCH_DISTANCE,
            );
            for q in 0..COUNT {
                s.prefetch_far(prefetched.wrapping_add(q * S::N));
            }
        }
        let mut v = if FIRST {
            start::<S, F>(s)
        } else {
            load_acc::<S, F>(s, acc, self.gap, acc_len)
        };
        let param = m.param::<S, F>(s, c, len);
        let repeats = if COUNT == 1 { span.steps } else { 1 };
        let mut operands = if F::PAIR { *ys } else { [param; COUNT] };
        for repeat in 0..repeats {
            if F::PAIR && COUNT == 1 {
                operands = [s.splat(m.y_at(span.i + lane + repeat * lanes)); COUNT];
            }
            v = take::<S, F, COUNT>(s, v, p, stride, len, &operands, nan_accs);
            p = p.wrapping_offset(COUNT as isize * stride);
        }
        store_acc(s, acc, self.gap, acc_len, v);
    }

    /// Elements to load and store for a register of `len` columns: only these in a contiguous strip, where the next
    /// lane follows without a gap, else a whole register.
    #[inline(always)]
    fn acc_len(&self, len: usize) -> usize {
        if self.is_contiguous { len } else { S::N }
    }

    /// Folds the rows of `span` into one lane of each group at a time. After the chunk's last rows, combines the groups
    /// and writes the results to the lanes of the first one.
    ///
    /// # Safety
    /// As [`Strip::lane_by_lane`].
    #[inline(always)]
    pub(super) unsafe fn by_groups<F: Fold<S>>(&self, s: S, span: RowSpan) {
        let group_lanes = self.lanes / GROUPS;
        let mut lane = 0;
        while lane < group_lanes {
            // In a contiguous strip, lanes of which equally many take one more row are folded like one long row.
            let end = match span.extra % group_lanes {
                _ if !self.is_contiguous => lane + 1,
                extra if lane < extra => extra,
                _ => group_lanes,
            };
            let extra = span.extra.saturating_sub(lane).div_ceil(group_lanes);
            let span = RowSpan { extra, ..span };
            let len = (end - lane) * self.cols;
            let mut c = 0;
            // SAFETY: as the caller's.
            unsafe {
                for _ in 0..len / S::N {
                    self.group_register::<F>(s, span, lane, c, S::N);
                    c += S::N;
                }
                if c < len {
                    self.group_register::<F>(s, span, lane, c, len - c);
                }
            }
            lane = end;
        }
    }

    /// Folds the rows of `span` into one register of one lane of each group: `len` elements from `c` on. The first
    /// `span.extra` groups take one more row.
    ///
    /// # Safety
    /// As [`Strip::lane_by_lane`].
    #[inline(always)]
    unsafe fn group_register<F: Fold<S>>(
        &self,
        s: S,
        span: RowSpan,
        lane: usize,
        c: usize,
        len: usize,
    ) {
        let m = self.m;
        let group_lanes = self.lanes / GROUPS;
        let acc = self.base.wrapping_add(lane * self.pitch + c);
        let group = |q: usize| acc.wrapping_add(q * group_lanes * self.pitch);
        let acc_len = self.acc_len(len);
        let step = group_lanes as isize * m.inc;
        let at = if self.is_contiguous {
            lane * self.cols
        } else {
            0
        };
        let i = span.i + lane;
        let p = m.at(i, c);
        // One bit for each group that takes one more row: given a count, the compiler jumps into unrolled code.
        let extra = (1usize << span.extra) - 1;
        let mut v = [start::<S, F>(s); GROUPS];
        let param = m.param::<S, F>(s, at + c, len);
        if span.row > 0 {
            for (q, v) in v.iter_mut().enumerate() {
                *v = load_acc::<S, F>(s, group(q), self.gap, acc_len);
            }
        }
        // As many groups at a time as 16 registers hold.
        let at_once = if S::N * size_of::<S::T>() == 64 {
            GROUPS
        } else {
            GROUPS / F::Acc::COUNT
        };
        let others = GROUPS - at_once;
        for (block, v) in v.chunks_exact_mut(at_once).enumerate() {
            let first = block * at_once;
            let mut i = i + first * group_lanes;
            let mut p = p.wrapping_offset(first as isize * step);
            for _ in 0..span.steps {
                for v in v.iter_mut() {
                    *v = F::step(s, *v, load(s, p, len), m.operand::<S, F>(s, i, param));
                    p = p.wrapping_offset(step);
                    i += group_lanes;
                }
                p = p.wrapping_offset(others as isize * step);
                i += others * group_lanes;
            }
            for (q, v) in v.iter_mut().enumerate() {
                if extra >> (first + q) & 1 == 1 {
                    *v = F::step(s, *v, load(s, p, len), m.operand::<S, F>(s, i, param));
                    p = p.wrapping_offset(step);
                    i += group_lanes;
                }
            }
        }
        if !span.is_last {
            for (q, &v) in v.iter().enumerate() {
                store_acc(s, group(q), self.gap, acc_len, v);
            }
            return;
        }
        store_acc(s, acc, self.gap, acc_len, combine_groups::<S, F>(s, v));
    }
}

/// Folds `len` elements of each of `COUNT` rows, at p, p + inc, ..., into the register `v`, each row with its operand.
///
/// # Safety
/// Each row must be valid for reading `len` elements, or a whole register if `len` is larger.
#[inline(always)]
unsafe fn take<S: Simd, F: Fold<S>, const COUNT: usize>(
    s: S,
    mut v: F::Acc,
    p: *const S::T,
    inc: isize,
    len: usize,
    operands: &[S::V; COUNT],
    nan_accs: &mut [S::V; NAN_ACCS],
) -> F::Acc {
    for (i, &operand) in operands.iter().enumerate() {
        let x = load(s, p.wrapping_offset(i as isize * inc), len);
        v = F::step(s, v, x, operand);
        if F::CHECKS_NAN {
            nan_accs[i % NAN_ACCS] = s.accumulate_nan(nan_accs[i % NAN_ACCS], x);
        }
    }
    v
}
