//! Copies of A and B in the order in which tiles read them.

use super::Gemm;
use super::tile::Left;
use super::tiles::Widths;
use super::transpose::transpose;
use crate::element::Element;
use crate::simd::Simd;

/// Columns of B for one segment of k.
#[derive(Clone, Copy)]
pub struct Panel {
    /// First row, and rows.
    pub pc: usize,
    pub depth: usize,
    /// First column, and columns.
    pub jc: usize,
    pub cols: usize,
    /// Of its slivers.
    pub widths: Widths,
}

/// Packs a panel of B into slivers as wide as the tiles will be, a row of a sliver after the other;
/// the last sliver is padded with zeros to whole registers.
///
/// # Safety
/// `out` must have room for it.
#[inline(always)]
pub unsafe fn pack_b<S: Simd>(s: S, p: &Gemm<S::T>, panel: Panel, out: *mut S::T) {
    let mut j = 0;
    while j < panel.cols {
        let width = panel.widths.next(panel.cols - j);
        let b =
            p.b.wrapping_offset(panel.pc as isize * p.b_rs + (panel.jc + j) as isize * p.b_cs);
        let sliver = out.wrapping_add(j * panel.depth);
        // SAFETY: these rows and columns lie in B; the caller vouches for the room.
        unsafe {
            if p.b_cs == 1 {
                copy_rows(s, b, p.b_rs, panel.depth, width, sliver);
            } else if p.b_rs == 1 {
                transpose_columns(s, b, p.b_cs, panel.depth, width, sliver);
            } else {
                copy_columns::<S>(b, p.b_rs, p.b_cs, panel.depth, width, sliver);
            }
        }
        j += width;
    }
}

/// A sliver from contiguous rows.
///
/// # Safety
/// `b` must have `depth` rows of `width` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn copy_rows<S: Simd>(
    s: S,
    b: *const S::T,
    rs: isize,
    depth: usize,
    width: usize,
    out: *mut S::T,
) {
    let padded = width.div_ceil(S::N) * S::N;
    for k in 0..depth {
        let row = b.wrapping_offset(k as isize * rs);
        let to = out.wrapping_add(k * padded);
        let mut j = 0;
        // SAFETY: columns j.. lie in the row; the last register is padded.
        unsafe {
            while j + S::N <= width {
                s.store(to.add(j), s.load(row.add(j)));
                j += S::N;
            }
            if j < width {
                s.store(to.add(j), s.load_partial(row.add(j), width - j));
            }
        }
    }
}

/// A sliver from contiguous columns.
///
/// # Safety
/// `b` must have `width` columns of `depth` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn transpose_columns<S: Simd>(
    s: S,
    b: *const S::T,
    cs: isize,
    depth: usize,
    width: usize,
    out: *mut S::T,
) {
    let padded = width.div_ceil(S::N) * S::N;
    for j in (0..width).step_by(S::N) {
        let column = b.wrapping_offset(j as isize * cs);
        for k in (0..depth).step_by(S::N) {
            let size = (S::N.min(width - j), S::N.min(depth - k));
            let to = out.wrapping_add(k * padded + j);
            // SAFETY: these columns lie in B; out has room for `padded` columns.
            unsafe { transpose(s, (column.add(k), cs), size, (to, padded as isize), S::N) };
        }
    }
}

/// A sliver from columns of any strides. Four columns at a time read four streams.
///
/// # Safety
/// `b` must have `width` columns of `depth` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn copy_columns<S: Simd>(
    b: *const S::T,
    rs: isize,
    cs: isize,
    depth: usize,
    width: usize,
    out: *mut S::T,
) {
    let padded = width.div_ceil(S::N) * S::N;
    let mut j = 0;
    // SAFETY: columns j.. lie in B, and out has room for `padded` columns.
    unsafe {
        while j + 4 <= width {
            let columns = [0, 1, 2, 3].map(|c| b.wrapping_offset((j + c) as isize * cs));
            for k in 0..depth {
                let to = out.add(k * padded + j);
                for (c, column) in columns.iter().enumerate() {
                    to.add(c).write(*column.wrapping_offset(k as isize * rs));
                }
            }
            j += 4;
        }
        for j in j..padded {
            for k in 0..depth {
                let value = if j < width {
                    *b.wrapping_offset(k as isize * rs + j as isize * cs)
                } else {
                    S::T::ZERO
                };
                out.add(k * padded + j).write(value);
            }
        }
    }
}

/// Packs `height` rows of A, `depth` elements each, one step of k after the other, `height` elements
/// on.
///
/// # Safety
/// `out` must have room for them and a register more.
#[inline(always)]
pub unsafe fn pack_a<S: Simd>(s: S, a: Left<S::T>, height: usize, depth: usize, out: *mut S::T) {
    // Whole registers for rows of half of one would be stored across cache lines.
    if <S::Half as Simd>::N < S::N && height <= <S::Half as Simd>::N {
        // SAFETY: as the caller's.
        return unsafe { pack_a(s.half(), a, height, depth, out) };
    }
    for k in 0..depth {
        let from = a.p.wrapping_offset(k as isize * a.cs);
        let to = out.wrapping_add(k * height);
        // SAFETY: these rows lie in A; the caller vouches for the room.
        unsafe {
            if a.rs == 1 && height <= S::N {
                s.store(to, s.load_partial(from, height));
                continue;
            }
            for i in 0..height {
                *to.add(i) = *from.wrapping_offset(i as isize * a.rs);
            }
        }
    }
}
