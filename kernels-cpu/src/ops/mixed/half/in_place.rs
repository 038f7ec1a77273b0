//! Products of few rows of 16-bit numbers, without packing: each row of C is summed from A and B as they are.

use core::mem::MaybeUninit;

use super::{BLOCK, SEGMENT};
use crate::element::Storage;
use crate::ops::mixed::product::MixedGemm;
use crate::ops::mixed::routines::Pack;
use crate::ops::{load, store};
use crate::simd::{Access, Simd};

/// The most registers of columns that are summed together from rows of B.
const MOST_REGISTERS: usize = 8;

/// See [`InPlace`](super::routines::InPlace); `pack` packs columns of B.
///
/// # Safety
/// As [`InPlace`](super::routines::InPlace).
#[inline(always)]
pub unsafe fn in_place<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    columns: usize,
    sums: *mut f32,
    pack: Pack,
) {
    let is_row_major = p.b.cs == size_of::<M>() as isize;
    let mut done = 0;
    while done < columns {
        let (at, to) = ((i, j + done), sums.wrapping_add(done));
        let rest = columns - done;
        if is_row_major && rest >= MOST_REGISTERS * S::N {
            along_rows::<S, M, MOST_REGISTERS>(s, p, at, S::N, to);
            done += MOST_REGISTERS * S::N;
            continue;
        }
        let len = rest.min(S::N);
        if is_row_major {
            along_rows::<S, M, 1>(s, p, at, len, to);
        } else {
            along_columns::<S, M>(s, p, at, len, to, pack);
        }
        done += len;
    }
}

/// The sums of NV registers of columns of a row-major B; the last register has `len` columns.
///
/// # Safety
/// As [`in_place`].
#[inline(always)]
unsafe fn along_rows<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>, const NV: usize>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    len: usize,
    sums: *mut f32,
) {
    let zeros = [s.splat(0.0); NV];
    let (mut total, mut segment) = (zeros, zeros);
    let mut k = 0;
    while k < p.k {
        let steps = BLOCK.min(p.k - k);
        let mut chains = [zeros; 2];
        for pair in 0..steps.div_ceil(2) {
            for (parity, chain) in chains.iter_mut().enumerate() {
                let step = k + 2 * pair + parity;
                if step < p.k {
                    let element = s.splat((*p.a.at(i, step).cast::<M>()).into_compute());
                    let row = p.b.at(step, j).cast::<M>();
                    for (v, chain) in chain.iter_mut().enumerate() {
                        let b = if NV == 1 {
                            load(s, row, len)
                        } else {
                            s.load(row.wrapping_add(v * S::N))
                        };
                        *chain = s.fma(element, b, *chain);
                    }
                }
            }
        }
        k += steps;
        for v in 0..NV {
            finish_block(
                s,
                &mut total[v],
                &mut segment[v],
                [chains[0][v], chains[1][v]],
                k,
                p.k,
            );
        }
    }
    for (v, &total) in total.iter().enumerate() {
        store(s, sums.wrapping_add(v * S::N), len, total);
    }
}

/// The sums of `len` columns, at most a register, of a B whose columns are contiguous or that has any strides.
///
/// # Safety
/// As [`in_place`].
#[inline(always)]
unsafe fn along_columns<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    len: usize,
    sums: *mut f32,
    pack: Pack,
) {
    let mut panel = MaybeUninit::<[f32; BLOCK * 16]>::uninit();
    let panel: *mut f32 = panel.as_mut_ptr().cast();
    let zero = s.splat(0.0);
    let (mut total, mut segment) = (zero, zero);
    let mut k = 0;
    while k < p.k {
        let steps = BLOCK.min(p.k - k);
        pack(p.b.offset(k, j).transposed(), len, 0, steps, panel.cast());
        let mut chains = [zero; 2];
        for pair in 0..steps.div_ceil(2) {
            for (parity, chain) in chains.iter_mut().enumerate() {
                let step = 2 * pair + parity;
                if step < steps {
                    let element = s.splat((*p.a.at(i, k + step).cast::<M>()).into_compute());
                    *chain = s.fma(element, s.load(panel.wrapping_add(step * S::N)), *chain);
                }
            }
        }
        k += steps;
        finish_block(s, &mut total, &mut segment, chains, k, p.k);
    }
    store(s, sums, len, total);
}

/// Adds the chains of the block that ends before step `k` of `all` to its segment, and that to the total where it ends.
#[inline(always)]
fn finish_block<S: Simd<T = f32>>(
    s: S,
    total: &mut S::V,
    segment: &mut S::V,
    [even, odd]: [S::V; 2],
    k: usize,
    all: usize,
) {
    let zero = s.splat(0.0);
    // As products of zeros would: a chain that rounded to -0 becomes +0. In a whole block that changes nothing, because the
    // sum of two chains and a segment is never -0.
    *segment = s.add(*segment, s.add(s.add(even, zero), s.add(odd, zero)));
    if k.is_multiple_of(SEGMENT) || k == all {
        *total = s.add(*total, *segment);
        *segment = zero;
    }
}
