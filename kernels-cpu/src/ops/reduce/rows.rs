//! Many short vectors of one length: N of them at a time, so that their lanes are halved together.

mod short;

use core::hint::black_box;

use super::chunk::whole;
use super::fold::{Accumulators, start};
use super::halving::{MAX_LANES, halve_all};
use super::leaf::{has_nan, leaf, two_leaves};
use super::source::Source;
use super::walk::fold_vector;
use super::{Fold, chunk_len, streams};
use crate::detect::is_from_memory;
use crate::element::Element;
use crate::ops::prefetch_pages;
use crate::simd::{Outlined, Simd};
use short::short;

/// Most bytes of a short row.
pub const SHORT: usize = 2560;

/// [`prefetch_pages`] for one of several consecutive rows, of at most a chunk each. Does nothing for short rows, for
/// which it does not pay.
#[inline(always)]
pub fn prefetch_row<S: Simd, M>(s: S, row: *const M, n: usize) {
    let bytes = n * size_of::<M>();
    if bytes > SHORT {
        prefetch_pages(s, row, bytes);
    }
}

/// Bytes from the rows being folded to the rows being prefetched.
const PREFETCH_DISTANCE: usize = 8 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Rows of `n` contiguous elements each.
#[derive(Clone, Copy)]
struct Rows<T> {
    n: usize,
    x: *const T,
    /// Elements from a row to the next.
    inc: isize,
    /// The second vector of a fold of two, the same for all rows.
    y: Source<T>,
    /// The parameter of each row, or null.
    param: *const T,
    /// Whether the rows are expected in memory rather than in a cache.
    from_memory: bool,
}

impl<T: Element> Rows<T> {
    #[inline(always)]
    fn row(self, i: usize) -> *const T {
        self.x.wrapping_offset(i as isize * self.inc)
    }

    /// # Safety
    /// `param` must be null, or valid for row i.
    #[inline(always)]
    unsafe fn param<S: Simd<T = T>, F: Fold<S>>(self, i: usize) -> T {
        if F::PAIR || self.param.is_null() {
            return T::ZERO;
        }
        // SAFETY: the caller vouches for a parameter per row.
        unsafe { *self.param.add(i) }
    }
}

/// Prefetches `count` rows of `bytes` bytes, `inc` bytes apart, because partial loads that miss the caches wait for one
/// another. A function of its own, which all folds share.
struct PrefetchRows {
    x: *const u8,
    inc: isize,
    count: usize,
    bytes: usize,
}

impl<S: Simd> Outlined<S> for PrefetchRows {
    type Output = ();

    #[inline(always)]
    unsafe fn run(self, s: S) {
        let stride = self.inc.unsigned_abs();
        let first = if self.inc < 0 {
            self.x.wrapping_offset((self.count as isize - 1) * self.inc)
        } else {
            self.x
        };
        // Rows without gaps are one run: a line that two rows share is prefetched once, because each prefetch takes the
        // place of a load.
        let (rows, bytes) = if stride <= self.bytes {
            (1, self.count * stride)
        } else {
            (self.count, self.bytes)
        };
        for r in 0..rows {
            let row = first.wrapping_add(r * stride);
            for line in (0..bytes).step_by(LINE) {
                s.prefetch(row.wrapping_add(line));
            }
        }
    }
}

/// Writes the fold of row i, with its last step, to out\[i\] for rows 0..rows of `n` > 0 elements each. `y` is the
/// second vector of folds of two; `param` holds one value per row for folds with a parameter. `prefetch` says
/// that the rows, and the rows that follow, are expected in memory.
///
/// # Safety
/// `x` must be valid at `rows` by `n` elements, `y` at `n` of stride `incy` and `param` for `rows`
/// as far as the fold reads them, `out` for `rows` elements.
#[inline(always)]
pub unsafe fn rows<S: Simd, F: Fold<S>>(
    s: S,
    rows: usize,
    n: usize,
    x: *const S::T,
    inc: isize,
    y: *const S::T,
    incy: isize,
    param: *const S::T,
    out: *mut S::T,
    prefetch: bool,
) {
    let y = Source { p: y, inc: incy };
    let m = Rows {
        n,
        x,
        inc,
        y,
        param,
        from_memory: is_from_memory::<S::T>(rows.saturating_mul(n)),
    };
    let by_groups = n <= chunk_len::<S::T>() && (!F::PAIR || incy == 1);
    let mut fix_zeros_after = S::FIX_ZEROS_AFTER && <F::NonzeroResult as Fold<S>>::CHECKS_ZERO;
    let ahead = if prefetch && S::HAS_SHAPE_LOOPS && n * size_of::<S::T>() <= SHORT {
        let rows = PREFETCH_DISTANCE.checked_div(n * size_of::<S::T>());
        rows.map_or(0, |rows| rows + 1)
    } else {
        0
    };
    let mut i = 0;
    while i < rows {
        let count = S::N.min(rows - i);
        if ahead > 0 {
            let part = PrefetchRows {
                x: m.row(i + ahead).cast(),
                inc: inc * size_of::<S::T>() as isize,
                count,
                bytes: n * size_of::<S::T>(),
            };
            // SAFETY: prefetches have no requirements.
            unsafe { s.outlined(part) };
        }
        // SAFETY: rows i..i + count are the caller's.
        unsafe {
            let quick = by_groups && fix_zeros_after;
            fix_zeros_after = quick && group::<S, F::NonzeroResult>(s, m, i, count, out.add(i));
            let done =
                fix_zeros_after || by_groups && group::<S, F::NanFree>(s, m, i, count, out.add(i));
            if !done {
                for row in i..i + count {
                    if by_groups && <F::NonzeroResult as Fold<S>>::CHECKS_NAN {
                        let v = s.splat(whole::<S, F>(s, n, m.row(row)));
                        let v = F::result(s, F::Acc::splat(v), n);
                        out.add(row).write(s.first(v));
                        continue;
                    }
                    let param = m.param::<S, F>(row);
                    let v =
                        fold_vector::<S, F>(s, n, m.row(row), 1, y.p, incy, param, m.from_memory);
                    let mut acc = F::Acc::splat(s.splat(v.0));
                    if let Some(second) = acc.as_mut().get_mut(1) {
                        *second = s.splat(v.1);
                    }
                    let v = F::result(s, acc, n);
                    out.add(row).write(s.first(v));
                }
            }
        }
        i += count;
    }
}

