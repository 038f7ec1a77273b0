//! Which tiles a level has, and how C is cut into them.

use super::params::{MAX_MR, MAX_NR};
use super::tile::{Common, Right};
use crate::detect;

/// A tile of some size on some level: of rows of A and columns of B, to c; with the columns in the last
/// register where that is not full.
pub type TileFn<T> = unsafe fn(&Common<T>, *const T, Right<T>, *mut T, usize);

/// The columns that the tiles of a level take.
#[derive(Clone, Copy)]
pub struct Widths {
    /// The most registers in a row of a tile.
    pub registers: usize,
    /// Elements of a register, a power of two.
    pub lanes: usize,
    /// Whether there are tiles of at most half a register more than whole ones.
    pub few: bool,
    /// Whether there are tiles of half a register alone.
    pub half: bool,
}

impl Widths {
    /// The columns of the widest tile.
    #[inline(always)]
    pub const fn most(&self) -> usize {
        self.registers * self.lanes
    }

    /// So many columns in whole registers.
    #[inline(always)]
    pub fn padded(&self, columns: usize) -> usize {
        (columns + self.lanes - 1) & !(self.lanes - 1)
    }

    /// Whether columns that do not fill a register fill at most half of one, and there are such tiles.
    #[inline(always)]
    fn are_few(&self, last: usize) -> bool {
        self.few && last > 0 && 2 * last <= self.lanes
    }

    /// How long a row of so many columns takes, where a register takes 4. Half of one takes 2, a quarter 1 unless
    /// it is half of one too, or in a tile of their own 3, since that waits for elements of A.
    #[inline(always)]
    pub fn time(&self, columns: usize) -> usize {
        let last = columns & (self.lanes - 1);
        let whole = columns >> self.lanes.trailing_zeros();
        let end = match last {
            0 => 0,
            _ if !self.are_few(last) => 4,
            _ if whole == 0 => 4 - usize::from(self.half),
            _ if 4 * last > self.lanes || (self.half && detect::splits_registers()) => 2,
            _ => 1,
        };
        4 * whole + end
    }

