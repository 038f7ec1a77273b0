//! How the columns of C are cut into micro-tiles: the NR of each one.
#![forbid(unsafe_code)]

use crate::detect;

/// How many columns the microkernels of a level take.
#[derive(Clone, Copy)]
pub struct Widths {
    /// The greatest NV: registers in a row of a micro-tile; at least 2 where rows share a register.
    pub nv: usize,
    /// Elements in a register, a power of two.
    pub lanes: usize,
    /// Whether there are microkernels in which two or four rows share a register for a tail of at most half a register
    /// ([`SharedRegister`](super::tails::SharedRegister)).
    pub shared_register: bool,
    /// Whether there are microkernels with registers of half the size for such a tail
    /// ([`HalfRegisters`](super::tails::HalfRegisters)).
    pub half_register: bool,
}

impl Widths {
    /// The greatest NR.
    #[inline(always)]
    pub const fn nr(&self) -> usize {
        self.nv * self.lanes
    }

    /// `columns`, rounded up to whole registers.
    #[inline(always)]
    pub fn padded(&self, columns: usize) -> usize {
        (columns + self.lanes - 1) & !(self.lanes - 1)
    }

    /// Whether the `last` columns, which do not fill a register, fill at most half of one, and the level has
    /// microkernels for such a tail.
    #[inline(always)]
    pub fn is_short_tail(&self, last: usize) -> bool {
        self.shared_register && last > 0 && 2 * last <= self.lanes
    }

    /// The time for a row of `columns` columns, in quarters of the time for a full register. A tail behind whole
    /// registers costs 1 where four rows share a register, 2 where two do or where it has a register of half the size,
    /// and 4 where it has a masked register. A tail alone costs 4, or 3 with registers of half the size: such a
    /// micro-tile waits for elements of A.
    #[inline(always)]
    pub fn row_cost(&self, columns: usize) -> usize {
        let last = columns & (self.lanes - 1);
        let whole = columns >> self.lanes.trailing_zeros();
        let end = match last {
            0 => 0,
            _ if !self.is_short_tail(last) => 4,
            _ if whole == 0 => 4 - usize::from(self.half_register),
            _ if 4 * last > self.lanes || (self.half_register && detect::double_pumps_avx512()) => {
                2
            }
            _ => 1,
        };
        4 * whole + end
    }

    /// NR of the next micro-tile when `rest` columns are left. The last two micro-tiles get about the same NR, because
    /// one with a single register in a row has too few independent chains of fma to hide their latency. A short tail
    /// shares a micro-tile with whole registers, as long as that leaves enough of them for the micro-tile before.
    #[inline(always)]
    pub fn next_nr(&self, rest: usize) -> usize {
        let last = rest & (self.lanes - 1);
        let shift = self.lanes.trailing_zeros();
        let units = (rest + self.lanes - 1) >> shift;
        if !self.is_short_tail(last) {
            return rest.min(balanced_step(units, self.nv) << shift);
        }
        if units <= self.nv {
            return rest;
        }
        let whole = units - 1;
        let registers = if whole < 2 * self.nv {
            whole.div_ceil(2).max(2)
        } else {
            balanced_step(units - self.nv, self.nv)
        };
        registers << shift
    }
}

/// The next step, at most `most`, when `rest` rows or registers are left: the last two steps are about equal.
#[inline(always)]
pub fn balanced_step(rest: usize, most: usize) -> usize {
    if rest >= 2 * most {
        most
    } else if rest > most {
        rest.div_ceil(2)
    } else {
        rest
    }
}

/// The step, at most `most`, that cuts `extent` into about equal parts of whole `grain`s; at least one.
pub fn balanced(extent: usize, most: usize, grain: usize) -> usize {
    let most = (most / grain.max(1)).max(1);
    let grains = extent.div_ceil(grain.max(1)).max(1);
    let parts = grains.div_ceil(most).max(1);
    grains.div_ceil(parts).max(1) * grain
}
