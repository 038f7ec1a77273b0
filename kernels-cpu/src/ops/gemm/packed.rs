//! A B that was packed before the call: micro-panels of all k, [`widths`] columns each, one after the other. The five loops
//! read them as they read a panel that they have packed themselves.

use super::Gemm;
use super::params::{LINE, MICRO_PANEL_A_BYTES, NC_BYTES};
use super::routines::Routines;
use super::segment::Loops;
use super::widths::Widths;
use super::{PanelRange, microkernels::Microkernels};
use crate::element::Element;

/// The bytes of scratch memory for A, where its rows are not contiguous.
pub const PACKED_SCRATCH: usize = MICRO_PANEL_A_BYTES + LINE;

/// The widths of the micro-panels: two registers. In one segment they fill two thirds of an L1 of 48 KiB at most, and the
/// micro-tile has enough chains of fma. Unlike those of a call, they depend on the level alone, so that a packed matrix can be
/// used on another machine.
pub fn widths<T>(microkernels: &Microkernels<T>) -> Widths {
    const REGISTERS: usize = 2;
    Widths {
        nv: REGISTERS,
        ..microkernels.widths
    }
}

/// Packs all of B.
///
/// # Safety
/// The machine must have the routines' level; B must be valid, and `out` must have room for all micro-panels.
pub unsafe fn pack<T: Element>(routines: &Routines<T>, p: &Gemm<T>, out: *mut T) {
    let widths = widths(&routines.microkernels);
    let nr = widths.nr().max(1);
    for jc in (0..p.n).step_by(nr) {
        let range = PanelRange {
            pc: 0,
            kc: p.k,
            jc,
            nc: nr.min(p.n - jc),
            widths,
        };
        // SAFETY: as the caller's.
        unsafe { (routines.pack_b)(p, range, out.wrapping_add(jc * p.k)) };
    }
}

/// Runs a product with a packed B, to whose micro-panels `p.b` points. `block` is scratch memory of [`PACKED_SCRATCH`] bytes,
/// or of none, which is slower where the rows of A are not contiguous.
///
/// # Safety
/// The machine must have the routines' level; A and C must be valid, and C must not overlap the others; k must not be 0.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
pub unsafe fn run<T: Element>(routines: &Routines<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
    let packs_a = p.a.cs != 1 && bytes >= PACKED_SCRATCH;
    let packed_a = block.wrapping_add(block.align_offset(LINE)).cast();
    let widths = widths(&routines.microkernels);
    let loops = Loops {
        routines,
        p,
        non_temporal: false,
        packed_a: packs_a.then_some(packed_a),
        packed_b: Some(p.b.ptr.cast_mut()),
        is_packed: true,
    };
    let columns = (NC_BYTES / size_of::<T>() / widths.nr().max(1) * widths.nr()).max(1);
    // LOOP 5.
    let mut jc = 0;
    while jc < p.n {
        let range = PanelRange {
            pc: 0,
            kc: p.k,
            jc,
            nc: columns.min(p.n - jc),
            widths,
        };
        // SAFETY: as the caller's; the panels of these columns are packed.
        unsafe { loops.segments(range) };
        jc += range.nc;
    }
}
