//! The loops over blocks, for all levels: they compute addresses; the work is in the level's kernels.

use core::mem::MaybeUninit;

use super::Gemm;
use super::flush::Flush;
use super::pack::Panel;
use super::params::{self, KSEG, NC};
use super::tile::{Left, Right, Tile, Tiles, next};
use crate::element::Element;
use crate::table::Kernels;

/// Scratch memory for packing, in elements, aligned to a cache line.
#[derive(Clone, Copy)]
struct Scratch<T> {
    panel: *mut T,
    /// Columns of B that a panel of `KSEG` rows has room for.
    columns: usize,
    /// Room for a sliver of A, where there is any.
    sliver: Option<*mut T>,
}

impl<T: Element> Scratch<T> {
    fn new(tiles: &Tiles<T>, block: *mut u8, bytes: usize) -> Self {
        let align = block.align_offset(params::LINE).min(bytes);
        let panel = block.wrapping_add(align).cast::<T>();
        let row = KSEG * size_of::<T>();
        let room = bytes - align;
        // Whole registers; `lanes` is a power of two.
        let columns =
            |room: usize| (room / row).min(NC / size_of::<T>()) & !(tiles.widths.lanes - 1);
        let with_sliver = columns(room.saturating_sub(params::SLIVER));
        if with_sliver > 0 {
            return Self {
                panel,
                columns: with_sliver,
                sliver: Some(panel.wrapping_add(KSEG * with_sliver)),
            };
        }
        // The fixed block: one register of columns.
        Self {
            panel,
            columns: columns(room),
            sliver: None,
        }
    }
}

/// Runs the product on this thread. `block` is scratch memory of `bytes` bytes: as much as
/// [`params::scratch_bytes`] says, or at least a panel one register wide; none where nothing is
/// packed.
///
/// # Safety
/// The machine must have the kernels' level; the matrices must be valid, and C apart from A, B and
/// the biases.
pub unsafe fn gemm<T: Element>(k: &Kernels<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
    let tiles = &k.tiles;
    if is_direct(tiles, p) {
        // SAFETY: as the caller's.
        return unsafe { direct(tiles, p) };
    }
    if !params::packs(tiles, p) {
        let whole = Panel {
            pc: 0,
            depth: p.k,
            jc: 0,
            cols: p.n,
        };
        // SAFETY: as the caller's.
        return unsafe { panels(k, p, whole, None, None) };
    }
    let scratch = Scratch::new(tiles, block, bytes);
    let sliver = scratch.sliver.filter(|_| params::pack_a(tiles, p));
    let packed = params::pack_b(tiles, p).then_some(scratch.panel);
    let nr = tiles.widths.most();
    let cols = match scratch.columns {
        _ if packed.is_none() => p.n,
        enough if enough >= p.n => p.n,
        some if some >= nr => some - some.checked_rem(nr).unwrap_or(0),
        few => few,
    };
    // LOOP 5: columns of C and B.
    let mut jc = 0;
    while jc < p.n {
        let cols = cols.min(p.n - jc);
        let columns = Panel {
            pc: 0,
            depth: p.k,
            jc,
            cols,
        };
        // SAFETY: as the caller's; the panel has room for `cols` columns of `KSEG` rows.
        unsafe { panels(k, p, columns, packed, sliver) };
        jc += cols;
    }
}

/// Whether [`direct`] can run the product.
fn is_direct<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    let one_segment = 0 < p.k && p.k <= KSEG;
    one_segment && p.c_cs == 1 && !p.epilogue.is_some() && !params::packs(tiles, p)
}

/// As [`direct`], where C has no more rows and columns than a tile of one register.
///
/// # Safety
/// As [`direct`]; m and n within a tile of one register, and not 0.
#[inline(always)]
pub unsafe fn single<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) {
    // SAFETY: as the caller's.
    unsafe {
        let (run, last) = tiles.get(p.m, p.n);
        let tile = Tile { last, ..whole(p) };
        run(&tile, p.beta != T::ZERO);
    }
}

/// The product as a tile, from its first element on.
#[inline(always)]
fn whole<T: Element>(p: &Gemm<T>) -> Tile<T> {
    Tile {
        depth: p.k,
        a: Left {
            p: p.a,
            rs: p.a_rs,
            cs: p.a_cs,
        },
        b: Right { p: p.b, rs: p.b_rs },
        last: 0,
        alpha: p.alpha,
        beta: p.beta,
        out: p.c,
        out_rs: p.c_rs,
    }
}

/// Runs a product of one segment whose matrices are read in place: rows of B and C contiguous; alpha and
/// k not 0, k at most [`KSEG`]; no bias, no clamp.
///
/// # Safety
/// The machine must have the tiles' level; the matrices must be valid, and C apart from A and B.
#[inline(always)]
pub unsafe fn direct<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) {
    let reads = p.beta != T::ZERO;
    let (rows, widths) = tiles.sizes(p.n);
    let mut tile = whole(p);
    let mut i = 0;
    while i < p.m {
        let height = next(p.m - i, rows);
        tile.a.p = p.a.wrapping_offset(i as isize * p.a_rs);
        let row = p.c.wrapping_offset(i as isize * p.c_rs);
        let mut j = 0;
        while j < p.n {
            let width = widths.next(p.n - j);
            tile.b.p = p.b.wrapping_add(j);
            tile.out = row.wrapping_add(j);
            // SAFETY: height and width are within the tiles'; the caller vouches for the matrices.
            unsafe {
                let (run, last) = tiles.get(height, width);
                tile.last = last;
                run(&tile, reads);
            }
            j += width;
        }
        i += height;
    }
}

