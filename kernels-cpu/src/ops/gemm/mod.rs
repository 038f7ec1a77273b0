//! C = alpha A B + beta C, by packed blocks and register tiles (Goto and van de Geijn, "Anatomy of
//! High-Performance Matrix Multiplication", 2008; Van Zee and van de Geijn, "BLIS", 2015).
//!
//! The order of each element, part of the ABI: k is cut into segments of [`KSEG`]. A segment's sum
//! s is an fma chain over ascending k that starts from +0. The first segment sets
//! c = alpha s where beta = 0, else c = fma(alpha, s, beta c); each later one c = fma(alpha, s, c).
//! Where k or alpha is 0, c = beta c, or +0 where beta = 0. Bias and clamp follow the last segment.
//! (Shapes with one row or one column take the order of dot instead: `api::gemm`.)

mod flush;
mod pack;
pub mod params;
mod tile;

pub use tile::{Tile, TileFn, tile};

use core::mem::MaybeUninit;

use crate::element::Element;
use crate::simd::Simd;
use flush::Flush;
use params::{KSEG, NC};

/// What is added and limited after the last segment.
#[derive(Clone, Copy)]
pub struct Epilogue<T> {
    /// An element per row, or null; and its stride.
    pub row_bias: *const T,
    pub row_inc: isize,
    /// An element per column, or null; and its stride.
    pub column_bias: *const T,
    pub column_inc: isize,
    pub clamp: Option<(T, T)>,
}

impl<T> Epilogue<T> {
    /// Nothing.
    pub const NONE: Self = Self {
        row_bias: core::ptr::null(),
        row_inc: 0,
        column_bias: core::ptr::null(),
        column_inc: 0,
        clamp: None,
    };

    /// Whether it does anything.
    pub fn is_some(&self) -> bool {
        !self.row_bias.is_null() || !self.column_bias.is_null() || self.clamp.is_some()
    }
}

/// A matrix product that has been checked. Strides count elements.
#[derive(Clone, Copy)]
pub struct Gemm<T> {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub alpha: T,
    pub a: *const T,
    pub a_rs: isize,
    pub a_cs: isize,
    pub b: *const T,
    pub b_rs: isize,
    pub b_cs: isize,
    pub beta: T,
    pub c: *mut T,
    pub c_rs: isize,
    pub c_cs: isize,
    pub epilogue: Epilogue<T>,
}

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
    fn new<S: Simd<T = T>>(block: *mut u8, bytes: usize) -> Self {
        let align = block.align_offset(params::LINE).min(bytes);
        let panel = block.wrapping_add(align).cast::<T>();
        let room = (bytes - align) / size_of::<T>();
        let wanted = KSEG * (NC / size_of::<T>()) + KSEG * params::MAX_MR;
        if room >= wanted {
            let columns = NC / size_of::<T>();
            return Self {
                panel,
                columns,
                sliver: Some(panel.wrapping_add(KSEG * columns)),
            };
        }
        // A smaller problem's panel and sliver, or the fixed block: one register of columns.
        let with_sliver = room.saturating_sub(KSEG * params::MAX_MR) / KSEG / S::N * S::N;
        if with_sliver > 0 {
            let sliver = Some(panel.wrapping_add(KSEG * with_sliver));
            return Self {
                panel,
                columns: with_sliver,
                sliver,
            };
        }
        Self {
            panel,
            columns: room / KSEG / S::N * S::N,
            sliver: None,
        }
    }
}

