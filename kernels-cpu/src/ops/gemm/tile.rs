//! The register tile: MR rows by NV registers of C, over one segment of k.
//!
//! Each size is a function of its own (`table.rs` lists them per level): inlined into the block
//! loops, the largest tile would share its registers with them and spill.

use core::ptr::without_provenance;

use super::params::{LINE, MAX_MR, MAX_NR};
use crate::element::Element;
use crate::simd::Simd;

/// Rows of A, in place or packed.
#[derive(Clone, Copy)]
pub struct Left<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

/// Columns of B, in place or packed: neighbours at each step of k, `rs` elements on.
#[derive(Clone, Copy)]
pub struct Right<T> {
    pub p: *const T,
    pub rs: isize,
}

/// What tiles next to each other have in common. It lies in memory; what differs is passed in registers: a
/// tile would start late if it had to read what has just been written.
#[derive(Clone, Copy)]
pub struct Common<T> {
    /// Steps of k.
    pub depth: usize,
    /// From a row of A to the next, and from a column.
    pub a_rs: isize,
    pub a_cs: isize,
    /// From a row of c to the next. Rows are contiguous.
    pub out_rs: isize,
    pub update: Update,
    pub alpha: T,
    pub beta: T,
}

/// What becomes of the sums s of a tile. As large as a pointer, or the compiler would load it together with
/// alpha into a vector register, where its test waits for the arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Update {
    /// c = s: alpha is 1, c is not read.
    Plain,
    /// c = alpha s: c is not read.
    Scaled,
    /// c = fma(alpha, s, beta c).
    Added,
}

impl Update {
    #[inline(always)]
    pub fn new<T: Element>(alpha: T, beta: T) -> Self {
        if beta != T::ZERO {
            Self::Added
        } else if alpha != T::ONE {
            Self::Scaled
        } else {
            Self::Plain
        }
    }
}

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
    /// Whether there are tiles for at most half a register, on registers of half the size.
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
        self.half && last > 0 && 2 * last <= self.lanes
    }

    /// How long a row of so many columns takes, where a register takes 4. Half of one takes 2 or, in a tile of
    /// its own, 3, since that waits for elements of A.
    #[inline(always)]
    pub fn time(&self, columns: usize) -> usize {
        let last = columns & (self.lanes - 1);
        let whole = columns >> self.lanes.trailing_zeros();
        let end = match last {
            0 => 0,
            _ if !self.are_few(last) => 4,
            _ if whole + 1 < self.registers => 3,
            _ => 2,
        };
        4 * whole + end
    }

    /// How many of `rest` columns the next tile takes. The last two tiles are alike; but a few columns at the
    /// end are half a register in a tile by themselves, or with one whole register less than the most.
    #[inline(always)]
    pub fn next(&self, rest: usize) -> usize {
        let last = rest & (self.lanes - 1);
        let shift = self.lanes.trailing_zeros();
        let mut units = (rest + self.lanes - 1) >> shift;
        if self.are_few(last) {
            if units == 1 || units == self.registers {
                return rest;
            }
            units -= if units < self.registers {
                1
            } else {
                self.registers
            };
        }
        rest.min(next(units, self.registers) << shift)
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
    /// By height, of one register of half the size, which need not be full: by itself, and with one whole
    /// register less than the most. Empty without `Widths::half`.
    pub half: &'static [[TileFn<T>; 2]],
    /// By height, of one register more than `Widths::registers`: full, and at an edge. Their heights are lower
    /// than `rows`, so only a product cut as [`Tiles::sizes`] says may use them; or there are none.
    pub wide: &'static [[TileFn<T>; 2]],
    /// By width from two registers on, all of them full, of as many rows as there are: those that ask for
    /// memory. See [`AHEAD`].
    pub ahead: &'static [TileFn<T>],
}