/// LOOP 4: segments of k.
///
/// # Safety
/// As [`gemm`]; `packed` must have room for a segment of the columns, `sliver` for one of rows.
#[inline(always)]
unsafe fn panels<T: Element>(
    k: &Kernels<T>,
    p: &Gemm<T>,
    columns: Panel,
    packed: Option<*mut T>,
    sliver: Option<*mut T>,
) {
    let mut pc = 0;
    loop {
        let panel = Panel {
            pc,
            depth: KSEG.min(p.k - pc),
            ..columns
        };
        let flush = Flush::new(p, pc == 0, pc + panel.depth == p.k);
        // SAFETY: as the caller's.
        unsafe {
            if let Some(out) = packed {
                (k.gemm_pack_b)(p, panel, k.tiles.widths, out);
            }
            rows(k, p, panel, &flush, packed, sliver);
        }
        pc += panel.depth;
        if pc >= p.k {
            return;
        }
    }
}

/// LOOP 3: slivers of A (the loop over blocks of A, with blocks of one sliver).
///
/// # Safety
/// As [`gemm`]; `packed` must hold the panel, `sliver` must have room.
#[inline(always)]
unsafe fn rows<T: Element>(
    k: &Kernels<T>,
    p: &Gemm<T>,
    panel: Panel,
    flush: &Flush<'_, T>,
    packed: Option<*mut T>,
    sliver: Option<*mut T>,
) {
    let mut i = 0;
    while i < p.m {
        let height = next(p.m - i, k.tiles.rows);
        let mut a = Left {
            p: p.a
                .wrapping_offset(i as isize * p.a_rs + panel.pc as isize * p.a_cs),
            rs: p.a_rs,
            cs: p.a_cs,
        };
        if let Some(sliver) = sliver {
            // SAFETY: the sliver has room for MAX_MR rows of KSEG elements.
            unsafe { (k.gemm_pack_a)(a, height, panel.depth, sliver) };
            a = Left {
                p: sliver,
                rs: 1,
                cs: height as isize,
            };
        }
        // SAFETY: as the caller's.
        unsafe { sliver_tiles(k, p, panel, flush, packed, a, (i, height)) };
        i += height;
    }
}

/// LOOP 2: the tiles of one sliver.
///
/// # Safety
/// As [`gemm`]; `packed` must hold the panel, `a` the rows.
#[inline(always)]
unsafe fn sliver_tiles<T: Element>(
    k: &Kernels<T>,
    p: &Gemm<T>,
    panel: Panel,
    flush: &Flush<'_, T>,
    packed: Option<*mut T>,
    a: Left<T>,
    (i, height): (usize, usize),
) {
    let tiles = &k.tiles;
    let direct = flush.direct();
    let mut j = 0;
    while j < panel.cols {
        let width = tiles.widths.next(panel.cols - j);
        let padded = (width + tiles.widths.lanes - 1) & !(tiles.widths.lanes - 1);
        let b = match packed {
            Some(packed) => Right {
                p: packed.wrapping_add(j * panel.depth).cast_const(),
                rs: padded as isize,
            },
            None => Right {
                p: p.b
                    .wrapping_offset(panel.pc as isize * p.b_rs + (panel.jc + j) as isize),
                rs: p.b_rs,
            },
        };
        let at = (i, panel.jc + j);
        // SAFETY: height and width are within the tiles'.
        let (run, last) = unsafe { tiles.get(height, width) };
        let mut tile = Tile {
            depth: panel.depth,
            a,
            b,
            last,
            alpha: p.alpha,
            beta: flush.beta(),
            out: flush.at(at),
            out_rs: p.c_rs,
        };
        // SAFETY: the tile lies in C, and `a` and `b` hold `depth` steps of it.
        unsafe {
            if direct {
                run(&tile, flush.reads());
            } else {
                through_sums(k, flush, run, &mut tile, (height, width, padded), at);
            }
        }
        j += width;
    }
}

/// A tile whose sums go to C by [`flush`](super::flush).
///
/// # Safety
/// As [`gemm`]; `run` must be the tile of this size, and `tile` describe it.
#[inline(never)]
unsafe fn through_sums<T: Element>(
    k: &Kernels<T>,
    flush: &Flush<'_, T>,
    run: super::TileFn<T>,
    tile: &mut Tile<T>,
    (height, width, padded): (usize, usize, usize),
    at: (usize, usize),
) {
    let mut sums = [const { MaybeUninit::<T>::uninit() }; params::MAX_TILE];
    tile.out = sums.as_mut_ptr().cast();
    tile.out_rs = padded as isize;
    if !flush.moves() {
        tile.alpha = T::ONE;
    }
    // SAFETY: there is room for the largest tile.
    unsafe {
        run(tile, false);
        (k.gemm_flush)(flush, sums.as_ptr().cast(), height, at, width);
    }
}
