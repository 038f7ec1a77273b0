//! argmin and argmax of many columns at once.

use core::mem::MaybeUninit;

use crate::element::Element;
use crate::ops::load;
use crate::simd::Simd;

/// Bytes of a row that are searched at once.
const WIDTH: usize = 4 << 10;
/// Rows whose numbers any element type holds exactly.
const BLOCK: usize = 1 << 20;
/// Rows that a register of columns takes at once, at most.
const ROWS: usize = 16;

/// Room for an element of each column.
#[repr(align(64))]
struct Room([MaybeUninit<u8>; WIDTH]);

impl Room {
    const fn new() -> Self {
        Self([MaybeUninit::uninit(); WIDTH])
    }
    fn as_mut_ptr<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }
}

/// Some rows of some columns, and what is known of them: an element of each array per column.
#[derive(Clone, Copy)]
struct Block<T> {
    x: *const T,
    inc: isize,
    rows: usize,
    cols: usize,
    /// Rows before these, and whether there are none after them.
    start: usize,
    is_last: bool,
    /// The extremes.
    values: *mut T,
    /// The row of this block where each is; -1 where it is in an earlier one.
    places: *mut T,
    /// NaN if an element is, and perhaps without one: then the other two do not count.
    nan_accs: *mut T,
    out: *mut i64,
    inc_out: isize,
}

/// out\[j * inc_out\] = the row of the first least element by value of column j, for columns 0..cols, or -1
/// where an element may be NaN; returns whether one may.
///
/// # Safety
/// `x` must be valid at `rows` > 0 by `cols` elements, `out` at `cols`.
#[inline(always)]
pub unsafe fn argmin_columns<S: Simd>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    out: *mut i64,
    inc_out: isize,
) -> bool {
    // SAFETY: as the caller's.
    unsafe { search::<S, false>(s, rows, cols, x, inc, out, inc_out) }
}

/// As [`argmin_columns`], of the first greatest elements.
///
/// # Safety
/// As [`argmin_columns`].
#[inline(always)]
pub unsafe fn argmax_columns<S: Simd>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    out: *mut i64,
    inc_out: isize,
) -> bool {
    // SAFETY: as the caller's.
    unsafe { search::<S, true>(s, rows, cols, x, inc, out, inc_out) }
}

/// # Safety
/// As [`argmin_columns`].
#[inline(always)]
unsafe fn search<S: Simd, const GREATEST: bool>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    out: *mut i64,
    inc_out: isize,
) -> bool {
    let (mut values, mut places, mut nan_accs) = (Room::new(), Room::new(), Room::new());
    let width = WIDTH / size_of::<S::T>();
    let mut may_hold_nan = false;
    let mut j = 0;
    while j < cols {
        let mut start = 0;
        while start < rows {
            let block = Block {
                x: x.wrapping_offset(start as isize * inc).wrapping_add(j),
                inc,
                rows: BLOCK.min(rows - start),
                cols: width.min(cols - j),
                start,
                is_last: rows - start <= BLOCK,
                values: values.as_mut_ptr(),
                places: places.as_mut_ptr(),
                nan_accs: nan_accs.as_mut_ptr(),
                out: out.wrapping_offset(j as isize * inc_out),
                inc_out,
            };
            // SAFETY: the rows and columns lie in the matrix; there is room for the columns.
            may_hold_nan |= unsafe { block.search::<S, GREATEST>(s) };
            start += BLOCK;
        }
        j += width;
    }
    may_hold_nan
}

impl<T: Element> Block<T> {
    /// Goes on with all rows; returns whether one may have a NaN.
    ///
    /// # Safety
    /// They must be there, and the arrays have room for the columns in whole registers.
    #[inline(always)]
    unsafe fn search<S: Simd<T = T>, const GREATEST: bool>(self, s: S) -> bool {
        // Rows a power of two apart share sets of the first-level cache, which hold few.
        let apart = self.inc.unsigned_abs() * size_of::<T>();
        let most = if apart.is_multiple_of(2048) {
            ROWS / 4
        } else {
            ROWS
        };
        let mut may_hold_nan = false;
        let mut i = 0;
        while i < self.rows {
            let rest = self.rows - i;
            // SAFETY: as the caller's.
            unsafe {
                i += if rest >= ROWS && most == ROWS {
                    self.some::<S, GREATEST, ROWS>(s, i, &mut may_hold_nan)
                } else if rest >= ROWS / 4 {
                    self.some::<S, GREATEST, { ROWS / 4 }>(s, i, &mut may_hold_nan)
                } else {
                    self.some::<S, GREATEST, 1>(s, i, &mut may_hold_nan)
                };
            }
        }
        may_hold_nan
    }