    /// How many of `rest` columns the next tile takes. The last two tiles are alike: sums of one register a row
    /// wait for each other. A few columns at the end go with whole registers, as far as there are others for the
    /// tile before.
    #[inline(always)]
    pub fn next(&self, rest: usize) -> usize {
        let last = rest & (self.lanes - 1);
        let shift = self.lanes.trailing_zeros();
        let units = (rest + self.lanes - 1) >> shift;
        if !self.are_few(last) {
            return rest.min(next(units, self.registers) << shift);
        }
        if units <= self.registers {
            return rest;
        }
        let whole = units - 1;
        let registers = if whole < 2 * self.registers {
            whole.div_ceil(2).max(2)
        } else {
            next(units - self.registers, self.registers)
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

/// The tiles of a level.
pub struct Tiles<T: 'static> {
    /// The most rows.
    pub rows: usize,
    pub widths: Widths,
    /// By height, then by width in registers, all of them full.
    pub full: &'static [TileFn<T>],
    /// Likewise, of which the last register is not full.
    pub edge: &'static [TileFn<T>],
    /// By height, of one register of half the size, which need not be full. Empty without `Widths::half`.
    pub half: &'static [TileFn<T>],
    /// By height, then by whole registers, of which there is one less than the most: of at most half a register
    /// more, and of at most a quarter. Empty without `Widths::few`.
    pub few: &'static [[TileFn<T>; 2]],
    /// In the same order, of at most half a register more, for CPUs on which it takes less time in a register of
    /// half the size ([`detect::splits_registers`]). Empty where there is no such size.
    pub split: &'static [TileFn<T>],
    /// By height, of one register more than `Widths::registers`: full, and at an edge. Their heights are lower
    /// than `rows`, so only a product cut as [`Tiles::sizes`] says may use them; or there are none.
    pub wide: &'static [[TileFn<T>; 2]],
    /// By width from two registers on, all of them full, of as many rows as there are: those that ask for
    /// memory. See [`AHEAD`](super::AHEAD).
    pub ahead: &'static [TileFn<T>],
    /// Likewise, those that write past the caches. See [`STREAM`](super::STREAM).
    pub stream: &'static [TileFn<T>],
    /// Likewise, those that copy what they read of B. See [`COPY`](super::COPY).
    pub copy: &'static [TileFn<T>],
}

impl<T> Tiles<T> {
    /// Whether the lists have every height and width, as [`Tiles::get`] relies on, within the limits of
    /// `params.rs`.
    pub const fn are_complete(&self) -> bool {
        let Widths {
            registers,
            lanes,
            few,
            half,
        } = self.widths;
        let all = self.rows * registers;
        self.full.len() == all
            && self.edge.len() == all
            && self.half.len() == if half { self.rows } else { 0 }
            && self.few.len() == if few { all - self.rows } else { 0 }
            && self.split.len() == if few && half { all - self.rows } else { 0 }
            && self.wide.len() < self.rows
            && self.rows <= MAX_MR
            && self.widths.most() <= MAX_NR
            && lanes.is_power_of_two()
    }

    /// The most rows, and the widths, for a product of `n` columns. Where one wide tile takes them all,
    /// it reads whole rows of B, which memory gives faster than two halves.
    #[inline(always)]
    pub fn sizes(&self, n: usize) -> (usize, Widths) {
        let Widths {
            registers, lanes, ..
        } = self.widths;
        let fits = n > self.widths.most()
            && n <= self.widths.most() + lanes
            && !self.widths.are_few(n & (lanes - 1));
        if fits && !self.wide.is_empty() {
            let wide = Widths {
                registers: registers + 1,
                few: false,
                half: false,
                lanes,
            };
            return (self.wide.len(), wide);
        }
        (self.rows, self.widths)
    }

    /// The tile of `height` rows and `width` columns, and the columns in its last register where that
    /// is not full.
    ///
    /// # Safety
    /// 1 <= height, 1 <= width, within `rows` and `widths` or within what [`Tiles::sizes`] says.
    #[inline(always)]
    pub unsafe fn get(&self, height: usize, width: usize) -> (TileFn<T>, usize) {
        let Widths {
            registers: most,
            lanes,
            half,
            ..
        } = self.widths;
        // Small products first: for them every instruction counts.
        if half && 2 * width <= lanes {
            // SAFETY: the list has every height.
            return (unsafe { *self.half.get_unchecked(height - 1) }, width);
        }
        let last = width & (lanes - 1);
        let registers = (width + lanes - 1) >> lanes.trailing_zeros();
        // SAFETY: the lists have every height and width.
        let tile = unsafe {
            if registers > most {
                &self.wide.get_unchecked(height - 1)[usize::from(last > 0)]
            } else if registers > 1 && self.widths.are_few(last) {
                let index = (height - 1) * (most - 1) + registers - 2;
                match self.split.get(index) {
                    Some(split) if detect::splits_registers() => split,
                    _ => &self.few.get_unchecked(index)[usize::from(4 * last <= lanes)],
                }
            } else {
                let list = if last == 0 { self.full } else { self.edge };
                list.get_unchecked((height - 1) * most + registers - 1)
            }
        };
        (*tile, last)
    }

    /// The tile of `height` rows and `width` columns in `list`, one of those of whole tiles only, where there
    /// is one.
    #[inline(always)]
    pub fn whole(
        &self,
        list: &'static [TileFn<T>],
        (height, width): (usize, usize),
    ) -> Option<TileFn<T>> {
        let registers = width >> self.widths.lanes.trailing_zeros();
        let rows = if registers > self.widths.registers {
            self.wide.len()
        } else {
            self.rows
        };
        let is_whole = height == rows && width & (self.widths.lanes - 1) == 0;
        let index = registers.checked_sub(2).filter(|_| is_whole)?;
        list.get(index).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tile::Update;
    use super::*;
    use crate::element::Element;
    use crate::level::Level;
    use std::vec::Vec;

    /// Which tiles take a few columns more depends on the CPU; here all of them do, and one with a mask besides.
    fn few_columns<T: Element>(level: Level) {
        const DEPTH: usize = 5;
        let tiles = &T::kernels(level).tiles;
        let Widths { lanes, few, .. } = tiles.widths;
        let most = tiles.widths.registers;
        let numbers = |count: usize| -> Vec<T> {
            let seventh = |i: usize| T::from_f64((i * i % 23) as f64 / 7.0 - 1.5);
            (0..count).map(seventh).collect()
        };
        let (a, b) = (numbers(MAX_MR * DEPTH), numbers(MAX_NR * DEPTH));
        let common = Common {
            depth: DEPTH,
            a_rs: DEPTH as isize,
            a_cs: 1,
            out_rs: MAX_NR as isize,
            ahead: 0,
            copy: core::ptr::null_mut(),
            update: Update::Added,
            alpha: T::from_f64(0.3),
            beta: T::from_f64(-0.7),
        };
        let heights = 1..=if few { tiles.rows } else { 0 };
        for (height, registers) in heights.flat_map(|h| (1..most).map(move |r| (h, r))) {
            let at = (height - 1) * (most - 1) + registers - 1;
            for last in 1..=lanes / 2 {
                let run = |tile: TileFn<T>| {
                    let mut c = numbers(MAX_MR * MAX_NR);
                    let right = Right {
                        p: b.as_ptr(),
                        rs: MAX_NR as isize,
                    };
                    // SAFETY: the machine has the level; the arrays hold the largest tile.
                    unsafe { tile(&common, a.as_ptr(), right, c.as_mut_ptr(), last) };
                    c
                };
                let expected = run(tiles.edge[(height - 1) * most + registers]);
                let quarter = (4 * last <= lanes).then_some(tiles.few[at][1]);
                let others = [
                    Some(tiles.few[at][0]),
                    quarter,
                    tiles.split.get(at).copied(),
                ];
                for tile in others.into_iter().flatten() {
                    let what = (level, height, registers, last);
                    assert!(run(tile) == expected, "{what:?}");
                }
            }
        }
    }

    #[test]
    fn all_tiles_of_few_columns_agree() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            few_columns::<f32>(level);
            few_columns::<f64>(level);
        }
    }
}
