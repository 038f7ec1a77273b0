//! The loops over blocks, for all levels: they compute addresses; the work is in the level's kernels.

use super::Gemm;
use super::direct::{direct, is_direct};
use super::flush::Flush;
use super::pack::Panel;
use super::params::{self, KSEG, NC};
use super::segment::Segment;
use super::tiles::Tiles;
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
        let segment = Segment {
            k,
            p,
            panel,
            flush: Flush::new(p, pc == 0, pc + panel.depth == p.k),
            packed,
            sliver,
        };
        // SAFETY: as the caller's.
        unsafe { segment.rows() };
        pc += panel.depth;
        if pc >= p.k {
            return;
        }
    }
}
