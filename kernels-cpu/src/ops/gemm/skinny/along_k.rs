//! Products with a large B whose columns are contiguous. B is read in place, once: register after register of columns,
//! which the microkernel transposes.

mod range;

use super::super::params::{KSEG, LINE};
use super::super::routines::Routines;
use super::super::scratch::PackingScratch;
use super::super::shapes::MAX_MR;
use super::super::transpose::MAX_LANES;
use super::super::{Gemm, Microkernels};
use super::from_memory;
use crate::element::Element;
use range::{COPY, KRange};

/// Whether this is the way to compute `p`, which has been transposed or not.
pub fn pays<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>, transposed: bool) -> bool {
    p.m <= most_rows(microkernels, p, transposed)
        && p.b.rs == 1
        && p.n >= 2 * microkernels.widths.lanes
        && p.k >= 16
}

/// The most rows for which it was faster than the other microkernels. For a small B those read A element by
/// element, so the limit depends on the number of lanes; they pack a large B whose columns are contiguous.
fn most_rows<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>, transposed: bool) -> usize {
    let lanes = microkernels.widths.lanes;
    let has_512_bits = lanes * size_of::<T>() == LINE;
    if microkernels.along_k.is_empty() {
        0
    } else if from_memory(p) {
        if has_512_bits { 2 * MAX_MR } else { MAX_MR }
    } else if transposed && lanes < 8 {
        0
    } else if p.k < KSEG {
        lanes / 2
    } else if transposed {
        lanes / 4 * 3
    } else if has_512_bits {
        2 * MAX_MR
    } else {
        lanes
    }
}

/// Whether it takes scratch memory.
pub fn packs<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    !is_packed(p) || copies(microkernels, p)
}

/// Whether the upper half of each register of columns is copied before it is read. Where the stride between columns maps
/// all of them to the same set of L1, that set is too small for a line of each of 16 columns: lines would be evicted
/// between their prefetch and their use. Half of the columns fit, and they are read one segment after the others.
fn copies<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    let apart = p.b.cs.unsigned_abs().wrapping_mul(size_of::<T>());
    microkernels.widths.lanes == MAX_LANES
        && p.k >= KSEG
        && apart.is_multiple_of(4 << 10)
        && from_memory(p)
}

/// Whether A lies in memory as packing would place it.
fn is_packed<T>(p: &Gemm<T>) -> bool {
    p.m <= MAX_MR && (p.a.rs == 1 || p.m == 1) && p.a.cs == p.m as isize
}

/// Computes the product. `block` is scratch memory of `bytes` bytes if it [`packs`]; returns whether that sufficed.
///
/// # Safety
/// As [`super::run`]; it must be a product for which this [`pays`].
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    packs: bool,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) -> bool {
    let mut segments = p.k.div_ceil(KSEG);
    let (mut packed, mut upper) = (None, None);
    if packs {
        let lanes = routines.microkernels.widths.lanes;
        let Some(scratch) = PackingScratch::<T>::new(lanes, block, bytes) else {
            return false;
        };
        let mut a = scratch.panel_b;
        // Packing may write a register past its end.
        let mut room = (scratch.columns.get() * KSEG).saturating_sub(MAX_LANES);
        if copies(&routines.microkernels, p) && room >= COPY + KSEG * p.m {
            upper = Some(a);
            a = a.wrapping_add(COPY);
            room -= COPY;
        }
        segments = segments.min(room.checked_div(KSEG * p.m).unwrap_or(0));
        packed = Some(a);
    }
    if segments == 0 {
        return false;
    }
    let mut pc = 0;
    while pc < p.k {
        let range = KRange {
            routines,
            p,
            packed,
            upper,
            pc,
            kc: (segments * KSEG).min(p.k - pc),
            from_memory: from_memory(p),
        };
        // SAFETY: as the caller's; there is room for these steps of A.
        unsafe { range.multiply() };
        pc += range.kc;
    }
    true
}
