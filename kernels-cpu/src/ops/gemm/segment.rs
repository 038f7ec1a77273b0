//! What the five loops around the microkernel share: the operands of each loop, where they lie, and which microkernel a
//! micro-tile calls for.

use super::Gemm;
use super::microkernel::{PanelA, PanelB};
use super::microkernels::{MicrokernelFn, Variant};
use super::pack::PanelRange;
use super::prefetch::NextMicroPanel;
use super::routines::Routines;
use super::widths::balanced_step;
use super::write_back::WriteBack;
use crate::element::Element;

/// What all loops share.
pub struct Loops<'a, T: 'static> {
    pub routines: &'a Routines<T>,
    pub p: &'a Gemm<T>,
    pub non_temporal: bool,
    /// Room for a packed micro-panel of A, of the greatest MR; `None` if A is read in place.
    pub packed_a: Option<*mut T>,
    /// Room for a packed panel of B; `None` if B is read in place.
    pub packed_b: Option<*mut T>,
}

/// What loops 3 to 1 share: a panel of B, nc columns of one segment of k.
pub struct Segment<'a, T: 'static> {
    pub loops: &'a Loops<'a, T>,
    pub range: PanelRange,
    pub to: WriteBack<'a, T>,
}

/// A block of A: `rows` rows from row `first` on, in place or as a packed micro-panel.
#[derive(Clone, Copy)]
pub struct Block<T> {
    pub a: PanelA<T>,
    pub first: usize,
    pub rows: usize,
}

/// A micro-panel of B: `nr` columns from column `jr` of its panel on, in place or packed.
pub struct MicroPanelB<T: 'static> {
    pub jr: usize,
    pub nr: usize,
    pub b: PanelB<T>,
    /// For a micro-panel that is yet to be packed: the microkernel that packs it while it computes the first
    /// micro-tile, and the columns of B in place, from which that microkernel reads.
    pub packing: Option<(MicrokernelFn<T>, PanelB<T>)>,
}

impl<T: Element> Segment<'_, T> {
    /// The address of column `j` of the panel, in B in place.
    #[inline(always)]
    pub fn b(&self, j: usize) -> *const T {
        self.loops.p.b.at(self.range.pc, self.range.jc + j)
    }

    /// Packs `nr` columns of the panel, from `jr` on, to `out`; or, if there is one, returns the microkernel that will
    /// do so while it computes the first micro-tile of a block of `rows` rows.
    ///
    /// # Safety
    /// `out` must have room for the columns, in whole registers.
    #[inline(always)]
    pub unsafe fn pack_micro_panel(
        &self,
        (jr, nr): (usize, usize),
        rows: usize,
        out: *mut T,
    ) -> Option<MicrokernelFn<T>> {
        let Loops { routines, p, .. } = *self.loops;
        let microkernels = &routines.microkernels;
        if p.b.cs == 1
            && let Some(run) =
                microkernels.largest(Variant::Pack, (balanced_step(rows, microkernels.mr()), nr))
        {
            return Some(run);
        }
        let range = PanelRange {
            jc: self.range.jc + jr,
            nc: nr,
            ..self.range
        };
        (routines.pack_b)(p, range, out);
        None
    }

    /// The microkernel of this size (MR, NR) with non-temporal stores or with prefetch, if the micro-tile calls for one
    /// and the level has it; and its last argument.
    #[inline(always)]
    pub fn special_microkernel(
        &self,
        size: (usize, usize),
        to_prefetch: &mut NextMicroPanel,
    ) -> Option<(MicrokernelFn<T>, usize)> {
        let microkernels = &self.loops.routines.microkernels;
        if self.loops.non_temporal && self.to.is_direct() {
            Some((microkernels.largest(Variant::NonTemporal, size)?, 0))
        } else if to_prefetch.has_lines() {
            let run = microkernels.largest(Variant::Prefetch, size)?;
            Some((run, to_prefetch.take_line()))
        } else {
            None
        }
    }
}