/// Runs the product on this thread, with the level's tiles: all heights, and for each all widths in
/// registers, up to those of [`params::tile`]. `block` is scratch memory of `bytes` bytes: as much as
/// [`params::scratch_bytes`] says, or at least a panel one register wide.
///
/// # Safety
/// The matrices must be valid, and C apart from A, B and the biases.
#[inline(always)]
pub unsafe fn gemm<S: Simd>(
    s: S,
    p: &Gemm<S::T>,
    tiles: &[TileFn<S::T>],
    block: *mut u8,
    bytes: usize,
) {
    let scratch = Scratch::new::<S>(block, bytes);
    let (_, vectors) = params::tile::<S>();
    let nr = vectors * S::N;
    let segments = p.k.div_ceil(KSEG).max(1);
    let (pack_a, pack_b) = (
        params::pack_a::<S>(p) && scratch.sliver.is_some(),
        params::pack_b::<S>(p),
    );
    // An edge narrower than a register is packed in any case: a tile reads whole registers.
    let nc = match scratch.columns {
        // Nothing is packed.
        _ if p.k == 0 => p.n,
        enough if enough >= p.n => p.n,
        some if some >= nr => some / nr * nr,
        few => few,
    };
    // LOOP 5: columns of C and B.
    let mut jc = 0;
    while jc < p.n {
        let cols = nc.min(p.n - jc);
        // LOOP 4: segments of k.
        for segment in 0..segments {
            let pc = segment * KSEG;
            let depth = KSEG.min(p.k - pc);
            let flush = Flush::new(p, segment == 0, segment + 1 == segments);
            let first_packed = if pack_b { 0 } else { cols / nr * nr };
            // SAFETY: the panel has room for `nc` columns of `KSEG` rows.
            unsafe { pack::panel(s, p, pc, depth, jc, first_packed, cols, nr, scratch.panel) };
            let panel = Panel {
                p,
                tiles,
                pc,
                depth,
                jc,
                cols,
                first_packed,
                packed: scratch.panel,
            };
            // LOOP 3: slivers of A (the loop over blocks of A, with blocks of one sliver).
            // SAFETY: as the caller's.
            unsafe { rows(s, panel, &flush, scratch.sliver.filter(|_| pack_a)) };
        }
        jc += cols;
    }
}

/// A panel of B: `depth` rows from `pc`, `cols` columns from `jc`; columns from `first_packed` on
/// are packed.
#[derive(Clone, Copy)]
struct Panel<'a, T> {
    p: &'a Gemm<T>,
    tiles: &'a [TileFn<T>],
    pc: usize,
    depth: usize,
    jc: usize,
    cols: usize,
    first_packed: usize,
    packed: *const T,
}

/// All rows of C over one panel.
#[inline(always)]
unsafe fn rows<S: Simd>(
    s: S,
    panel: Panel<'_, S::T>,
    flush: &Flush<'_, S>,
    sliver: Option<*mut S::T>,
) {
    let Panel {
        p,
        tiles,
        pc,
        depth,
        jc,
        cols,
        first_packed,
        packed,
    } = panel;
    let (mr, vectors) = params::tile::<S>();
    let nr = vectors * S::N;
    let mut sums = [const { MaybeUninit::<S::V>::uninit() }; params::MAX_REGISTERS];
    let mut i = 0;
    while i < p.m {
        let height = mr.min(p.m - i);
        let mut a = tile::Left {
            p: p.a
                .wrapping_offset(i as isize * p.a_rs + pc as isize * p.a_cs),
            rs: p.a_rs,
            cs: p.a_cs,
        };
        if let Some(sliver) = sliver {
            // SAFETY: the sliver has room for MAX_MR rows of KSEG elements.
            a = unsafe { pack::sliver(a, height, depth, sliver) };
        }
        let mut j = 0;
        while j < cols {
            let width = nr.min(cols - j);
            let b = if j >= first_packed {
                let padded = width.div_ceil(S::N) * S::N;
                tile::Right {
                    p: packed.wrapping_add((j - first_packed) * depth),
                    rs: padded as isize,
                }
            } else {
                let offset = pc as isize * p.b_rs + (jc + j) as isize;
                tile::Right {
                    p: p.b.wrapping_offset(offset),
                    rs: p.b_rs,
                }
            };
            let at = (i, jc + j);
            let padded = width.div_ceil(S::N) * S::N;
            let direct = flush.direct(at, width);
            let (target, out, out_rs) = direct.unwrap_or((
                tile::Target::Sums,
                sums.as_mut_ptr().cast(),
                padded as isize,
            ));
            let args = Tile {
                depth,
                a,
                b,
                alpha: p.alpha,
                target,
                out,
                out_rs,
            };
            // SAFETY: the tile lies in C, `a` and `b` hold `depth` steps of it, and the list has
            // every height and width.
            unsafe {
                tiles.get_unchecked((height - 1) * vectors + padded / S::N - 1)(&args);
                if direct.is_none() {
                    flush.any(s, sums.as_ptr().cast(), height, at, width);
                }
            }
            j += width;
        }
        i += height;
    }
}
