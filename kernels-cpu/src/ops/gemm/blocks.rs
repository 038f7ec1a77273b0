//! The loops over blocks, for all levels: they compute addresses; the work is in the level's kernels.

use core::mem::MaybeUninit;

use super::Gemm;
use super::flush::Flush;
use super::lines::Lines;
use super::pack::Panel;
use super::params::{self, KSEG, MAX_MR, MAX_NR, NC};
use super::tile::{Common, Left, Right, Update};
use super::tiles::{TileFn, Tiles, next};
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

/// The columns of a product that are computed as they are, and those that are turned.
#[inline(always)]
fn parts<T: Element>(p: &Gemm<T>, turned: usize) -> [Option<Gemm<T>>; 2] {
    let first = p.n - turned;
    let part = |j, n| (n > 0).then(|| p.block((0, p.m), (j, n)));
    [part(0, first), part(first, turned).map(Gemm::transposed)]
}

/// Whether [`gemm`] needs scratch memory. Parts of a product that does not, do not either: a part that turns
/// columns where the whole does not may want a sliver of A, and runs without.
#[inline(always)]
pub fn packs<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    match params::turned(tiles, p) {
        0 => params::packs(tiles, p),
        last => parts(p, last)
            .iter()
            .flatten()
            .any(|part| params::packs(tiles, part)),
    }
}

/// Runs the product on this thread. `block` is scratch memory of `bytes` bytes: as much as
/// [`params::scratch_bytes`] says, or at least a panel one register wide; none unless [`packs`].
///
/// # Safety
/// The machine must have the kernels' level; the matrices must be valid, and C apart from A, B and
/// the biases.
#[inline(always)]
pub unsafe fn gemm<T: Element>(k: &Kernels<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
    // SAFETY: as the caller's.
    unsafe {
        if p.stream {
            return streamed(k, p, block, bytes);
        }
        match params::turned(&k.tiles, p) {
            0 => columns(k, p, block, bytes),
            last => {
                for part in parts(p, last).iter().flatten() {
                    columns(k, part, block, bytes);
                }
            }
        }
    }
}

/// [`gemm`], past the caches from the first aligned column on.
///
/// # Safety
/// As [`gemm`]; C as [`Gemm::stream`] says.
unsafe fn streamed<T: Element>(k: &Kernels<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
    let before = p.c.align_offset(params::LINE).min(p.n);
    // SAFETY: as the caller's.
    unsafe {
        if before > 0 {
            let mut unaligned = p.block((0, p.m), (0, before));
            unaligned.stream = false;
            columns(k, &unaligned, block, bytes);
        }
        if before < p.n {
            let aligned = p.block((0, p.m), (before, p.n - before));
            columns(k, &aligned, block, bytes);
        }
        // Of nothing, for the fence that follows what is streamed.
        (k.fill)(0, T::ZERO, p.c, true);
    }
}

/// [`gemm`], all columns alike.
///
/// # Safety
/// As [`gemm`].
unsafe fn columns<T: Element>(k: &Kernels<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
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
            widths: tiles.widths,
        };
        // SAFETY: as the caller's.
        return unsafe { panels(k, p, whole, None, None) };
    }
    let scratch = Scratch::new(tiles, block, bytes);
    let sliver = scratch.sliver.filter(|_| params::pack_a(tiles, p));
    let packed = params::pack_b(tiles, p).then_some(scratch.panel);
    let widths = if packed.is_some() && sliver.is_none() {
        params::slivers(tiles)
    } else {
        tiles.widths
    };
    let nr = widths.most();
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
            widths,
        };
        // SAFETY: as the caller's; the panel has room for `cols` columns of `KSEG` rows.
        unsafe { panels(k, p, columns, packed, sliver) };
        jc += cols;
    }
}

/// Whether [`direct`] can run the product, as it is.
pub fn is_direct<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) -> bool {
    let one_segment = 0 < p.k && p.k <= KSEG && !p.stream;
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
        run(&in_place(p), p.a, Right { p: p.b, rs: p.b_rs }, p.c, last);
    }
}

/// What the tiles of a product of one segment have in common that goes from A in place to C.
#[inline(always)]
fn in_place<T: Element>(p: &Gemm<T>) -> Common<T> {
    Common {
        depth: p.k,
        a_rs: p.a_rs,
        a_cs: p.a_cs,
        out_rs: p.c_rs,
        update: Update::new(p.alpha, p.beta),
        alpha: p.alpha,
        beta: p.beta,
    }
}

/// Runs a product of one segment whose matrices are read in place: rows of B and C contiguous; alpha and
/// k not 0, k at most [`KSEG`]; no bias, no clamp.
///
/// # Safety
/// The machine must have the tiles' level; the matrices must be valid, and C apart from A and B.
#[inline(always)]
pub unsafe fn direct<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>) {
    // SAFETY: as the caller's.
    unsafe { each_tile(tiles, p, |height, width| tiles.get(height, width)) }
}

