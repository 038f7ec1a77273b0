//! Sizes of blocks and limits between ways: the numbers to tune. None of them changes a bit of a result.
#![forbid(unsafe_code)]

use super::shapes::MAX_MR;
use super::widths::Widths;
use crate::detect;
use crate::element::Element;
use crate::exec::FIXED_SCRATCH;
pub use crate::ops::order::KSEG;

/// A cache line, which no register of any level exceeds.
pub const LINE: usize = 64;

/// Bytes of a row of a packed panel of B, nc elements: kc = [`KSEG`] such rows, 768 KiB, fill three quarters of an
/// L2 of 1 MiB, and are a whole number of every level's micro-tiles.
pub const NC_BYTES: usize = 3072;

/// Bytes of a packed micro-panel of A, and of a register after it.
pub const MICRO_PANEL_A: usize = KSEG * MAX_MR * 8 + LINE;

/// mc: rows of a block of A that pass a micro-panel of B: 192 KiB, so that an L2 holds them for the next one; a
/// whole number of every level's micro-tiles.
#[inline(always)]
pub const fn mc<T>() -> usize {
    (192 << 10) / (KSEG * size_of::<T>())
}

/// Micro-tiles of a block that at least pass a micro-panel of B that has just been packed: each, but for one that
/// packs, prefetches a line of every row of the next one, which has three. (Where it starts within a line it has a
/// fourth, which so few micro-tiles do not prefetch.)
pub const FRESH_MICRO_TILES: usize = 4;

/// Whether a micro-panel of B, of the widest micro-tiles, leaves room beside it in L1: it stays there while the rows
/// of a block of A pass. A larger one comes from L2 for every micro-panel of A.
#[inline(always)]
pub fn stays_in_l1<T>(widths: &Widths) -> bool {
    let micro_panel = widths.nr() * size_of::<T>() * KSEG;
    3 * micro_panel <= 2 * detect::first_level_cache()
}

/// The widths of micro-panels of a packed B: a register less than the microkernels have, where they stay in L1 for
/// that, as in 48 KiB with AVX-512. Rows of B in place are not as near to each other, and stay less.
#[inline(always)]
pub fn packed_widths<T>(widths: Widths) -> Widths {
    let narrow = Widths {
        nv: widths.nv - 1,
        ..widths
    };
    if !stays_in_l1::<T>(&widths) && stays_in_l1::<T>(&narrow) {
        narrow
    } else {
        widths
    }
}

/// Bytes of scratch for a product of n columns and depth k on one thread, on any level, or for its
/// transpose with n = max(m, n); `None` on overflow.
pub fn scratch_bytes<T: Element>(n: usize, k: usize) -> Option<usize> {
    if n == 0 || k == 0 {
        return Some(0);
    }
    /// Columns are padded to a register: at most a cache line.
    const PADDING: usize = LINE;
    let row = n.checked_mul(size_of::<T>())?.checked_add(PADDING - 1)? / PADDING * PADDING;
    Some(KSEG * row.min(NC_BYTES) + MICRO_PANEL_A + LINE)
}

// Without std and without a workspace there is room for one register of columns, whatever the alignment.
const _: () = assert!(FIXED_SCRATCH >= KSEG * LINE + LINE - 1);
// Panels are whole registers on every level.
const _: () = assert!(NC_BYTES.is_multiple_of(LINE));
