//! Block sizes (mc, kc, nc) and the thresholds between code paths: the numbers to tune. Only kc = [`KSEG`] affects the
//! bits of a result; it is part of the ABI.
#![forbid(unsafe_code)]

use super::large::BlockSizes;
use super::shapes::MAX_MR;
use super::widths::Widths;
use crate::detect::{self, Geometry};
use crate::element::Element;
use crate::exec::STACK_SCRATCH;
pub use crate::ops::order::KSEG;

/// Bytes of a cache line; no level has larger registers.
pub const LINE: usize = 64;

/// nc in bytes, one row of a packed panel of B. kc = [`KSEG`] rows take 768 KiB, three quarters of an L2 of 1 MiB. A
/// whole number of every level's NR.
pub const NC_BYTES: usize = 3072;

/// Bytes for a packed micro-panel of A (kc steps of MR elements of at most 8 bytes), and for one register more, which
/// [`pack_a`](super::pack_a) may write past its end.
pub const MICRO_PANEL_A_BYTES: usize = KSEG * MAX_MR * 8 + LINE;

/// mc, the rows of a block of A. kc columns of them take 192 KiB, so that they stay in L2 from one micro-panel of B to
/// the next. A whole number of every level's MR.
#[inline(always)]
pub const fn mc<T>() -> usize {
    (192 << 10) / (KSEG * size_of::<T>())
}

/// The fewest micro-tiles in a column of a block whose microkernels pack B. The first packs a micro-panel of
/// B; each of the others prefetches one cache line of every row of the next micro-panel, and such a row takes three
/// lines (48 columns of f32 or 24 of f64 on AVX-512). Rows that do not start on a line boundary touch a fourth line,
/// which is then not prefetched.
pub const MICRO_TILES_WHILE_PACKING: usize = 4;

/// Whether a micro-panel of B of the greatest NR takes at most two thirds of L1, so that it stays there while loop 1
/// goes through a block of A. A larger one is read from L2 again for every micro-panel of A.
#[inline(always)]
pub fn stays_in_l1<T>(widths: &Widths) -> bool {
    let micro_panel = widths.nr() * size_of::<T>() * KSEG;
    3 * micro_panel <= 2 * detect::l1_bytes()
}

/// The widths of the micro-panels of a packed B: one register narrower than the widest microkernel if a micro-panel
/// stays in L1 only then, as on AVX-512 with an L1 of 48 KiB. Two registers are the least: [`Widths::next_nr`] relies
/// on it. A B that is read in place keeps the full width: its rows lie farther apart, and less of it stays in L1.
#[inline(always)]
pub fn packed_widths<T>(widths: Widths) -> Widths {
    let narrow = Widths {
        nv: widths.nv - 1,
        ..widths
    };
    if widths.nv > 2 && !stays_in_l1::<T>(&widths) && stays_in_l1::<T>(&narrow) {
        narrow
    } else {
        widths
    }
}

/// Bytes of scratch memory that one thread needs for a product of `n` columns and depth `k`, on any level; `None` on
/// overflow. It depends on the geometry. With n = max(m, n) they also suffice for the transposed product.
pub fn scratch_bytes<T: Element>(n: usize, k: usize) -> Option<usize> {
    if n == 0 || k == 0 {
        return Some(0);
    }
    /// Rows of the panel are padded to a whole register, which is at most a cache line.
    const PADDING: usize = LINE;
    let row = n.checked_mul(size_of::<T>())?.checked_add(PADDING - 1)? / PADDING * PADDING;
    let bytes = KSEG * row.min(NC_BYTES) + MICRO_PANEL_A_BYTES + LINE;
    let large = BlockSizes::new::<T>(&Geometry::current(), (n, n, k));
    Some(large.map_or(bytes, |blocks| bytes.max(blocks.scratch_bytes::<T>(n))))
}

// Without std and without a workspace, a panel of one register of columns fits, whatever the alignment of the block.
const _: () = assert!(STACK_SCRATCH >= KSEG * LINE + LINE - 1);
// A panel is a whole number of registers wide on every level.
const _: () = assert!(NC_BYTES.is_multiple_of(LINE));
