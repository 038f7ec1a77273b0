//! Tile and block sizes: the numbers to tune. None of them changes a bit of a result.
#![forbid(unsafe_code)]

use super::tiles::Widths;
use super::{Gemm, Tiles};
use crate::detect;
use crate::element::Element;
use crate::exec::FIXED_SCRATCH;
pub use crate::ops::order::KSEG;

/// Bytes of one row of a panel of B: `KSEG` such rows, 768 KiB, fill three quarters of a 1 MiB
/// second-level cache, and are a whole number of every level's tiles.
pub const NC: usize = 3072;

/// The most rows of a tile on any level.
pub const MAX_MR: usize = 8;

/// The most columns of a tile on any level whose sums do not go to C by themselves: 3 registers of 16.
pub const MAX_NR: usize = 48;

/// Bytes of a sliver of A, and of a register after it.
pub const SLIVER: usize = KSEG * MAX_MR * 8 + LINE;

/// A cache line.
pub const LINE: usize = 64;

/// Whether A is copied to contiguous slivers: where its elements along k are not neighbours and a
/// sliver is read for many tiles.
#[inline(always)]
pub fn pack_a<T>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    p.a_cs != 1 && p.n > 8 * tiles.widths.most()
}

/// Rows of a block of A that pass a sliver of B: 192 KiB, so that a second-level cache holds them for the next
/// one; a whole number of every level's tiles.
#[inline(always)]
pub const fn block_rows<T>() -> usize {
    (192 << 10) / (KSEG * size_of::<T>())
}

/// Tiles of a block that at least pass a sliver of B that has just been copied: each, but for one that copies,
/// asks for a line of every row of the next one, which has three. (Where it starts within a line it has a fourth,
/// which so few tiles do not ask for.)
pub const FRESH_TILES: usize = 4;

/// Whether a sliver of B, of the widest tiles, leaves room beside it in the first-level cache: it stays there
/// while the rows of a block of A pass. A larger one comes from the second level for every sliver of A.
#[inline(always)]
pub fn right_stays<T>(widths: &Widths) -> bool {
    let sliver = widths.most() * size_of::<T>() * KSEG;
    3 * sliver <= 2 * detect::first_level_cache()
}

/// The widths of slivers of a copied B: a register less than the tiles have, where they stay for that, as in a
/// cache of 48 KiB with AVX-512. Rows of B in place are not as near to each other, and stay less.
#[inline(always)]
pub fn slivers<T>(tiles: &Tiles<T>) -> Widths {
    let widths = tiles.widths;
    let narrow = Widths {
        registers: widths.registers - 1,
        ..widths
    };
    if !right_stays::<T>(&widths) && right_stays::<T>(&narrow) {
        narrow
    } else {
        widths
    }
}

/// Whether B is copied to contiguous slivers: where its rows are not contiguous, or where it is large and
/// read for many tiles.
#[inline(always)]
pub fn pack_b<T>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    p.b_cs != 1 || (p.m > 4 * tiles.rows && copy_pays(tiles, p))
}

/// Whether a copy of B with contiguous rows is worth its time: early where its rows lie so far apart that many
/// share the sets of a cache. The limits are measured: where a sliver stays, on a CPU with 32 and 512 KiB of
/// cache; else with 48 KiB and 1 MiB, for rows of 400 to 32000 bytes.
#[inline(always)]
fn copy_pays<T>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    let exceeds = |rows: usize, kib: usize| rows.saturating_mul(p.n) > (kib << 10) / size_of::<T>();
    let apart = p.b_rs.unsigned_abs() * size_of::<T>();
    if right_stays::<T>(&tiles.widths) {
        if apart.is_multiple_of(2 * LINE) {
            exceeds(p.k, 96) && exceeds(p.m, 64)
        } else {
            exceeds(p.k, 256) && p.m > 192
        }
    } else if apart > 2 << 10 && apart.is_multiple_of(1 << 10) {
        exceeds(p.k, 512) && p.m >= if apart < 8 << 10 { 128 } else { 64 }
    } else {
        exceeds(p.k, 512) && exceeds(p.m, 1536)
    }
}

/// Whether the product needs scratch memory. Parts of a product that does not, do not either.
#[inline(always)]
pub fn packs<T>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    p.k > 0 && (pack_a(tiles, p) || pack_b(tiles, p))
}

/// How many of the last columns of C are computed as rows of C^T = B^T A^T though the rows of C are
/// contiguous: those that would leave much of a register empty, where the columns of A, contiguous too, fill
/// theirs.
#[inline(always)]
pub fn turned<T>(tiles: &Tiles<T>, p: &Gemm<T>) -> usize {
    /// Steps of k that take as long as the way of a register of sums to a column of C.
    const WAY: usize = 16;
    let rest = p.n & (tiles.widths.lanes - 1);
    if p.a_rs != 1 || p.c_cs != 1 || rest == 0 || p.stream {
        return 0;
    }
    let straight = tiles.widths.time(p.n) - tiles.widths.time(p.n - rest);
    let straight = p.m.saturating_mul(straight);
    let turned = rest.saturating_mul(tiles.widths.time(p.m));
    let pays = turned.saturating_mul(p.k.saturating_add(WAY)) < straight.saturating_mul(p.k);
    if pays { rest } else { 0 }
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
    Some(KSEG * row.min(NC) + SLIVER + LINE)
}

// Without std and without a workspace there is room for one register of columns, whatever the alignment.
const _: () = assert!(FIXED_SCRATCH >= KSEG * LINE + LINE - 1);
// Panels are whole registers on every level.
const _: () = assert!(NC.is_multiple_of(LINE));