/// As [`direct`], while the matrices of the product after it are brought near.
///
/// # Safety
/// As [`direct`]; nothing is asked of the product after it.
#[inline(always)]
pub unsafe fn direct_before<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>, next: &Gemm<T>) {
    let mut lines = Lines::new(p, next);
    // SAFETY: as the caller's.
    unsafe {
        each_tile(tiles, p, |height, width| {
            let ahead = tiles.whole(tiles.ahead, (height, width));
            let with_line = ahead.and_then(|run| Some((run, lines.take(p.k)?)));
            with_line.unwrap_or_else(|| tiles.get(height, width))
        });
    }
}

/// The tiles of a product, each with the one of `tile` and what that is to be called with.
///
/// # Safety
/// As [`direct`]; `tile` must give a tile of the height and width.
#[inline(always)]
unsafe fn each_tile<T: Element>(
    tiles: &Tiles<T>,
    p: &Gemm<T>,
    mut tile: impl FnMut(usize, usize) -> (TileFn<T>, usize),
) {
    let (rows, widths) = tiles.sizes(p.n);
    let common = in_place(p);
    let mut i = 0;
    while i < p.m {
        let height = next(p.m - i, rows);
        let a = p.a.wrapping_offset(i as isize * p.a_rs);
        let row = p.c.wrapping_offset(i as isize * p.c_rs);
        let mut j = 0;
        while j < p.n {
            let width = widths.next(p.n - j);
            let b = Right {
                p: p.b.wrapping_add(j),
                rs: p.b_rs,
            };
            let (run, last) = tile(height, width);
            // SAFETY: height and width are within the tiles'; the caller vouches for the matrices.
            unsafe { run(&common, a, b, row.wrapping_add(j), last) };
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
                (k.gemm_pack_b)(p, panel, out);
            }
            rows(k, p, panel, &flush, packed, sliver);
        }
        pc += panel.depth;
        if pc >= p.k {
            return;
        }
    }
}

/// LOOP 3: blocks of A.
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
    let most = if sliver.is_none() && params::right_stays::<T>(&panel.widths) {
        params::block_rows::<T>()
    } else {
        k.tiles.rows
    };
    let mut i = 0;
    while i < p.m {
        let height = next(p.m - i, most);
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
        unsafe { block_tiles(k, p, panel, flush, packed, a, (i, height)) };
        i += height;
    }
}

/// LOOPS 2 and 1: the tiles of a block of A, a sliver of B after the other.
///
/// # Safety
/// As [`gemm`]; `packed` must hold the panel, `a` the rows.
#[inline(always)]
unsafe fn block_tiles<T: Element>(
    k: &Kernels<T>,
    p: &Gemm<T>,
    panel: Panel,
    flush: &Flush<'_, T>,
    packed: Option<*mut T>,
    a: Left<T>,
    (first, rows): (usize, usize),
) {
    let tiles = &k.tiles;
    let direct = flush.direct();
    let (alpha, beta) = flush.in_tile();
    let common = Common {
        depth: panel.depth,
        a_rs: a.rs,
        a_cs: a.cs,
        out_rs: if direct { p.c_rs } else { MAX_NR as isize },
        update: Update::new(alpha, beta),
        alpha,
        beta,
    };
    let mut j = 0;
    while j < panel.cols {
        let width = panel.widths.next(panel.cols - j);
        let b = match packed {
            Some(packed) => Right {
                p: packed.wrapping_add(j * panel.depth).cast_const(),
                rs: panel.widths.padded(width) as isize,
            },
            None => Right {
                p: p.b
                    .wrapping_offset(panel.pc as isize * p.b_rs + (panel.jc + j) as isize),
                rs: p.b_rs,
            },
        };
        let mut i = 0;
        while i < rows {
            let height = next(rows - i, tiles.rows);
            let a = a.p.wrapping_offset(i as isize * a.rs);
            let at = (first + i, panel.jc + j);
            // SAFETY: height and width are within the tiles'; the tile lies in C, and `a` and `b` hold
            // `depth` steps of it.
            unsafe {
                let (mut run, last) = tiles.get(height, width);
                if direct && p.stream {
                    run = tiles.whole(tiles.stream, (height, width)).unwrap_or(run);
                }
                if direct {
                    run(&common, a, b, flush.at(at), last);
                } else {
                    let run = |sums| run(&common, a, b, sums, last);
                    through_sums(k, flush, run, (height, width), at);
                }
            }
            i += height;
        }
        j += width;
    }
}

/// A tile whose sums go to C by [`flush`](super::flush).
///
/// # Safety
/// As [`gemm`]; `run` must write the tile of this size to rows [`MAX_NR`] apart.
#[inline(never)]
unsafe fn through_sums<T: Element>(
    k: &Kernels<T>,
    flush: &Flush<'_, T>,
    run: impl FnOnce(*mut T),
    (height, width): (usize, usize),
    at: (usize, usize),
) {
    let mut sums = [const { MaybeUninit::<T>::uninit() }; MAX_MR * MAX_NR];
    run(sums.as_mut_ptr().cast());
    // SAFETY: the tile has been written.
    unsafe { (k.gemm_flush)(flush, sums.as_ptr().cast(), height, at, width) };
}