    /// Goes on with `COUNT` rows from row i; returns how many those are.
    ///
    /// # Safety
    /// As [`Block::search`].
    #[inline(always)]
    unsafe fn some<S: Simd<T = T>, const GREATEST: bool, const COUNT: usize>(
        self,
        s: S,
        i: usize,
        may_hold_nan: &mut bool,
    ) -> usize {
        let row = self.x.wrapping_offset(i as isize * self.inc);
        let is_end = i + COUNT == self.rows;
        let mut c = 0;
        while c < self.cols {
            // SAFETY: these columns lie in the matrix; the arrays have whole registers.
            unsafe {
                let (mut best, mut place, mut nan_acc) = self.before::<S, GREATEST>(s, i, c);
                for r in 0..COUNT {
                    let p = row.wrapping_offset(r as isize * self.inc).wrapping_add(c);
                    let x = load(s, p, self.cols - c);
                    let stays = if GREATEST {
                        s.le(x, best)
                    } else {
                        s.le(best, x)
                    };
                    place = s.select(stays, place, s.splat(T::from_count(i + r)));
                    best = if GREATEST {
                        s.max_or_second(best, x)
                    } else {
                        s.min_or_second(best, x)
                    };
                    nan_acc = s.accumulate_nan(nan_acc, x);
                }
                if is_end {
                    *may_hold_nan |= self.write(s, c, place, nan_acc);
                }
                if !(is_end && self.is_last) {
                    s.store(self.values.add(c), best);
                    s.store(self.places.add(c), place);
                    s.store(self.nan_accs.add(c), nan_acc);
                }
            }
            c += S::N;
        }
        COUNT
    }

    /// What is known of the columns from c on before row i: the extremes, the places and the nan_accs.
    ///
    /// # Safety
    /// The arrays must have been written before rows that are not the first.
    #[inline(always)]
    unsafe fn before<S: Simd<T = T>, const GREATEST: bool>(
        self,
        s: S,
        i: usize,
        c: usize,
    ) -> (S::V, S::V, S::V) {
        let zero = s.splat(T::ZERO);
        if self.start + i == 0 {
            let none = if GREATEST {
                T::NEG_INFINITY
            } else {
                T::INFINITY
            };
            return (s.splat(none), zero, zero);
        }
        // SAFETY: as the caller's.
        unsafe {
            let place = if i == 0 {
                s.sub(zero, s.splat(T::ONE))
            } else {
                s.load(self.places.add(c))
            };
            let best = s.load(self.values.add(c));
            (best, place, s.load(self.nan_accs.add(c)))
        }
    }

    /// Writes the places that are in this block, and -1 where there may be a NaN; returns whether one may.
    ///
    /// # Safety
    /// `out` must be valid for the columns from c on, as far as there are.
    #[inline(always)]
    unsafe fn write<S: Simd<T = T>>(self, s: S, c: usize, place: S::V, nan_acc: S::V) -> bool {
        let count = S::N.min(self.cols - c);
        let out = self.out.wrapping_offset(c as isize * self.inc_out);
        let mut places = [T::ZERO; 16];
        // SAFETY: no level has more than 16 lanes; the results are the caller's.
        unsafe {
            s.store(places.as_mut_ptr(), place);
            if self.start == 0 && self.inc_out == 1 && count == S::N {
                for (l, place) in places.iter().enumerate().take(S::N) {
                    out.add(l).write(place.to_count() as i64);
                }
            } else {
                for (l, &place) in places.iter().enumerate().take(count) {
                    if place >= T::ZERO {
                        let place = self.start + place.to_count();
                        out.wrapping_offset(l as isize * self.inc_out)
                            .write(place as i64);
                    }
                }
            }
            let mut left = s.bits(s.unordered(nan_acc, nan_acc)) & s.bits(s.first_lanes(count));
            let may_hold_nan = left != 0;
            while left != 0 {
                let l = left.trailing_zeros() as isize;
                out.wrapping_offset(l * self.inc_out).write(-1);
                left &= left - 1;
            }
            may_hold_nan
        }
    }
}
