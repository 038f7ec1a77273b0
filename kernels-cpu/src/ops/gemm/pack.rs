//! Packing: copies A and B into micro-panels, in the order in which microkernels read them.

use super::Gemm;
use super::microkernel::PanelA;
use super::shapes::MAX_MR;
use super::transpose::transpose;
use super::widths::Widths;
use crate::array::from_fn;
use crate::element::Element;
use crate::simd::{Register, Simd};

/// The place of a panel in B: kc rows, one segment of k, and nc columns.
#[derive(Clone, Copy)]
pub struct PanelRange {
    /// Its first row, and the number of rows.
    pub pc: usize,
    pub kc: usize,
    /// Its first column, and the number of columns.
    pub jc: usize,
    pub nc: usize,
    /// The widths of its micro-panels.
    pub widths: Widths,
}

/// Packs a panel of B into micro-panels as wide as the micro-tiles will be, each row by row. The last one is padded
/// with zeros to whole registers.
///
/// # Safety
/// The panel must lie in B, and `out` must have room for it.
#[inline(always)]
pub unsafe fn pack_b<S: Simd>(s: S, p: &Gemm<S::T>, range: PanelRange, out: *mut S::T) {
    let mut j = 0;
    while j < range.nc {
        let nr = range.widths.next_nr(range.nc - j);
        let b = p.b.at(range.pc, range.jc + j);
        let micro_panel = out.wrapping_add(j * range.kc);
        // SAFETY: these rows and columns lie in B; the caller vouches for the room.
        unsafe {
            if p.b.cs == 1 {
                copy_rows(s, b, p.b.rs, range.kc, nr, micro_panel);
            } else if p.b.rs == 1 {
                transpose_columns(s, b, p.b.cs, range.kc, nr, micro_panel);
            } else {
                copy_columns::<S>(b, p.b.rs, p.b.cs, range.kc, nr, micro_panel);
            }
        }
        j += nr;
    }
}

/// Packs a micro-panel from contiguous rows.
///
/// # Safety
/// `b` must have `kc` rows of `nr` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn copy_rows<S: Simd>(
    s: S,
    b: *const S::T,
    rs: isize,
    kc: usize,
    nr: usize,
    out: *mut S::T,
) {
    let padded = nr.div_ceil(S::N) * S::N;
    for k in 0..kc {
        let row = b.wrapping_offset(k as isize * rs);
        let to = out.wrapping_add(k * padded);
        let mut j = 0;
        // SAFETY: columns j.. lie in the row; the last register is padded.
        unsafe {
            while j + S::N <= nr {
                s.store(to.add(j), s.load(row.add(j)));
                j += S::N;
            }
            if j < nr {
                s.store(to.add(j), s.load_partial(row.add(j), nr - j));
            }
        }
    }
}

/// Packs a micro-panel from contiguous columns.
///
/// # Safety
/// `b` must have `nr` columns of `kc` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn transpose_columns<S: Simd>(
    s: S,
    b: *const S::T,
    cs: isize,
    kc: usize,
    nr: usize,
    out: *mut S::T,
) {
    let padded = nr.div_ceil(S::N) * S::N;
    for j in (0..nr).step_by(S::N) {
        let column = b.wrapping_offset(j as isize * cs);
        for k in (0..kc).step_by(S::N) {
            let size = (S::N.min(nr - j), S::N.min(kc - k));
            let to = out.wrapping_add(k * padded + j);
            // SAFETY: these columns lie in B; out has room for `padded` columns.
            unsafe { transpose(s, (column.add(k), cs), size, (to, padded as isize), S::N) };
        }
    }
}

/// Packs a micro-panel from rows and columns of any strides, four columns at a time: four streams of loads.
///
/// # Safety
/// `b` must have `nr` columns of `kc` elements, `out` room for them in whole registers.
#[inline(always)]
unsafe fn copy_columns<S: Simd>(
    b: *const S::T,
    rs: isize,
    cs: isize,
    kc: usize,
    nr: usize,
    out: *mut S::T,
) {
    let padded = nr.div_ceil(S::N) * S::N;
    let mut j = 0;
    // SAFETY: columns j.. lie in B, and out has room for `padded` columns.
    unsafe {
        while j + 4 <= nr {
            let columns: [_; 4] = from_fn(|c| b.wrapping_offset((j + c) as isize * cs));
            for k in 0..kc {
                let to = out.add(k * padded + j);
                for (c, column) in columns.iter().enumerate() {
                    to.add(c).write(*column.wrapping_offset(k as isize * rs));
                }
            }
            j += 4;
        }
        for j in j..padded {
            for k in 0..kc {
                let value = if j < nr {
                    *b.wrapping_offset(k as isize * rs + j as isize * cs)
                } else {
                    S::T::ZERO
                };
                out.add(k * padded + j).write(value);
            }
        }
    }
}

/// Packs `mr` rows of A, `kc` elements each, as a micro-panel: the column of each step of k is contiguous, `mr`
/// elements after the last.
///
/// # Safety
/// The rows must be valid, and `out` must have room for them and for one register more.
#[inline(always)]
pub unsafe fn pack_a<S: Simd>(s: S, a: PanelA<S::T>, mr: usize, kc: usize, out: *mut S::T) {
    // A step of mr elements is stored as a whole register. If half a register holds them, that is enough, and fewer of
    // the stores cross a cache line.
    if <S::Half as Register>::N < S::N && mr <= <S::Half as Register>::N {
        return pack_a(s.half(), a, mr, kc, out);
    }
    // Rows that are contiguous: blocks of eight are transposed in registers, which the levels with other micro-tiles would
    // not gain from.
    if S::N == MAX_MR && a.cs == 1 && mr <= S::N {
        for k in (0..kc).step_by(S::N) {
            let size = (mr, S::N.min(kc - k));
            let (from, to) = (a.p.wrapping_add(k), out.wrapping_add(k * mr));
            // SAFETY: as the caller's. Each register is stored before the one that begins inside it.
            unsafe { transpose(s, (from, a.rs), size, (to, mr as isize), S::N) };
        }
        return;
    }
    for k in 0..kc {
        let from = a.p.wrapping_offset(k as isize * a.cs);
        let to = out.wrapping_add(k * mr);
        // SAFETY: these rows lie in A; the caller vouches for the room.
        unsafe {
            if a.rs == 1 && mr <= S::N {
                s.store(to, s.load_partial(from, mr));
                continue;
            }
            for i in 0..mr {
                *to.add(i) = *from.wrapping_offset(i as isize * a.rs);
            }
        }
    }
}
