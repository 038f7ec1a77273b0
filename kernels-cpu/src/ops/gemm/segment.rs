//! One segment of k of a panel of columns: blocks of A, slivers of B, tiles.

use core::mem::MaybeUninit;

use super::Gemm;
use super::flush::Flush;
use super::lines::Sliver;
use super::pack::Panel;
use super::params::{self, MAX_MR, MAX_NR};
use super::tile::{Common, Left, Right, Update};
use super::tiles::{TileFn, next};
use crate::element::Element;
use crate::table::Kernels;

/// What its tiles have in common.
pub struct Segment<'a, T: 'static> {
    pub k: &'a Kernels<T>,
    pub p: &'a Gemm<T>,
    pub panel: Panel,
    pub flush: Flush<'a, T>,
    /// Room for a copy of the panel of B, if it is not read in place.
    pub packed: Option<*mut T>,
    /// Room for a copy of [`MAX_MR`] rows of A, if they are not read in place.
    pub sliver: Option<*mut T>,
}

impl<T: Element> Segment<'_, T> {
    /// LOOP 3: blocks of A. A sliver is copied while its lines, which the tiles before it have asked for,
    /// are near: of B by the first tile that comes to it or right before, of A before its tiles.
    ///
    /// # Safety
    /// The machine must have the kernels' level; the matrices must be valid, and C apart from A and B.
    #[inline(always)]
    pub unsafe fn rows(&self) {
        let (p, panel) = (self.p, self.panel);
        let stays = self.sliver.is_none() && params::right_stays::<T>(&panel.widths);
        let tile = self.k.tiles.rows;
        let block = if stays {
            params::block_rows::<T>()
        } else {
            tile
        };
        let mut fresh = self.packed;
        if let (Some(out), Some(_)) = (self.packed, self.sliver) {
            // SAFETY: `out` has room for the panel.
            unsafe { (self.k.gemm_pack_b)(p, panel, out) };
            fresh = None;
        }
        let mut i = 0;
        while i < p.m {
            let least = if fresh.is_some() {
                params::FRESH_TILES * tile
            } else {
                0
            };
            let height = next(p.m - i, block.max(least));
            let mut asked = Sliver::NONE;
            let mut a = Left {
                p: self.a(i),
                rs: p.a_rs,
                cs: p.a_cs,
            };
            if let Some(sliver) = self.sliver {
                // SAFETY: the sliver has room for MAX_MR rows of a segment.
                unsafe { (self.k.gemm_pack_a)(a, height, panel.depth, sliver) };
                a = Left {
                    p: sliver,
                    rs: 1,
                    cs: height as isize,
                };
                let after = i + height;
                if p.a_rs == 1 && after < p.m {
                    asked = Sliver::new(self.a(after), next(p.m - after, block), p.a_cs);
                }
            }
            // SAFETY: as the caller's.
            unsafe { self.block(a, (i, height), fresh.take(), asked) };
            i += height;
        }
    }

    /// A from its row i on.
    #[inline(always)]
    fn a(&self, i: usize) -> *const T {
        let (p, pc) = (self.p, self.panel.pc as isize);
        p.a.wrapping_offset(i as isize * p.a_rs + pc * p.a_cs)
    }

    /// B from column j of the panel on.
    #[inline(always)]
    fn b(&self, j: usize) -> *const T {
        let (p, pc, jc) = (self.p, self.panel.pc as isize, self.panel.jc);
        p.b.wrapping_offset(pc * p.b_rs + (jc + j) as isize * p.b_cs)
    }

    /// LOOPS 2 and 1: the tiles of a block of A, a sliver of B after the other, which go to `fresh`, if
    /// that is given. The tiles ask for the lines of `asked`, or of the next sliver of B to be copied.
    ///
    /// # Safety
    /// As [`Segment::rows`]; `a` must hold the rows, and `packed` the panel unless it is `fresh`.
    #[inline(always)]
    unsafe fn block(
        &self,
        a: Left<T>,
        (first, rows): (usize, usize),
        fresh: Option<*mut T>,
        mut asked: Sliver,
    ) {
        let (p, panel) = (self.p, self.panel);
        let direct = self.flush.direct();
        let (alpha, beta) = self.flush.in_tile();
        let asks_b = fresh.is_some() && p.b_cs == 1;
        let mut common = Common {
            depth: panel.depth,
            a_rs: a.rs,
            a_cs: a.cs,
            out_rs: if direct { p.c_rs } else { MAX_NR as isize },
            ahead: if asks_b { p.b_rs } else { p.a_cs } * size_of::<T>() as isize,
            copy: core::ptr::null_mut(),
            update: Update::new(alpha, beta),
            alpha,
            beta,
        };
        let mut j = 0;
        while j < panel.cols {
            let width = panel.widths.next(panel.cols - j);
            let after = j + width;
            let in_place = Right {
                p: self.b(j),
                rs: p.b_rs,
            };
            let mut copying = None;
            if let Some(out) = fresh {
                common.copy = out.wrapping_add(j * panel.depth);
                // SAFETY: `out` has room for the panel.
                copying = unsafe { self.copy((j, width), rows, common.copy) };
                if asks_b && after < panel.cols {
                    let width = panel.widths.next(panel.cols - after);
                    asked = Sliver::new(self.b(after), width, p.b_rs);
                }
            }
            let b = match self.packed {
                Some(packed) => Right {
                    p: packed.wrapping_add(j * panel.depth).cast_const(),
                    rs: panel.widths.padded(width) as isize,
                },
                None => in_place,
            };
            let mut i = 0;
            while i < rows {
                let height = next(rows - i, self.k.tiles.rows);
                let a = a.p.wrapping_offset(i as isize * a.rs);
                let at = (first + i, panel.jc + j);
                // SAFETY: height and width are within the tiles'; the tile lies in C, `a` and `b` hold `depth`
                // steps of it, and the panel has room for what is copied.
                unsafe {
                    let (run, b, last) = if let Some(run) = copying.take() {
                        (run, in_place, 0)
                    } else {
                        let (run, last) = self.tile((height, width), &mut asked);
                        (run, b, last)
                    };
                    if direct {
                        run(&common, a, b, self.flush.at(at), last);
                    } else {
                        let run = |sums| run(&common, a, b, sums, last);
                        through_sums(self.k, &self.flush, run, (height, width), at);
                    }
                }
                i += height;
            }
            j = after;
        }
    }

    /// The tile that copies these columns of the panel to `out` for the others of a block of `rows`; where there
    /// is none, they have been copied.
    ///
    /// # Safety
    /// `out` must have room for the columns, in whole registers.
    #[inline(always)]
    unsafe fn copy(
        &self,
        (j, width): (usize, usize),
        rows: usize,
        out: *mut T,
    ) -> Option<TileFn<T>> {
        let tiles = &self.k.tiles;
        if self.p.b_cs == 1
            && let Some(run) = tiles.whole(tiles.copy, (next(rows, tiles.rows), width))
        {
            return Some(run);
        }
        let part = Panel {
            jc: self.panel.jc + j,
            cols: width,
            ..self.panel
        };
        // SAFETY: as the caller's.
        unsafe { (self.k.gemm_pack_b)(self.p, part, out) };
        None
    }

    /// A tile of this size, and what it is to be called with: one that goes past the caches or asks for lines,
    /// where it can.
    ///
    /// # Safety
    /// As [`Tiles::get`](super::Tiles::get).
    #[inline(always)]
    unsafe fn tile(&self, size: (usize, usize), asked: &mut Sliver) -> (TileFn<T>, usize) {
        let tiles = &self.k.tiles;
        if self.p.stream && self.flush.direct() {
            if let Some(run) = tiles.whole(tiles.stream, size) {
                return (run, 0);
            }
        } else if asked.is_some()
            && let Some(run) = tiles.whole(tiles.ahead, size)
        {
            return (run, asked.take());
        }
        // SAFETY: as the caller's.
        unsafe { tiles.get(size.0, size.1) }
    }
}

/// A tile whose sums go to C by [`flush`](super::flush).
///
/// # Safety
/// As [`Segment::rows`]; `run` must write the tile of this size to rows [`MAX_NR`] apart.
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
