//! Products of few rows of 16-bit numbers, without packing: each row of C is summed from A and B as they are.

use core::mem::MaybeUninit;

use super::{BLOCK, SEGMENT};
use crate::element::Storage;
use crate::ops::mixed::product::MixedGemm;
use crate::ops::mixed::routines::{MAX_TILE_BYTES, Pack};
use crate::ops::{load, prefers_small_code, store};
use crate::simd::{Access, Simd};

/// The most registers of columns that are summed together from rows of B.
const MOST_REGISTERS: usize = 8;

/// Room for as many sums as there are.
type Segments = MaybeUninit<[f32; MAX_TILE_BYTES / size_of::<f32>()]>;

/// See [`InPlace`](super::routines::InPlace); `sums` has the elements from one row to the next, and `pack` packs columns of B.
///
/// # Safety
/// As [`InPlace`](super::routines::InPlace).
#[inline(always)]
pub unsafe fn in_place<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    (rows, columns): (usize, usize),
    (sums, pitch): (*mut f32, usize),
    pack: Pack,
) {
    if p.b.cs == size_of::<M>() as isize {
        return along_rows::<S, M>(s, p, (i, j), (rows, columns), (sums, pitch));
    }
    for r in 0..rows {
        for c in (0..columns).step_by(S::N) {
            let to = sums.wrapping_add(r * pitch + c);
            let len = S::N.min(columns - c);
            along_columns::<S, M>(s, p, (i + r, j + c), len, to, pack);
        }
    }
}

/// The sums with a row-major B, of which each block of rows is read in long parts: once, whatever the rows of A are.
///
/// # Safety
/// As [`in_place`].
#[inline(always)]
unsafe fn along_rows<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    (rows, columns): (usize, usize),
    (sums, pitch): (*mut f32, usize),
) {
    let mut segments = Segments::uninit();
    let segments: *mut f32 = segments.as_mut_ptr().cast();
    for start in [sums, segments] {
        start.write_bytes(0, rows * pitch);
    }
    for k in (0..p.k).step_by(BLOCK) {
        let mut c = 0;
        while c < columns {
            let rest = columns - c;
            let is_wide = rest >= MOST_REGISTERS * S::N && !prefers_small_code::<S>();
            for r in 0..rows {
                let place = r * pitch + c;
                let to = (sums.wrapping_add(place), segments.wrapping_add(place));
                if is_wide {
                    block::<S, M, MOST_REGISTERS>(s, p, k, (i + r, j + c), S::N, to);
                } else {
                    block::<S, M, 1>(s, p, k, (i + r, j + c), rest.min(S::N), to);
                }
            }
            c += if is_wide { MOST_REGISTERS } else { 1 } * S::N;
        }
    }
}

/// Adds the block from step k on of NV registers of columns to the sums of their segment, and these to the totals where it
/// ends. The last register has `len` columns.
///
/// # Safety
/// As [`in_place`].
#[inline(always)]
unsafe fn block<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>, const NV: usize>(
    s: S,
    p: &MixedGemm,
    k: usize,
    (i, j): (usize, usize),
    len: usize,
    (totals, segments): (*mut f32, *mut f32),
) {
    let end = (k + BLOCK).min(p.k);
    let mut chains = [[s.splat(0.0); NV]; 2];
    for (parity, chain) in chains.iter_mut().enumerate() {
        for step in (k + parity..end).step_by(2) {
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
    let [even, odd] = chains;
    for v in 0..NV {
        let (total, segment) = (
            totals.wrapping_add(v * S::N),
            segments.wrapping_add(v * S::N),
        );
        let (mut sum, mut of_segment) = (s.load(total), s.load(segment));
        finish_block(s, &mut sum, &mut of_segment, [even[v], odd[v]], end, p.k);
        s.store(total, sum);
        s.store(segment, of_segment);
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
