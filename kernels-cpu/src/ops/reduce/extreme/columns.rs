//! argmin and argmax of many columns at once.

use core::hint::black_box;

use crate::aligned::AlignedBytes;
use crate::detect::is_from_memory;
use crate::element::Element;
use crate::ops::load;
use crate::simd::{MAX_LANES, Simd};

/// Bytes of a row whose columns are searched together.
const WIDTH: usize = 4 << 10;
/// Rows of a block: every element type represents their indices exactly.
const BLOCK: usize = 1 << 20;
/// Most rows that are searched at once for a register of columns.
const ROWS: usize = 16;
/// The same for rows that compete for the sets of L1, or come from memory, which delivers more to few streams.
const FEW_ROWS: usize = 4;

/// A block of rows and columns, and the state of the search: an element of each array for each column.
#[derive(Clone, Copy)]
struct SearchBlock<T> {
    x: *const T,
    inc: isize,
    rows: usize,
    cols: usize,
    /// How many rows of the matrix precede the block.
    start: usize,
    /// Whether these are the last rows of the matrix.
    is_last: bool,
    /// Whether the columns are expected in memory rather than in a cache.
    from_memory: bool,
    /// The extremes so far.
    values: *mut T,
    /// The row of each extreme, counted in this block; -1 if it is in an earlier block.
    indices: *mut T,
    /// NaN if an element is NaN, and possibly without one; the other two arrays are then ignored.
    nan_accs: *mut T,
    out: *mut i64,
    inc_out: isize,
}

/// Writes the row of the first least element by value of column j, or -1 if one of its elements may be NaN, to
/// out\[j * inc_out\] for columns 0..cols. Returns whether an element may be NaN.
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
    search::<S, false>(s, rows, cols, x, inc, out, inc_out)
}

/// Writes the row of the first greatest element by value of column j, or -1 if one of its elements may be NaN, to
/// out\[j * inc_out\] for columns 0..cols. Returns whether an element may be NaN.
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
    search::<S, true>(s, rows, cols, x, inc, out, inc_out)
}

