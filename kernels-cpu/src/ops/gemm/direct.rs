//! The short way: products of one segment, from matrices in place to C, tile by tile.

use super::Gemm;
use super::lines::Lines;
use super::params::{self, KSEG};
use super::tile::{Common, Right, Update};
use super::tiles::{TileFn, Tiles, next};
use crate::element::Element;

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
        ahead: params::LINE as isize,
        copy: core::ptr::null_mut(),
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