/// Writes the folds of `count` <= N rows from i on to `out`. Returns false, with nothing written, if a result may be
/// wrong because of a NaN or the sign of a zero, which the fold does not handle.
///
/// # Safety
/// The rows must lie in the matrix, and `out` have room for `count` results.
#[inline(always)]
unsafe fn group<S: Simd, F: Fold<S>>(
    s: S,
    m: Rows<S::T>,
    i: usize,
    count: usize,
    out: *mut S::T,
) -> bool {
    // SAFETY: the rows and their results are the caller's; `short` is called for N rows of `REGS` registers.
    unsafe {
        let whole = count == S::N && !F::IS_LONG && S::HAS_SHAPE_LOOPS;
        match if whole { m.n.div_ceil(S::N) } else { 0 } {
            1 => short::<S, F, 1>(s, m, i, out),
            2 => short::<S, F, 2>(s, m, i, out),
            3 => short::<S, F, 3>(s, m, i, out),
            4 => short::<S, F, 4>(s, m, i, out),
            _ => any_length::<S, F>(s, m, i, count, out),
        }
    }
}

/// [`group`] for `count` <= N rows of any length up to a chunk.
///
/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn any_length<S: Simd, F: Fold<S>>(
    s: S,
    m: Rows<S::T>,
    i: usize,
    count: usize,
    out: *mut S::T,
) -> bool {
    let mut leaves = [start::<S, F>(s); MAX_LANES];
    let mut nan_acc = s.splat(S::T::ZERO);
    let may_pair = const { streams::folds_two_chunks::<S, F>() };
    let in_pairs = m.from_memory && count == S::N && may_pair && m.n * size_of::<S::T>() > SHORT;
    let pairs = if in_pairs { count / 2 } else { 0 };
    for low in 0..pairs {
        let high = low + pairs;
        // SAFETY: both rows are the caller's.
        let [a, b] = unsafe {
            let params = [m.param::<S, F>(i + low), m.param::<S, F>(i + high)];
            let rows = [m.row(i + low), m.row(i + high)];
            two_leaves::<S, F>(s, m.n, rows, m.y.p, params)
        };
        leaves[s.unzip_slot(low) % MAX_LANES] = a.acc;
        leaves[s.unzip_slot(high) % MAX_LANES] = b.acc;
        if F::CHECKS_NAN {
            nan_acc = s.add(nan_acc, s.add(a.nan_acc, b.nan_acc));
        }
    }
    // Hidden from the compiler, which would keep it on the stack, where the leaves are stored too: the address of a row
    // would then wait for the leaf of the row before, and no row be read ahead.
    let inc = black_box(m.inc);
    let mut row = m.row(i + 2 * pairs);
    for r in 2 * pairs..count {
        // Long rows are folded in pairs where possible, except the last few.
        if m.from_memory && !may_pair {
            prefetch_row(s, row, m.n);
        }
        // SAFETY: the row is the caller's.
        let leaf = unsafe {
            let param = s.splat(m.param::<S, F>(i + r));
            leaf::<S, F>(s, m.n, row, m.y.p, param)
        };
        row = row.wrapping_offset(inc);
        leaves[s.unzip_slot(r) % MAX_LANES] = leaf.acc;
        if F::CHECKS_NAN {
            nan_acc = s.add(nan_acc, leaf.nan_acc);
        }
    }
    let mut results = start::<S, F>(s);
    for (k, slot) in results.as_mut().iter_mut().enumerate() {
        let mut registers = [s.splat(F::START); MAX_LANES];
        for (register, leaf) in registers.iter_mut().zip(&leaves) {
            *register = leaf.as_ref()[k];
        }
        *slot = halve_all::<S, F>(s, registers);
    }
    write_checked::<S, F>(s, results, m.n, nan_acc, count, out)
}

/// Writes the results of `count` rows of `n` elements to `out`. Returns false, with nothing written, if one may be wrong
/// because of a NaN or the sign of a zero.
///
/// # Safety
/// `out` must have room for `count` results.
#[inline(always)]
unsafe fn write_checked<S: Simd, F: Fold<S>>(
    s: S,
    results: F::Acc,
    n: usize,
    nan_acc: S::V,
    count: usize,
    out: *mut S::T,
) -> bool {
    if F::CHECKS_NAN && has_nan(s, nan_acc) {
        return false;
    }
    if F::CHECKS_ZERO && s.bits(s.eq(results.as_ref()[0], s.splat(S::T::ZERO))) != 0 {
        return false;
    }
    let v = F::result(s, results, n);
    // SAFETY: the caller vouches for `count` results.
    unsafe {
        if count == S::N {
            s.store(out, v);
        } else {
            s.store_partial(out, count, v);
        }
    }
    true
}