/// [`argmin_columns`], or [`argmax_columns`] with `GREATEST`.
///
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
    let (mut values, mut indices, mut nan_accs) = (
        AlignedBytes::<WIDTH>::new(),
        AlignedBytes::<WIDTH>::new(),
        AlignedBytes::<WIDTH>::new(),
    );
    let width = WIDTH / size_of::<S::T>();
    let from_memory = S::HAS_SHAPE_LOOPS && is_from_memory::<S::T>(rows.saturating_mul(cols));
    let mut may_hold_nan = false;
    let mut j = 0;
    while j < cols {
        let mut start = 0;
        while start < rows {
            let block = SearchBlock {
                x: x.wrapping_offset(start as isize * inc).wrapping_add(j),
                inc,
                rows: BLOCK.min(rows - start),
                cols: width.min(cols - j),
                start,
                is_last: rows - start <= BLOCK,
                from_memory,
                values: values.start(),
                indices: indices.start(),
                nan_accs: nan_accs.start(),
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

impl<T: Element> SearchBlock<T> {
    /// Searches all rows of the block. Returns whether an element may be NaN.
    ///
    /// # Safety
    /// The block must lie in the matrix; the arrays must have room for its columns in whole registers, and `out` must
    /// be valid for its columns.
    #[inline(always)]
    unsafe fn search<S: Simd<T = T>, const GREATEST: bool>(self, s: S) -> bool {
        // Rows a large power of two apart share L1 sets, which hold few lines.
        let stride = self.inc.unsigned_abs() * size_of::<T>();
        let max_rows = if self.from_memory || stride.is_multiple_of(2048) {
            FEW_ROWS
        } else {
            ROWS
        };
        let mut may_hold_nan = false;
        let mut i = 0;
        while i < self.rows {
            let rest = self.rows - i;
            // SAFETY: as the caller's.
            unsafe {
                i += if rest >= ROWS && max_rows == ROWS {
                    self.take_rows::<S, GREATEST, ROWS>(s, i, &mut may_hold_nan)
                } else if rest >= FEW_ROWS {
                    self.take_rows::<S, GREATEST, FEW_ROWS>(s, i, &mut may_hold_nan)
                } else {
                    self.take_rows::<S, GREATEST, 1>(s, i, &mut may_hold_nan)
                };
            }
        }
        may_hold_nan
    }

    /// Searches `COUNT` rows from row i on, and returns `COUNT`.
    ///
    /// # Safety
    /// As [`SearchBlock::search`].
    #[inline(always)]
    unsafe fn take_rows<S: Simd<T = T>, const GREATEST: bool, const COUNT: usize>(
        self,
        s: S,
        i: usize,
        may_hold_nan: &mut bool,
    ) -> usize {
        let mut row = self.x.wrapping_offset(i as isize * self.inc);
        // After the last rows follow the first ones of the next columns.
        let ahead = if i + 2 * COUNT <= self.rows {
            row.wrapping_offset(COUNT as isize * self.inc)
        } else {
            self.x.wrapping_add(self.cols)
        };
        let may_prefetch = const { COUNT == FEW_ROWS };
        let zero = if may_prefetch { black_box(0) } else { 0 };
        let is_end = i + COUNT == self.rows;
        let mut c = 0;
        while c < self.cols {
            // SAFETY: these columns lie in the matrix; the arrays have whole registers.
            unsafe {
                if may_prefetch && self.from_memory {
                    for r in 0..COUNT {
                        let row = ahead.wrapping_offset(r as isize * self.inc);
                        s.prefetch(row.wrapping_add(c));
                    }
                    // The addresses depend on what has been read: reads that run ahead of memory fill the queue of L1
                    // misses and hold up the prefetches.
                    let read = *row.wrapping_add(c).cast::<u8>();
                    row = row.wrapping_add(usize::from(read) & zero);
                }
                let state = self.state::<S, GREATEST>(s, i, c);
                let (p, len) = (row.wrapping_add(c), self.cols - c);
                let (best, index, nan_acc) = if S::HAS_SHAPE_LOOPS && len >= S::N {
                    self.compare::<S, GREATEST, COUNT>(s, state, i, p, S::N)
                } else {
                    self.compare::<S, GREATEST, COUNT>(s, state, i, p, len)
                };
                if is_end {
                    *may_hold_nan |= self.write(s, c, index, nan_acc);
                }
                if !(is_end && self.is_last) {
                    s.store(self.values.add(c), best);
                    s.store(self.indices.add(c), index);
                    s.store(self.nan_accs.add(c), nan_acc);
                }
            }
            c += S::N;
        }
        COUNT
    }

    /// The state of `len` columns after `COUNT` rows from row i on, the first of which begins at `p`, from the state
    /// before.
    ///
    /// # Safety
    /// The rows must be valid for these columns.
    #[inline(always)]
    unsafe fn compare<S: Simd<T = T>, const GREATEST: bool, const COUNT: usize>(
        self,
        s: S,
        (mut best, mut index, mut nan_acc): (S::V, S::V, S::V),
        i: usize,
        p: *const T,
        len: usize,
    ) -> (S::V, S::V, S::V) {
        for r in 0..COUNT {
            // SAFETY: the row is the caller's.
            let x = unsafe { load(s, p.wrapping_offset(r as isize * self.inc), len) };
            let keeps = if GREATEST {
                s.le(x, best)
            } else {
                s.le(best, x)
            };
            index = s.select(keeps, index, s.splat(T::from_count(i + r)));
            best = if GREATEST {
                s.max_or_second(best, x)
            } else {
                s.min_or_second(best, x)
            };
            nan_acc = s.accumulate_nan(nan_acc, x);
        }
        (best, index, nan_acc)
    }

    /// The state of the columns from c on before row i: extremes, indices and NaN accumulators.
    ///
    /// # Safety
    /// Unless row i is the first of the matrix, the arrays must have been written.
    #[inline(always)]
    unsafe fn state<S: Simd<T = T>, const GREATEST: bool>(
        self,
        s: S,
        i: usize,
        c: usize,
    ) -> (S::V, S::V, S::V) {
        let zero = s.splat(T::ZERO);
        if self.start + i == 0 {
            let start = if GREATEST {
                T::NEG_INFINITY
            } else {
                T::INFINITY
            };
            return (s.splat(start), zero, zero);
        }
        let index = if i == 0 {
            s.sub(zero, s.splat(T::ONE))
        } else {
            s.load(self.indices.add(c))
        };
        let best = s.load(self.values.add(c));
        (best, index, s.load(self.nan_accs.add(c)))
    }

    /// Writes the indices that lie in this block, and -1 for columns that may have a NaN. Returns whether there is such
    /// a column.
    ///
    /// # Safety
    /// `out` must be valid for the columns from c on, at most a register of them.
    #[inline(always)]
    unsafe fn write<S: Simd<T = T>>(self, s: S, c: usize, index: S::V, nan_acc: S::V) -> bool {
        let count = S::N.min(self.cols - c);
        let out = self.out.wrapping_offset(c as isize * self.inc_out);
        const { assert!(S::N <= MAX_LANES) };
        let mut indices = [T::ZERO; MAX_LANES];
        // SAFETY: `indices` has at least N elements; the results are the caller's.
        unsafe {
            s.store(indices.as_mut_ptr(), index);
            if self.start == 0 && self.inc_out == 1 && count == S::N {
                for (l, index) in indices.iter().enumerate().take(S::N) {
                    out.add(l).write(index.to_count() as i64);
                }
            } else {
                for (l, &index) in indices.iter().enumerate().take(count) {
                    if index >= T::ZERO {
                        let index = self.start + index.to_count();
                        out.wrapping_offset(l as isize * self.inc_out)
                            .write(index as i64);
                    }
                }
            }
            let mut nans = s.bits(s.unordered(nan_acc, nan_acc)) & s.bits(s.first_lanes(count));
            let may_hold_nan = nans != 0;
            while nans != 0 {
                let l = nans.trailing_zeros() as isize;
                out.wrapping_offset(l * self.inc_out).write(-1);
                nans &= nans - 1;
            }
            may_hold_nan
        }
    }
}