impl<T> Tiles<T> {
    /// Whether the lists have every height and width, as [`Tiles::get`] relies on, within the limits of
    /// `params.rs`.
    pub const fn are_complete(&self) -> bool {
        let Widths {
            registers,
            lanes,
            half,
        } = self.widths;
        let all = self.rows * registers;
        self.full.len() == all
            && self.edge.len() == all
            && self.half.len() == if half { self.rows } else { 0 }
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
        let fits = n > self.widths.most() && n <= self.widths.most() + lanes;
        if fits && !self.wide.is_empty() {
            let wide = Widths {
                registers: registers + 1,
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
        } = self.widths;
        if half && 2 * width <= lanes {
            // SAFETY: the list has every height.
            return (unsafe { self.half.get_unchecked(height - 1)[0] }, width);
        }
        let last = width & (lanes - 1);
        let registers = (width + lanes - 1) >> lanes.trailing_zeros();
        // SAFETY: the lists have every height and width.
        let tile = unsafe {
            if registers > most {
                &self.wide.get_unchecked(height - 1)[usize::from(last > 0)]
            } else if self.widths.are_few(last) {
                &self.half.get_unchecked(height - 1)[1]
            } else {
                let list = if last == 0 { self.full } else { self.edge };
                list.get_unchecked((height - 1) * most + registers - 1)
            }
        };
        (*tile, last)
    }

    /// The tile of `height` rows and `width` columns that asks for memory, where there is one.
    #[inline(always)]
    pub fn ahead(&self, height: usize, width: usize) -> Option<TileFn<T>> {
        let registers = width >> self.widths.lanes.trailing_zeros();
        let rows = if registers > self.widths.registers {
            self.wide.len()
        } else {
            self.rows
        };
        let is_whole = height == rows && width & (self.widths.lanes - 1) == 0;
        let index = registers.checked_sub(2).filter(|_| is_whole)?;
        self.ahead.get(index).copied()
    }
}

/// All registers of a tile are full.
pub const FULL: u8 = 0;
/// The last register of a tile has a mask.
pub const EDGE: u8 = 1;
/// A tile has one register more, of half the size and with a mask.
pub const HALF: u8 = 2;
/// All registers of a tile are full, and at each step it asks for a line of memory for those who come after:
/// lines from the address `last` on.
pub const AHEAD: u8 = 3;

/// Runs a tile of `MR` rows and `NV` registers; of the last one of an edge, and of the half one, only `last`
/// lanes are read and written.
///
/// # Safety
/// `a` and `b` must hold `depth` steps, and `out` the rows, of the tile's columns.
#[inline(always)]
// Plain indices: iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const END: u8>(
    s: S,
    t: &Common<S::T>,
    a: *const S::T,
    b: Right<S::T>,
    out: *mut S::T,
    last: usize,
) {
    for i in 0..MR {
        let row = out.wrapping_offset(i as isize * t.out_rs);
        for line in (0..(NV * S::N * size_of::<S::T>()).max(1)).step_by(LINE) {
            s.prefetch(row.wrapping_byte_add(line));
        }
    }
    let h = s.half();
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let mut few = [h.splat(S::T::ZERO); MR];
    // Three rows of A to a pointer, which x86 addresses as p, p + rs, p + 2 rs.
    let strides = [0; MAX_MR.div_ceil(3)].map(|_| again(&t.a_rs));
    let mut rows = [a; MAX_MR.div_ceil(3)];
    for r in 1..MR.div_ceil(3) {
        rows[r] = a.wrapping_offset(3 * r as isize * strides[r]);
    }
    let mut bp = b.p;
    let mut line = without_provenance::<S::T>(last);
    for _ in 0..t.depth {
        if END == AHEAD {
            s.prefetch_far(line);
            line = line.wrapping_byte_add(LINE);
        }
        let mut right = [s.splat(S::T::ZERO); NV];
        for v in 0..NV {
            let end = END == EDGE && v + 1 == NV;
            // SAFETY: the caller vouches for the columns at each step.
            right[v] = unsafe { load(s, bp.add(v * S::N), end, last) };
        }
        let mut right_few = few[0];
        if END == HALF {
            // SAFETY: as above.
            right_few = unsafe { h.load_partial(bp.add(NV * S::N), last) };
        }
        for i in 0..MR {
            let p = rows[i / 3].wrapping_offset((i % 3) as isize * strides[i / 3]);
            // SAFETY: row i of the tile has an element at each step.
            let left = unsafe { *p };
            for v in 0..NV {
                acc[i][v] = s.fma(s.splat(left), right[v], acc[i][v]);
            }
            if END == HALF {
                few[i] = h.fma(h.splat(left), right_few, few[i]);
            }
        }
        for r in 0..MR.div_ceil(3) {
            rows[r] = rows[r].wrapping_offset(t.a_cs);
        }
        bp = bp.wrapping_offset(b.rs);
    }
    // SAFETY: the caller vouches for the rows and columns.
    unsafe {
        write::<_, MR, NV, END>(s, t, acc, out, last);
        if END == HALF {
            let acc = few.map(|sum| [sum]);
            write::<_, MR, 1, EDGE>(h, t, acc, out.wrapping_add(NV * S::N), last);
        }
    }
}

/// The end of [`tile`]: from its sums to c.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn write<S: Simd, const MR: usize, const NV: usize, const END: u8>(
    s: S,
    t: &Common<S::T>,
    mut acc: [[S::V; NV]; MR],
    out: *mut S::T,
    last: usize,
) {
    let (alpha, beta) = (s.splat(t.alpha), s.splat(t.beta));
    let out_rs = again(&t.out_rs);
    if t.update == Update::Scaled {
        for row in &mut acc {
            for sum in row {
                *sum = s.mul(alpha, *sum);
            }
        }
    }
    // What an edge stores is kept apart: a loop over partial stores is not unrolled, and with it `acc`
    // would be in memory.
    let mut ends = [alpha; MR];
    for i in 0..MR {
        let row = out.wrapping_offset(i as isize * out_rs);
        for v in 0..NV {
            let (p, end) = (row.wrapping_add(v * S::N), END == EDGE && v + 1 == NV);
            // SAFETY: the caller vouches for these columns of row i.
            unsafe {
                let c = if t.update == Update::Added {
                    s.fma(alpha, acc[i][v], s.mul(beta, load(s, p, end, last)))
                } else {
                    acc[i][v]
                };
                if end {
                    ends[i] = c;
                } else {
                    s.store(p, c);
                }
            }
        }
    }
    if END == EDGE {
        let column = out.wrapping_add((NV - 1) * S::N);
        for (i, &end) in ends.iter().enumerate() {
            let p = column.wrapping_offset(i as isize * out_rs);
            // SAFETY: the caller vouches for the last columns of row i.
            unsafe { s.store_partial(p, last, end) };
        }
    }
}

/// A stride that the compiler takes for another one each time. Otherwise it would compute each row's
/// address from the one before in every step, or keep addresses on the stack for the end of the tile: every
/// store counts, since those of a whole tile fill most of the processor's queue of them.
#[inline(always)]
fn again(stride: &isize) -> isize {
    // SAFETY: a reference is valid to read.
    unsafe { core::ptr::read_volatile(stride) }
}

/// A register of a tile's row; at the end of an edge only the `last` columns that there are.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, end: bool, last: usize) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if end {
            s.load_partial(p, last)
        } else {
            s.load(p)
        }
    }
}
