//! How the columns of C are cut into micro-tiles: the NR of each.
#![forbid(unsafe_code)]

use crate::detect;

/// The columns that the microkernels of a level take.
#[derive(Clone, Copy)]
pub struct Widths {
    /// The most registers in a row of a micro-tile.
    pub nv: usize,
    /// Elements of a register, a power of two.
    pub lanes: usize,
    /// Whether there are microkernels whose rows share a register for a tail of at most half a one.
    pub shared: bool,
    /// Whether there are registers of half the size.
    pub half: bool,
}

impl Widths {
    /// NR of the widest micro-tile.
    #[inline(always)]
    pub const fn nr(&self) -> usize {
        self.nv * self.lanes
    }

    /// So many columns in whole registers.
    #[inline(always)]
    pub fn padded(&self, columns: usize) -> usize {
        (columns + self.lanes - 1) & !(self.lanes - 1)
    }

    /// Whether the columns that do not fill a register fill at most half of one, and there are microkernels with
    /// such a tail.
    #[inline(always)]
    pub fn is_short_tail(&self, last: usize) -> bool {
        self.shared && last > 0 && 2 * last <= self.lanes
    }

    /// How long a row of so many columns takes, where a register takes 4. Half of one takes 2, a quarter 1 unless
    /// it is half of one too, or in a micro-tile of their own 3, since that waits for elements of A.
    #[inline(always)]
    pub fn time(&self, columns: usize) -> usize {
        let last = columns & (self.lanes - 1);
        let whole = columns >> self.lanes.trailing_zeros();
        let end = match last {
            0 => 0,
            _ if !self.is_short_tail(last) => 4,
            _ if whole == 0 => 4 - usize::from(self.half),
            _ if 4 * last > self.lanes || (self.half && detect::splits_registers()) => 2,
            _ => 1,
        };
        4 * whole + end
    }

    /// NR of the next micro-tile of `rest` columns. The last two are alike: sums of one register a row wait for
    /// each other. A short tail goes with whole registers, as far as there are others for the micro-tile before.
    #[inline(always)]
    pub fn next(&self, rest: usize) -> usize {
        let last = rest & (self.lanes - 1);
        let shift = self.lanes.trailing_zeros();
        let units = (rest + self.lanes - 1) >> shift;
        if !self.is_short_tail(last) {
            return rest.min(next(units, self.nv) << shift);
        }
        if units <= self.nv {
            return rest;
        }
        let whole = units - 1;
        let registers = if whole < 2 * self.nv {
            whole.div_ceil(2).max(2)
        } else {
            next(units - self.nv, self.nv)
        };
        registers << shift
    }
}

/// How many of `rest` parts to take, at most `most`, so that the last two times are alike.
#[inline(always)]
pub fn next(rest: usize, most: usize) -> usize {
    if rest >= 2 * most {
        most
    } else if rest > most {
        rest.div_ceil(2)
    } else {
        rest
    }
}
