//! Products with a large B whose columns are contiguous, as C^T = B^T A^T: the columns of B are rows there, of which
//! microkernels read elements in place, and registers run along the rows of A. So only A is transposed, as it is
//! packed, and C, once it is complete.

use core::mem::MaybeUninit;

use super::super::microkernel::{MicrokernelArgs, PanelB, Update};
use super::super::pack::PanelRange;
use super::super::params::KSEG;
use super::super::routines::Routines;
use super::super::scratch::PackingScratch;
use super::super::shapes::MAX_MR;
use super::super::widths::{Widths, balanced_step};
use super::super::write_back::WriteBack;
use super::super::{Gemm, Microkernels};
use super::from_memory;
use crate::element::Element;

/// The most rows of C. With more of them, packing B costs little.
const MOST: usize = 64;

/// Micro-tiles of C^T that are written to C together, so that whole cache lines are written.
const MICRO_TILES: usize = 2;

/// Whether this is the way to compute `p`, which is not transposed. The limits were measured on Zen 5: with fewer
/// rows, registers along them are filled too badly, or `along_k` computes all of them at once; with fewer columns or
/// steps of k, packing A and transposing C take longer than packing B.
pub fn pays<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    let lanes = microkernels.widths.lanes;
    !microkernels.along_k.is_empty()
        && p.b.rs == 1
        && p.b.cs != 1
        && p.c.cs == 1
        && p.m <= MOST
        && 4 * p.m > 3 * lanes
        && (p.m > MAX_MR || (size_of::<T>() == 8 && !from_memory(p)))
        && p.n >= 256.max(4 * p.m)
        && p.k >= 256
}

/// Computes the product. `block` is scratch memory of `bytes` bytes; returns whether that sufficed.
///
/// # Safety
/// As [`super::run`]; it must be a product for which this [`pays`].
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) -> bool {
    let widths = routines.microkernels.widths;
    let Some(scratch) = PackingScratch::<T>::new(widths.lanes, block, bytes) else {
        return false;
    };
    let columns = scratch.columns.get();
    let segments = columns.checked_div(widths.padded(p.m)).unwrap_or(0);
    let p = p.transposed();
    let mut pc = 0;
    while segments > 0 && pc < p.k {
        let range = TransposedKRange {
            routines,
            p: &p,
            packed: scratch.panel_b,
            widths,
            pc,
            kc: (segments * KSEG).min(p.k - pc),
        };
        // SAFETY: as the caller's; there is room for these segments.
        unsafe { range.multiply() };
        pc += range.kc;
    }
    segments > 0
}

/// A range of k of the transposed product C = A B, in whole segments; the last may be shorter.
struct TransposedKRange<'a, T: 'static> {
    routines: &'a Routines<T>,
    p: &'a Gemm<T>,
    /// Room for the packed rows of B.
    packed: *mut T,
    widths: Widths,
    pc: usize,
    kc: usize,
}

impl<T: Element> TransposedKRange<'_, T> {
    /// Packs B, and computes all rows.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn multiply(&self) {
        let p = self.p;
        for pc in (0..self.kc).step_by(KSEG) {
            let range = PanelRange {
                pc: self.pc + pc,
                kc: KSEG.min(self.kc - pc),
                jc: 0,
                nc: p.n,
                widths: self.widths,
            };
            // SAFETY: there is room for these segments.
            unsafe { (self.routines.pack_b)(p, range, self.panel(pc)) };
        }
        // `max` because the compiler does not know that there are rows, and would keep a panic.
        let most = (MICRO_TILES * self.routines.microkernels.mr()).max(1);
        for i in (0..p.m).step_by(most) {
            self.rows(i, most.min(p.m - i));
        }
    }

    /// The packed segment at step `pc` of the range.
    #[inline(always)]
    fn panel(&self, pc: usize) -> *mut T {
        self.packed.wrapping_add(pc * self.widths.padded(self.p.n))
    }

    /// Computes `rows` rows of C from row `i` on: in a tile that takes the place of C until the last segment of the
    /// range has been added.
    ///
    /// # Safety
    /// As [`run`]; at most [`MICRO_TILES`] micro-tiles of rows.
    unsafe fn rows(&self, i: usize, rows: usize) {
        const PITCH: usize = MOST;
        let p = self.p;
        let mut tile = [const { MaybeUninit::<T>::uninit() }; MICRO_TILES * MAX_MR * PITCH];
        let tile = tile.as_mut_ptr().cast::<T>();
        let (is_first, is_last) = (self.pc == 0, self.pc + self.kc == p.k);
        let to = WriteBack::new(p, is_first, is_last);
        if to.reads_c() {
            for column in 0..p.n {
                for row in 0..rows {
                    // SAFETY: these elements lie in C; the tile has room for them.
                    unsafe { *tile.add(row * PITCH + column) = *to.at((i + row, column)) };
                }
            }
        }
        let mut row = 0;
        while row < rows {
            let mr = balanced_step(rows - row, self.routines.microkernels.mr());
            let mut beta = to.beta();
            for pc in (0..self.kc).step_by(KSEG) {
                let args = MicrokernelArgs {
                    kc: KSEG.min(self.kc - pc),
                    a_rs: p.a.rs,
                    a_cs: p.a.cs,
                    c_rs: PITCH as isize,
                    prefetch_stride: 0,
                    packed: core::ptr::null_mut(),
                    update: Update::new(p.alpha, beta),
                    alpha: p.alpha,
                    beta,
                };
                let a = p.a.at(i + row, self.pc + pc);
                // SAFETY: as the caller's; the tile has room for these rows.
                unsafe { self.micro_tiles(&args, a, mr, pc, tile.add(row * PITCH)) };
                beta = T::ONE;
            }
            row += mr;
        }
        let complete = Gemm {
            alpha: T::ONE,
            beta: T::ZERO,
            ..*p
        };
        let to = WriteBack::new(&complete, true, is_last).with_pitch(PITCH);
        // SAFETY: as the caller's; the rows are in the tile.
        unsafe { (self.routines.write_back)(&to, tile, rows, (i, 0), p.n) };
    }

    /// Adds the segment at step `pc` to `mr` rows of the tile.
    ///
    /// # Safety
    /// `a` must hold these rows of the segment, `tile` the rows of the tile; `mr` must be a microkernel's.
    #[inline(always)]
    unsafe fn micro_tiles(
        &self,
        args: &MicrokernelArgs<T>,
        a: *const T,
        mr: usize,
        pc: usize,
        tile: *mut T,
    ) {
        let mut j = 0;
        while j < self.p.n {
            let nr = self.widths.next_nr(self.p.n - j);
            let b = PanelB {
                p: self.panel(pc).wrapping_add(j * args.kc).cast_const(),
                rs: self.widths.padded(nr) as isize,
            };
            // SAFETY: the widths gave nr; the caller vouches for the rest.
            unsafe {
                let (run, last) = self.routines.microkernels.get(mr, nr);
                run(args, a, b, tile.add(j), last);
            }
            j += nr;
        }
    }
}
