//! One block of rows of the least-squares gradient, each row read once.

use super::halving::{MAX_LANES, halve_few, halve_lanes, halve_registers};
use super::leaf::{leaf, two_leaves};
use super::rows::{SHORT, prefetch_row};
use super::walk::fold_vector;
use super::{Dot, LSQ_ROWS, Sum, chunk_len, streams};
use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;

/// Rows at a time: at n = 1000, a row has 4000 (f32) or 8000 bytes (f64), and a group of rows stays in L1.
const GROUP: usize = 4;

/// Consecutive rows of `n` contiguous elements, and the vectors of the problem.
#[derive(Clone, Copy)]
struct LsqRows<T> {
    n: usize,
    a: *const T,
    inc: isize,
    x: *const T,
    y: *const T,
    out: *mut T,
}

impl<T: Element> LsqRows<T> {
    #[inline(always)]
    fn row(self, i: usize) -> *const T {
        self.a.wrapping_offset(i as isize * self.inc)
    }
}

/// Computes one block of the least-squares gradient, for columns from..from + cols: with the residuals
/// r\[i\] = dot(a\[i, :\], x) - y\[i\], out\[j\] is the chain of fma over i of a\[i, from + j\] * r\[i\]. Each group of
/// rows is used for both steps while it is in the cache.
///
/// # Safety
/// `a` must be valid at `rows <= LSQ_ROWS` by `n` elements of its strides, `x` for `n` of its stride, `y` for `rows`,
/// `out` for `cols` elements, and from + cols <= n.
#[inline(always)]
pub unsafe fn lsq_block<S: Simd>(
    s: S,
    rows: usize,
    n: usize,
    a: *const S::T,
    a_rs: isize,
    a_cs: isize,
    x: *const S::T,
    incx: isize,
    y: *const S::T,
    from: usize,
    cols: usize,
    out: *mut S::T,
) {
    let mut done = 0;
    // SAFETY: the rows, the columns and the vectors are the caller's.
    unsafe {
        if (a_cs, incx) == (1, 1) && n <= chunk_len::<S::T>() && cols == n && rows >= GROUP {
            let inc = a_rs;
            done = rows / GROUP * GROUP;
            let m = LsqRows {
                n,
                a,
                inc,
                x,
                y,
                out,
            };
            fill_zero(s, n, out);
            // Where groups do not fit registers, rows are read one by one, then again: two groups should stay in L1.
            if n * size_of::<S::T>()
                <= if groups_fit_registers::<S>() {
                    SHORT
                } else {
                    SHORT / 2
                }
            {
                short_rows(s, m, done);
            } else {
                long_rows(s, m, done);
            }
        }
        let mut residuals = [S::T::ZERO; GROUP];
        while done < rows {
            let group = GROUP.min(rows - done);
            for (q, r) in residuals.iter_mut().enumerate().take(group) {
                let row = a.wrapping_offset((done + q) as isize * a_rs);
                let from_memory = n * size_of::<S::T>() > SHORT;
                let dot = fold_vector::<S, Dot>(s, n, row, a_cs, x, incx, S::T::ZERO, from_memory);
                *r = dot.0 + S::T::ZERO - *y.add(done + q);
            }
            let block = a.wrapping_offset(done as isize * a_rs + from as isize * a_cs);
            update(
                s,
                block,
                a_rs,
                a_cs,
                &residuals[..group],
                done == 0,
                cols,
                out,
            );
            done += group;
        }
    }
}

/// [`lsq_block`] for all columns of `rows` short rows: one or more whole groups. The dot products of a group are
/// computed before the previous group is added to the chains, so that reading A never waits for a residual. Where
/// registers suffice, one sweep over the columns does both.
///
/// # Safety
/// As [`lsq_block`], with contiguous rows and all columns. `out` must hold the chains.
#[inline(always)]
unsafe fn short_rows<S: Simd>(s: S, m: LsqRows<S::T>, rows: usize) {
    // SAFETY: rows 0..rows are the caller's.
    unsafe {
        let mut group = residuals(s, m, 0, dots(s, m, 0));
        let mut i = GROUP;
        while i < rows {
            let next = if groups_fit_registers::<S>() {
                sweep::<S, true, true>(s, m, i, i - GROUP, group)
            } else {
                let next = dots(s, m, i);
                sweep::<S, false, true>(s, m, i, i - GROUP, group);
                next
            };
            group = residuals(s, m, i, next);
            i += GROUP;
        }
        sweep::<S, false, true>(s, m, i, i - GROUP, group);
    }
}

/// Whether the lanes of a group fit registers: 16 registers, where the lanes of a row are 4.
#[inline(always)]
fn groups_fit_registers<S: Simd>() -> bool {
    S::R <= 4
}

/// Returns the lanes of the dot products of the group at `i`, halved to one register for each row.
///
/// # Safety
/// As [`short_rows`], for the rows of the group.
#[inline(always)]
unsafe fn dots<S: Simd>(s: S, m: LsqRows<S::T>, i: usize) -> [S::V; GROUP] {
    let zero = s.splat(S::T::ZERO);
    let mut all = [zero; GROUP];
    // SAFETY: the rows are the caller's.
    unsafe {
        if groups_fit_registers::<S>() {
            return sweep::<S, true, false>(s, m, i, i, all);
        }
        for (q, dot) in all.iter_mut().enumerate() {
            *dot = leaf::<S, Dot>(s, m.n, m.row(i + q), m.x, zero).acc[0];
        }
    }
    all
}

/// [`lsq_block`] for long rows, which memory delivers faster one by one, or two at a time that are far apart.
/// With two at a time, all dot products of the block come first, and L2 holds the rows until they are added to the
/// chains.
///
/// # Safety
/// As [`short_rows`].
#[inline(always)]
unsafe fn long_rows<S: Simd>(s: S, m: LsqRows<S::T>, rows: usize) {
    const HALF: usize = LSQ_ROWS / 2;
    let zero = s.splat(S::T::ZERO);
    let mut dots = [zero; LSQ_ROWS];
    let is_long = m.n * size_of::<S::T>() > SHORT;
    let in_pairs = streams::folds_two_chunks::<S, Dot>() && is_long && rows == LSQ_ROWS;
    // SAFETY: rows 0..rows are the caller's.
    unsafe {
        let pairs = if in_pairs { HALF } else { 0 };
        for i in 0..pairs {
            let pair = [m.row(i), m.row(i + HALF)];
            let [low, high] = two_leaves::<S, Dot>(s, m.n, pair, m.x, [S::T::ZERO; 2]);
            (dots[i], dots[i + HALF]) = (low.acc[0], high.acc[0]);
        }
        for i in (0..rows).step_by(GROUP) {
            let mut group = [zero; GROUP];
            for (q, dot) in group.iter_mut().enumerate() {
                *dot = if in_pairs {
                    // The remainder only shows the compiler that the index is in bounds.
                    dots[(i + q) % LSQ_ROWS]
                } else {
                    prefetch_row(s, m.row(i + q), m.n);
                    leaf::<S, Dot>(s, m.n, m.row(i + q), m.x, zero).acc[0]
                };
            }
            sweep::<S, false, true>(s, m, i, i, residuals(s, m, i, group));
        }
    }
}

/// Returns the residual, dot - y, of each row of the group at `i`, in all lanes of a register.
///
/// # Safety
/// y must have an element for each row of the group.
#[inline(always)]
unsafe fn residuals<S: Simd>(
    s: S,
    m: LsqRows<S::T>,
    i: usize,
    dots: [S::V; GROUP],
) -> [S::V; GROUP] {
    let mut lanes = [S::T::ZERO; MAX_LANES];
    let mut all = [s.splat(S::T::ZERO); GROUP];
    // SAFETY: no level has more lanes; the caller vouches for an element of y per row.
    unsafe {
        if S::N < GROUP {
            for (q, slot) in all.iter_mut().enumerate() {
                let dot = s.first(halve_lanes::<S, Sum>(s, dots[q], m.n)) + S::T::ZERO;
                *slot = s.splat(dot - *m.y.add(i + q));
            }
            return all;
        }
        let sums = halve_few::<S, Sum, GROUP>(s, dots);
        s.store(lanes.as_mut_ptr(), s.add(sums, s.splat(S::T::ZERO)));
        for (lane, &dot) in lanes.iter().enumerate().take(S::N) {
            if let Some(slot) = all.get_mut(s.unzip_slot(lane)) {
                *slot = s.splat(dot - *m.y.add(i + s.unzip_slot(lane)));
            }
        }
    }
    all
}

/// One pass over the columns. With `DOT`, returns the dot products of the group at `next`, their lanes halved to one
/// register for each row; with `UPDATE`, adds the group at `i` to the chains.
///
/// # Safety
/// The groups that are used must lie in the matrix; `out` must hold the chains.
#[inline(always)]
unsafe fn sweep<S: Simd, const DOT: bool, const UPDATE: bool>(
    s: S,
    m: LsqRows<S::T>,
    next: usize,
    i: usize,
    residuals: [S::V; GROUP],
) -> [S::V; GROUP] {
    let zero = s.splat(S::T::ZERO);
    let mut lanes = [s.lanes(zero); GROUP];
    let mut j = 0;
    // SAFETY: columns j..j + len lie in the rows and vectors.
    unsafe {
        while j + <S::T as Element>::LANES <= m.n {
            for r in 0..S::R {
                step::<S, DOT, UPDATE>(s, m, next, i, &residuals, &mut lanes, r, j, S::N);
                j += S::N;
            }
        }
        // The last columns, fewer than lanes: dot products need a loop over their registers, chains alone do not.
        for r in 0..if DOT { S::R } else { 0 } {
            if j < m.n {
                let len = S::N.min(m.n - j);
                step::<S, DOT, UPDATE>(s, m, next, i, &residuals, &mut lanes, r, j, len);
                j += len;
            }
        }
        while j < m.n {
            let len = S::N.min(m.n - j);
            step::<S, DOT, UPDATE>(s, m, next, i, &residuals, &mut lanes, 0, j, len);
            j += len;
        }
    }
    let mut all = [zero; GROUP];
    if DOT {
        for (slot, &lanes) in all.iter_mut().zip(&lanes) {
            *slot = halve_registers::<S, Sum>(s, lanes, m.n);
        }
    }
    all
}

/// One register of columns of [`sweep`], for register r of the lanes.
///
/// # Safety
/// As [`sweep`], for columns j..j + len.
#[inline(always)]
unsafe fn step<S: Simd, const DOT: bool, const UPDATE: bool>(
    s: S,
    m: LsqRows<S::T>,
    next: usize,
    i: usize,
    residuals: &[S::V; GROUP],
    lanes: &mut [S::Lanes; GROUP],
    r: usize,
    j: usize,
    len: usize,
) {
    // SAFETY: columns j..j + len lie in the rows and vectors.
    unsafe {
        if DOT {
            let x = load(s, m.x.add(j), len);
            for (q, row) in lanes.iter_mut().enumerate() {
                if let Some(slot) = row.as_mut().get_mut(r) {
                    *slot = s.fma(load(s, m.row(next + q).wrapping_add(j), len), x, *slot);
                }
            }
        }
        if UPDATE {
            let mut chain = load(s, m.out.add(j), len);
            for (q, &residual) in residuals.iter().enumerate() {
                let a = load(s, m.row(i + q).wrapping_add(j), len);
                chain = s.fma(a, residual, chain);
            }
            store(s, m.out.add(j), len, chain);
        }
    }
}

/// Sets `n` elements to +0.
///
/// # Safety
/// `out` must be valid for `n` elements.
#[inline(always)]
unsafe fn fill_zero<S: Simd>(s: S, n: usize, out: *mut S::T) {
    let mut j = 0;
    while j < n {
        let len = S::N.min(n - j);
        // SAFETY: the caller vouches for n elements.
        unsafe { store(s, out.add(j), len, s.splat(S::T::ZERO)) };
        j += len;
    }
}

/// Adds the rows of one group to the chains in `out`, which begin with +0 if `first`.
///
/// # Safety
/// `block` must be valid at the rows and `cols` columns, `out` for `cols` elements.
#[inline(always)]
unsafe fn update<S: Simd>(
    s: S,
    block: *const S::T,
    a_rs: isize,
    a_cs: isize,
    residuals: &[S::T],
    first: bool,
    cols: usize,
    out: *mut S::T,
) {
    let mut j = 0;
    while j < cols {
        let len = S::N.min(cols - j);
        // SAFETY: columns j..j + len lie in the block and in `out`.
        unsafe {
            let mut acc = if first {
                s.splat(S::T::ZERO)
            } else {
                load(s, out.add(j), len)
            };
            for (q, &r) in residuals.iter().enumerate() {
                let p = block.offset(q as isize * a_rs + j as isize * a_cs);
                let v = if a_cs == 1 {
                    load(s, p, len)
                } else {
                    s.load_strided(p, a_cs, len)
                };
                acc = s.fma(v, s.splat(r), acc);
            }
            store(s, out.add(j), len, acc);
        }
        j += len;
    }
}
